"""What a server without PL/Python has in the place of PL/Python routines: stand-ins.

The program runs outside there, in a client. A stand-in has the signature, rights and comment of its
routine, so that all which calls it is created as inside. It returns what a client told it before
(_told), and ends with PB017 and its call where nobody did. The client that brings the program makes
the answer from the routine's own body, which `routines` reads.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

_ROUTINE = re.compile(
    r"^(CREATE OR REPLACE FUNCTION (pgblend\.\w+)\(((?:(?!^CREATE )[^$])*?)\)"
    r"(?:\s+(RETURNS (?:(?!^CREATE )[^$])*?))?)"
    r"\nLANGUAGE plpython3u(.*?)\nAS \$python\$\n(.*?)\$python\$;",
    re.DOTALL | re.MULTILINE,
)
# Only a superuser may fix a parameter of an unknown name. What had one runs searches, or is of a
# shard: both refuse.
_FIXED = re.compile(r'\nSET "pgblend\.\w+" = [^\n]+')
_PARAMETER = re.compile(r"(OUT )?(\w+) (.+?)(?: DEFAULT .+)?", re.DOTALL)
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
        if own := _OWN.get(self.name):
            return own
        parts = [f"'{self.name}'", *(_as_json(one) for one in self.inputs)]
        call = f"json_build_array({', '.join(parts)})::text, '{self._unknown()}'"
        return _STAND_IN.format(call=call, returned="\n    ".join(self._returned()))

    def _unknown(self) -> str:
        """Return what stands for an answer while calls are gathered."""
        if self.is_set:
            return "[]"
        if self.name == "pgblend._index_parts":
            return json.dumps([_NO_PARTS])
        types = [one.type for one in self.outputs] or [self.returns]
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
        elif self.outputs:
            for place, one in enumerate(self.outputs):
                yield f'"{one.name}" := (told ->> {place})::{one.type};'
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
# Stand-ins of routines whose effects belong to the statement that calls them, so that only what is
# computed is told. Chunks wait for `pgblend worker` to seal them; links to documents that come
# later are led there by resolve_links, as pgblend ingest does at its end.
_OWN = {
    "pgblend._has_numpy": """\
BEGIN
    RETURN true;
END;
""",
    "pgblend._chunk_index": """\
DECLARE
    told json := pgblend._told((
        SELECT json_build_array('pgblend._chunk_index', json_agg(json_build_array(
            c.own_position, encode(tsvectorsend(c.lexemes), 'hex')) ORDER BY c.id))::text
        FROM new_chunk AS c), '[]');
BEGIN
    INSERT INTO pgblend_data.pending (
        chunk_id, document_id, collection_id, bucket, chunk_index, text_search_config, length,
        own_length, records)
    SELECT c.id, c.document_id, c.collection_id, c.bucket, c.chunk_index, c.text_search_config,
        (p.packed ->> 0)::integer, (p.packed ->> 1)::integer, decode(p.packed ->> 2, 'hex')
    FROM (SELECT n.*, row_number() OVER (ORDER BY n.id) AS place FROM new_chunk AS n) AS c
    INNER JOIN json_array_elements(told) WITH ORDINALITY AS p (packed, place)
        ON p.place = c.place;
    INSERT INTO pgblend_data.vocabulary (collection_id, text_search_config, lexeme)
    SELECT DISTINCT c.collection_id, c.text_search_config, w.lexeme COLLATE "C"
    FROM new_chunk AS c
    CROSS JOIN LATERAL unnest(tsvector_to_array(c.lexemes)) AS w (lexeme)
    WHERE NOT starts_with(w.lexeme, '==') AND (
        NOT EXISTS (
            SELECT FROM pgblend_data.vocabulary_lock AS k
            WHERE current_setting('transaction_isolation') = 'read committed'
                AND k.collection_id = c.collection_id
            FOR KEY SHARE SKIP LOCKED)
        OR NOT EXISTS (
            SELECT FROM pgblend_data.vocabulary AS v
            WHERE v.collection_id = c.collection_id
                AND v.text_search_config = c.text_search_config AND v.lexeme = w.lexeme));
    RETURN NULL;
END;
""",
    "pgblend._insert_links": """\
#variable_conflict use_variable
DECLARE
    told json := pgblend._told((
        SELECT json_build_array('pgblend._insert_links', json_agg(json_build_array(
            d.source_key, d.uri, g.links::text) ORDER BY g.place))::text
        FROM unnest(document_ids, links) WITH ORDINALITY AS g (id, links, place)
        LEFT JOIN pgblend_data.document AS d ON d.id = g.id), '[]');
    stored bigint;
BEGIN
    INSERT INTO pgblend_data.link (
        document_id, collection_id, bucket, origin, edge_type, kind, target, name, path, line,
        weight, metadata)
    SELECT d.id, d.collection_id, d.bucket, origin, coalesce(l.type, 'link'), m.meant ->> 2,
        l.target, m.meant ->> 3, m.meant ->> 4, l.line, coalesce(l.weight, 1),
        coalesce(l.metadata, '{}')
    FROM json_array_elements(told) WITH ORDINALITY AS m (meant, place)
    CROSS JOIN LATERAL jsonb_to_record((m.meant ->> 1)::jsonb)
        AS l (type text, target text, line integer, weight real, metadata jsonb)
    INNER JOIN pgblend_data.document AS d ON d.id = document_ids[(m.meant ->> 0)::integer]
    ORDER BY m.place;
    GET DIAGNOSTICS stored = ROW_COUNT;
    RETURN stored;
END;
""",
    "pgblend._resolve_links": """\
#variable_conflict use_variable
BEGIN
    IF names IS NOT NULL THEN
        RETURN 0;
    END IF;
    RETURN (pgblend._told(
        json_build_array('pgblend._resolve_links', collection_id, names)::text, '[0]')
        ->> 0)::bigint;
END;
""",
}
# They would write before the statement that calls them drops what was there.
_LACKING = """\
BEGIN
    RAISE EXCEPTION 'the lexical index cannot be made anew on a server without PL/Python yet'
        USING ERRCODE = '0A000', HINT = 'Delete the collection''s documents and ingest them again.';
END;
"""
_OWN |= dict.fromkeys(("pgblend._seal_missing", "pgblend._load_segment"), _LACKING)
# Routines that write by themselves, what a statement of its own calls: they run in its transaction,
# before it.
EFFECTS = frozenset(
    f"pgblend.{name}"
    for name in ("_link_entities", "_link_mentions", "_resolve_links", "_seal_batch")
)
# _told: what was told for a call; PB017 with the call where nothing was, or where it may not be
# believed: in the routines of another role than the one that could tell. While calls are gathered
# `unknown` stands for what was not told, and an INFO says the call. An answer is for the role and
# the groups that ask: those may come with the very statement that asks.
TOLD = """
CREATE OR REPLACE FUNCTION pgblend._told(call text, unknown json)
RETURNS json
LANGUAGE plpgsql
STABLE PARALLEL SAFE STRICT
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    needed text := json_build_object('call', call::json, 'settings', json_build_object(
        'role', current_user, 'pgblend.groups', current_setting('pgblend.groups', true),
        'pgblend.purpose', current_setting('pgblend.purpose', true)))::text;
    key text := md5(needed);
    told json := nullif(current_setting('pgblend.told_' || left(key, 1), true), '')::json -> key;
    caller text := CASE current_setting('role') WHEN 'none' THEN session_user::text
        ELSE current_setting('role') END;
    warning json;
BEGIN
    IF current_user <> caller THEN
        RAISE EXCEPTION 'this server has no PL/Python, and % would run with the rights of %',
            call::json ->> 0, current_user
            USING ERRCODE = 'PB017',
            HINT = format('Connect as %s, who may do it through a client that brings the program: '
                'see docs/managed.md.', current_user);
    ELSIF told IS NULL AND current_setting('pgblend.told_gathers', true) = 'on' THEN
        RAISE INFO 'an answer is needed' USING ERRCODE = 'PB017', DETAIL = needed;
        RETURN unknown;
    ELSIF told IS NULL THEN
        RAISE EXCEPTION 'this server has no PL/Python: pgblend''s program runs outside of it'
            USING ERRCODE = 'PB017', DETAIL = needed,
            HINT = 'Connect through pgblend door, which brings the program, or use the command '
                'line, HTTP or Python: see docs/managed.md.';
    END IF;
    FOR warning IN SELECT w FROM json_array_elements(told -> 'warnings') AS w LOOP
        IF warning ->> 1 IS NULL THEN
            RAISE WARNING '%', warning ->> 0;
        ELSE
            RAISE WARNING '%', warning ->> 0 USING HINT = warning ->> 1;
        END IF;
    END LOOP;
    IF told -> 'error' IS NOT NULL THEN
        RAISE EXCEPTION '%', told -> 'error' ->> 'message' USING
            ERRCODE = told -> 'error' ->> 'sqlstate',
            HINT = coalesce(told -> 'error' ->> 'hint', ''),
            DETAIL = coalesce(told -> 'error' ->> 'detail', ''),
            TABLE = coalesce(told -> 'error' ->> 'table_name', '');
    END IF;
    IF told -> 'last_search' IS NOT NULL THEN
        PERFORM set_config('pgblend.last_search', told ->> 'last_search', true);
    END IF;
    RETURN told -> 'value';
END;
$function$;
"""


def with_stand_ins(script: str) -> str:
    """Return a rendered script with a stand-in for each PL/Python routine; of "" none."""
    if not script:
        return ""

    def stand_in(found: re.Match[str]) -> str:
        head, options = found[1], found[5]
        body = _routine(found).stand_in()
        return f"{head}\nLANGUAGE plpgsql{options}\nAS $function$\n{body}$function$;"

    made = _ROUTINE.sub(stand_in, script)
    if "LANGUAGE plpython3u" in made:
        raise RuntimeError("a PL/Python routine is written in a form that has no stand-in")
    return TOLD + _FIXED.sub("", made) + "\nGRANT EXECUTE ON FUNCTION pgblend._told TO PUBLIC;\n"


@cache
def routines() -> dict[str, Routine]:
    """Return the routines in PL/Python by name."""
    from pgblend.sql import source_objects

    found = (_routine(each) for one in source_objects() for each in _ROUTINE.finditer(one.text))
    return {one.name: one for one in found}


def _routine(found: re.Match[str]) -> Routine:
    parameters = [*_columns(found[3])]
    outputs = tuple(column for is_out, column in parameters if is_out)
    returns = re.sub(r"\s+", " ", (found[4] or "").removeprefix("RETURNS ")).strip()
    returns = re.sub(r" ROWS \d+$", "", returns)
    is_set = returns.startswith(("TABLE", "SETOF "))
    if returns.startswith("TABLE"):
        inner = returns.removeprefix("TABLE").strip()[1:-1]
        outputs, returns = tuple(column for _, column in _columns(inner)), ""
    inputs = tuple(column for is_out, column in parameters if not is_out)
    return Routine(found[2], inputs, outputs, returns.removeprefix("SETOF "), is_set, found[6])


def _columns(declared: str) -> Iterator[tuple[bool, Column]]:
    for one in declared.split(","):
        if found := _PARAMETER.fullmatch(re.sub(r"\s+", " ", one).strip()):
            yield bool(found[1]), Column(found[2], found[3])


def _as_json(one: Column) -> str:
    if one.name == CLOCK:
        return "NULL::text"  # a clock would make each call another
    base, array, _ = one.type.partition("[]")
    if base == "real":
        return f'to_json("{one.name}"::double precision{array})'
    if base in PLAIN or "." in base:  # a composite type becomes an object
        return f'to_json("{one.name}")'
    return f'to_json("{one.name}"::text{array})'
