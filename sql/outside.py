"""What a server without PL/Python has in the place of PL/Python routines: stand-ins.

The program runs outside there, in a client. A stand-in has the signature, rights and comment of its
routine, so that all which calls it is created as inside. It returns what a client told it before
(_told), and ends with PB017 and its call where nobody did. The client that brings the program makes
the answer from the routine's own body, which `routines` reads.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterator
from functools import cache
from importlib.resources import files
from textwrap import indent
from typing import NamedTuple

from pgblend.plpy.lexical import forms, words
from pgblend.plpy.lexical import split_text as split
from pgblend.sql.program import program_text, with_program

_ROUTINE = re.compile(
    r"^(CREATE OR REPLACE FUNCTION (pgblend\.\w+)\(((?:(?!^CREATE )[^$])*?)\)"
    r"(?:\s+(RETURNS (?:(?!^CREATE )[^$])*?))?)"
    r"\nLANGUAGE plpython3u(.*?)\nAS \$python\$\n(.*?)\$python\$;",
    re.DOTALL | re.MULTILINE,
)
# Only a superuser may fix a parameter of an unknown name. What had one runs searches, for callers
# or for another database: both refuse.
_FIXED = re.compile(r'\nSET "pgblend\.\w+" = [^\n]+')
_PARAMETER = re.compile(r"(INOUT |OUT )?(\w+) (.+?)(?: DEFAULT .+)?", re.DOTALL)
# Types whose values JSON has; of all others it has the text.
PLAIN = frozenset(("text", "name", "smallint", "integer", "bigint", "boolean", "double precision"))
CLOCK = "started_at"  # an argument's name


# While calls are gathered nothing is kept of what a statement does: any value of the type will do.
_UNKNOWN = {
    **dict.fromkeys(("text", "name", "tsvector", "tsquery"), ""),
    **dict.fromkeys(("smallint", "integer", "bigint", "double precision"), "0"),
    "boolean": "f",
    "jsonb": "{}",
}
_NO_PARTS = '{"","","","","",""}'  # as many as _chunk_lexemes reads


class Column(NamedTuple):
    """A parameter's or a column's name and type."""

    name: str
    type: str


class Routine(NamedTuple):
    """A routine in PL/Python as its source has it."""

    name: str
    inputs: tuple[Column, ...]
    outputs: tuple[Column, ...]  # of a row; none where it returns one value
    returns: str  # the type of its value, or of its rows; "" where it has OUT parameters
    is_set: bool
    body: str

    def stand_in(self) -> str:
        """Return the stand-in's body."""
        name = self.name.removeprefix("pgblend.")
        own = _OWN.get(name, "")
        if name in _WHOLE:
            return own
        parts = [f"'{self.name}'", *(_as_json(one) for one in self.inputs)]
        call = f"json_build_array({', '.join(parts)})::text, '{self._unknown()}'"
        returned = "\n    ".join(self._returned())
        if own:
            return _STAND_IN_OR_OWN.format(call=call, returned=returned, own=indent(own, " " * 8))
        return _STAND_IN.format(call=call, returned=returned)

    def _unknown(self) -> str:
        """Return what stands for an answer while calls are gathered."""
        if self.is_set:
            return "[]"
        if self.name == "pgblend._index_parts":
            return json.dumps([_NO_PARTS])
        if self.outputs:  # of JSON none: a search that nobody asks for its report has none
            types = ["" if one.type == "jsonb" else one.type for one in self.outputs]
        else:
            types = [self.returns]
        return json.dumps([_UNKNOWN.get(one, "{}" if "[]" in one else None) for one in types])

    def _returned(self) -> Iterator[str]:
        if self.returns == "trigger":
            yield "RETURN NULL;"
        elif self.is_set and self.outputs:
            columns = ", ".join(
                f"(r ->> {place})::{one.type}" for place, one in enumerate(self.outputs)
            )
            yield f"RETURN QUERY SELECT {columns} FROM json_array_elements(told) AS r;"
        elif self.is_set:
            row = f"json_populate_record(NULL::{self.returns}, r)"
            yield f"RETURN QUERY SELECT p.* FROM json_array_elements(told) AS r, {row} AS p;"
        elif self.outputs:  # told is long, and read once
            texts = (f"t.texts[{n}]::{one.type}" for n, one in enumerate(self.outputs, 1))
            names = (f'"{one.name}"' for one in self.outputs)
            yield f"SELECT {', '.join(texts)} INTO {', '.join(names)}"
            yield "FROM (SELECT ARRAY(SELECT json_array_elements_text(told))) AS t (texts);"
        elif self.returns == "void":
            yield "RETURN;"
        else:
            yield f"RETURN (told ->> 0)::{self.returns};"


# The call is the key: a stand-in is called again with equal arguments once its answer is told.
_STAND_IN = """\
#variable_conflict use_variable
DECLARE
    told json := pgblend._told({call});
BEGIN
    {returned}
END;
"""
_STAND_IN_OR_OWN = """\
#variable_conflict use_variable
DECLARE
    told json;
BEGIN
    IF NOT pgblend._is_answered() THEN
{own}    END IF;
    told := pgblend._told({call});
    {returned}
END;
"""
# Those whose own way is all of the body.
_WHOLE = frozenset(("_chunk_index", "_has_numpy", "_insert_links", "_resolve_links"))
# Patterns of the program as PostgreSQL takes them. Of units Python finds km before km/h.
_PATTERNS = {
    **{name: getattr(forms, name) for name in (
        *("APART", "COMMA", "COMMAND", "CONTROL", "CUTS", "DAY", "IGNORABLE", "INNER"),
        *("JOINED_BY_AND", "MOMENT", "OF_WORD", "PART", "PICTURE", "SPACED", "UNIT"),
    )},
    **{name: getattr(words, name) for name in ("OTHER_WORD", "RUN", "SYLLABLE")},
    **{f"LETTERS_{code}": letters for code, letters in words.LETTERS.items()},
}  # fmt: skip
# Python's white space: within a line, and all of it.
_IN_LINE = r"\t\v\f\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_BLANKS = rf"\n\r{_IN_LINE}"


def _runs(names: Collection[str]) -> dict[str, str]:
    """Return runs of like characters, each as a group, and how many tokens a group has."""
    patterns, counts = [], []
    for place, name in enumerate(names, 1):
        run, base, rate = split.RUNS[name]
        # A blank before another one or a digit is counted by itself: longest matches would take it.
        run = re.sub(r"^(?=\[\^\\S\\r\\n\]\?)", r"(?![^\\S\\r\\n](?:\\s|\\d|$))", run)
        run = run.replace(r"[^\S\r\n]", f"[{_IN_LINE}]").replace(r"\s", f"[{_BLANKS}]")
        patterns.append(f"({run.replace(chr(92) + 'S', f'[^{_BLANKS}]')})")
        count = f"{base}::float8 + {rate}::float8 * length(m[{place}])"
        counts.append(f"WHEN m[{place}] IS NOT NULL THEN {count}")
    return {"RUNS": "|".join(patterns), "RUN_COUNTS": "\n".join(counts)}


_ASCII = ("newlines", "spaces", "ascii", "digits", "punctuation", "other", "rest")
_PATTERNS |= {
    "BLANK": f"[{_BLANKS}]",
    **_runs(split.RUNS),
    **{f"ASCII_{name}": text for name, text in _runs(_ASCII).items()},
}


def _text(name: str) -> str:
    """Return a file of SQL with the program's patterns in it."""
    text = files(__name__.rpartition(".")[0]).joinpath(name).read_text("utf-8")
    for one, pattern in _PATTERNS.items():
        there = pattern.replace(r"\b", r"\m").replace("{0,4096}", "*").replace("|km/h", "")
        text = text.replace(f"#{one}#", there.replace(r"\x00", r"\x01").replace("'", "''"))
    return text


# What writers call has a way of its own, in plain SQL (_is_answered): by name, a body, or
# statements for whom the program does not answer.
_OWN: dict[str, str] = dict(
    re.findall(
        r"^-- (_\w+): .*\n(?:--.*\n)*((?:(?!-- _).*\n)+)", _text("stand_ins.plpgsql"), re.MULTILINE
    )
)
# Routines that write by themselves, what a statement of its own calls: they run in its transaction,
# before it.
EFFECTS = frozenset(
    f"pgblend.{name}"
    for name in (
        *("_link_entities", "_link_mentions", "_resolve_links"),
        *("_load_segment", "_rebuild_segments", "_seal_batch", "_seal_missing"),
    )
)
# What only such a server has: what was told (_told), and what plain SQL makes of texts.
_GRANTS = """
GRANT EXECUTE ON FUNCTION
pgblend._identifiers, pgblend._is_answered, pgblend._is_identifier, pgblend._rows_written,
pgblend._small, pgblend._spaced_bigrams, pgblend._syllables, pgblend._told,
pgblend._unicode_form, pgblend._with_one_form, pgblend._with_parts, pgblend._word_form
TO PUBLIC;
"""


def with_stand_ins(script: str) -> str:
    """Return a rendered script with a stand-in for each PL/Python routine; of "" none."""
    if not script:
        return ""

    def stand_in(found: re.Match[str]) -> str:
        head, options = found[1], found[5]
        body = _routine(found).stand_in()
        if found[2].removeprefix("pgblend.") in _OWN:  # patterns mean the same in every session
            options += "\nSET standard_conforming_strings = on"
        return f"{head}\nLANGUAGE plpgsql{options}\nAS $function$\n{body}$function$;"

    made = _ROUTINE.sub(stand_in, script)
    if "LANGUAGE plpython3u" in made:
        raise RuntimeError("a PL/Python routine is written in a form that has no stand-in")
    only = _text("outside.plpgsql").replace("#bodies", _digest(script))
    return f"{_FIXED.sub('', made)}\n{only}{_GRANTS}"


@cache
def body_digest() -> str:
    """Return the sha256 of the bodies that a client runs, and of the program that these load."""
    from pgblend.sql import source_objects

    program = program_text()
    return _digest("\n".join(with_program(one.text, program) for one in source_objects()))


def _digest(script: str) -> str:
    bodies = sorted((found[2], found[6]) for found in _ROUTINE.finditer(script))
    return hashlib.sha256(json.dumps(bodies).encode()).hexdigest()


@cache
def routines() -> dict[str, Routine]:
    """Return the routines in PL/Python by name."""
    from pgblend.sql import source_objects

    found = (_routine(each) for one in source_objects() for each in _ROUTINE.finditer(one.text))
    return {one.name: one for one in found}


def _routine(found: re.Match[str]) -> Routine:
    parameters = [*_columns(found[3])]
    outputs = tuple(column for mode, column in parameters if mode)
    returns = re.sub(r"\s+", " ", (found[4] or "").removeprefix("RETURNS ")).strip()
    returns = re.sub(r" ROWS \d+$", "", returns)
    is_set = returns.startswith(("TABLE", "SETOF "))
    if returns.startswith("TABLE"):
        inner = returns.removeprefix("TABLE").strip()[1:-1]
        outputs, returns = tuple(column for _, column in _columns(inner)), ""
    inputs = tuple(column for mode, column in parameters if mode != "OUT ")
    return Routine(found[2], inputs, outputs, returns.removeprefix("SETOF "), is_set, found[6])


def _columns(declared: str) -> Iterator[tuple[str, Column]]:
    for one in declared.split(","):
        if found := _PARAMETER.fullmatch(re.sub(r"\s+", " ", one).strip()):
            yield found[1] or "", Column(found[2], found[3])


def _as_json(one: Column) -> str:
    if one.name == CLOCK:
        return "NULL::text"  # a clock would make each call another
    base, array, _ = one.type.partition("[]")
    if base == "real":
        return f'to_json("{one.name}"::double precision{array})'
    if base in PLAIN or "." in base:  # a composite type becomes an object
        return f'to_json("{one.name}")'
    return f'to_json("{one.name}"::text{array})'
