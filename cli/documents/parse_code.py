"""Source code: cut at functions and classes, whose names are the headings; lines stay whole."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pgblend.cli.base.extras import how_to_install, missing
from pgblend.cli.documents.decode import decode
from pgblend.cli.documents.document import Document, Heading, LeftOut, Scope

if TYPE_CHECKING:
    from pgblend.cli.documents.code_outline import Definition

# What a line begins with that defines something, in most languages.
_DEFINITION = re.compile(
    r"^(?P<indent>[ \t]*)(?:@\w+(?:\([^)\n]*\))?[ \t]+)*"
    r"(?:(?:export|default|public|private|protected|static|final|abstract|async|open|fileprivate|"
    r"pub(?:\([a-z]+\))?|unsafe|data|sealed|inline|virtual|override|partial|internal|local|mutating)"
    r"[ \t]+)*(?:class|def|function\*?|func|fn|@?interface|struct|trait|impl|enum|module|namespace|"
    r"object|record|@?protocol|package|sub|proc|extension|actor|@implementation|defmodule|defp|"
    r"defmacro)[ \t]+(?:\([^)\n]*\)[ \t]*)?(?P<name>[\w.$]+(?:(?:::?|-)[\w.$]+)*)",
    re.MULTILINE,
)
_TAB_WIDTH = 4
_DEEPEST = 40
# The language of each suffix; headers of C are read as C++, which has what C names.
_LANGUAGES = {
    "python": ".py .pyi",
    "javascript": ".js .mjs .cjs .jsx",
    "typescript": ".ts .mts .cts",
    "tsx": ".tsx",
    "java": ".java",
    "go": ".go",
    "rust": ".rs",
    "c": ".c",
    "cpp": ".h .cc .cpp .cxx .hpp .hh",
    "c_sharp": ".cs",
    "ruby": ".rb",
    "php": ".php",
    "bash": ".sh .bash .zsh",
    "kotlin": ".kt .kts",
    "scala": ".scala",
}
_LANGUAGE_OF = {
    suffix: language for language, some in _LANGUAGES.items() for suffix in some.split()
}
# Files of pages with code in them: only that in <script> is cut at functions.
_PAGES = (".vue", ".svelte")
_SECTION = re.compile(
    rb"^<(template|script|style)\b([^>]*)>(.*?)^</\1>", re.DOTALL | re.MULTILINE | re.IGNORECASE
)
_TYPED = re.compile(rb"""\blang\s*=\s*["']?tsx?\b""", re.IGNORECASE)
# Blocks of Terraform, with their labels.
_BLOCK = re.compile(
    r"^(?P<indent>)(?P<name>(?:resource|data|module|variable|output|provider|locals|terraform|moved"
    r"|import|removed|check|ephemeral)(?:[ \t]+\"[^\"\n]*\")*)[ \t]*\{",
    re.MULTILINE,
)
_SQL_NAME = r"(?:\"[^\"\n]+\"|`[^`\n]+`|\[[^\]\n]+\]|[\w$]+)"
_STATEMENT = re.compile(
    r"^(?P<indent>[ \t]*)CREATE[ \t]+(?:OR[ \t]+(?:REPLACE|ALTER)[ \t]+)?"
    r"(?:(?:GLOBAL|LOCAL|TEMP|TEMPORARY|UNLOGGED|UNIQUE|MATERIALIZED|RECURSIVE|CONSTRAINT|FOREIGN|EVENT)"
    r"[ \t]+)*(?:FUNCTION|PROCEDURE|AGGREGATE|VIEW|TABLE|TYPE|DOMAIN|TRIGGER|INDEX|SEQUENCE|POLICY|"
    r"RULE|SCHEMA|PACKAGE(?:[ \t]+BODY)?)[ \t]+(?:CONCURRENTLY[ \t]+)?"
    rf"(?:IF[ \t]+NOT[ \t]+EXISTS[ \t]+)?(?!ON\b)(?P<name>{_SQL_NAME}(?:\.{_SQL_NAME})*)",
    re.MULTILINE | re.IGNORECASE,
)
_PROTOCOL = re.compile(
    r"^(?P<indent>[ \t]*)(?:message|service|enum|rpc|extend)[ \t]+(?P<name>[\w.]+)", re.MULTILINE
)
_GRAPHQL = re.compile(
    r"^(?P<indent>[ \t]*)(?:extend[ \t]+)?(?:type|interface|enum|input|union|scalar|query|mutation"
    r"|subscription|fragment|directive)[ \t]+(?P<name>@?\w+)",
    re.MULTILINE,
)
_ASSIGNED = re.compile(
    r"^(?P<indent>[ \t]*)(?P<name>[\w.]+)[ \t]*(?:<-|=)[ \t]*function\b", re.MULTILINE
)
_LISP = re.compile(
    r"^(?P<indent>[ \t]*)\((?:ns|def[a-z]*-?)[ \t]+(?:\^\S+[ \t]+)*(?P<name>[^\s()\[\]]+)",
    re.MULTILINE,
)
_DEFINITIONS = {
    ".tf": _BLOCK,
    ".sql": _STATEMENT,
    ".proto": _PROTOCOL,
    ".graphql": _GRAPHQL,
    ".r": _ASSIGNED,
    ".clj": _LISP,
}
_NO_GRAMMARS = "code is cut at lines without the grammars of its languages"
# Trees take many times the memory of their text, and longer files are data.
_LONGEST_PARSED = 4_000_000


def parse_code(data: bytes, suffix: str = "") -> Document:
    """Read a source file: by tree-sitter where there is a grammar, else by how lines begin.

    There, definitions nest by their indentation.
    """
    source = decode(data)
    suffix = suffix.lower()
    language = "typescript" if suffix in _PAGES else _LANGUAGE_OF.get(suffix)
    has_grammars = not missing("code")
    if language and has_grammars and len(source) <= _LONGEST_PARSED:
        from pgblend.cli.documents.code_outline import outline  # its library takes its time

        encoded = source.encode("utf-8", "replace")
        if suffix not in _PAGES:
            return _document(source, encoded, outline(encoded, language))
        script, language = _script_alone(encoded)
        return _document(source, encoded, outline(script, language), _sections(encoded))
    headings = tuple(
        Heading(
            match.start(),
            1 + min(len(match["indent"].expandtabs(_TAB_WIDTH)), _DEEPEST),
            match["name"],
        )
        for match in _DEFINITIONS.get(suffix, _DEFINITION).finditer(source)
    )
    told = LeftOut("functions and classes", _NO_GRAMMARS, how_to_install("code"))
    return Document(
        text=source,
        headings=headings,
        kind="code",
        whole_lines=True,
        left_out=(told,) if language and not has_grammars else (),
    )


def _script_alone(encoded: bytes) -> tuple[bytes, str]:
    """Return the scripts of a page at their places, blanks around them, and their language."""
    parts = bytearray(re.sub(rb"[^\n]", b" ", encoded))
    is_typed = False
    for match in _SECTION.finditer(encoded):
        if match[1].lower() == b"script":
            parts[match.start(3) : match.end(3)] = match[3]
            is_typed = is_typed or bool(_TYPED.search(match[2]))
    return bytes(parts), "typescript" if is_typed else "javascript"


def _sections(encoded: bytes) -> list[tuple[int, int, str]]:
    """Return where the parts of a page begin and end that are no scripts, with their names."""
    return [
        (match.start(), match.end(), match[1].decode().lower())
        for match in _SECTION.finditer(encoded)
        if match[1].lower() != b"script"
    ]


def _document(
    source: str,
    encoded: bytes,
    found: "Sequence[Definition]",
    sections: Sequence[tuple[int, int, str]] = (),
) -> Document:
    offsets = [p for e in found for p in (e.start, e.end, e.signature)]
    offsets += [place for start, end, _ in sections for place in (start, end)]
    place_of = _places(encoded, offsets)
    scopes: list[Scope] = []
    marks: list[Heading] = []
    for section_start, section_end, name in sections:
        marks += [Heading(place_of[section_start], 1, name), Heading(place_of[section_end], 1, "")]
    for each in found:
        start, end = _line_start(source, place_of[each.start]), place_of[each.end]
        line_end = source.find("\n", place_of[each.signature])
        first_line = source[place_of[each.signature] : line_end if line_end >= 0 else None]
        scopes.append(Scope(start, end, each.depth, first_line.strip()))
        marks += [Heading(start, each.depth + 1, each.name), Heading(end, each.depth + 1, "")]
    # Where one ends and another begins, the end comes first.
    marks.sort(key=lambda mark: (mark.offset, bool(mark.text), mark.level))
    return Document(
        text=source, headings=tuple(marks), scopes=tuple(scopes), kind="code", whole_lines=True
    )


def _line_start(source: str, place: int) -> int:
    """Return where the line of a place begins, unless words stand before it."""
    start = source.rfind("\n", 0, place) + 1
    return place if source[start:place].strip() else start


def _places(encoded: bytes, offsets: list[int]) -> dict[int, int]:
    """Map offsets in bytes to those in characters."""
    places: dict[int, int] = {}
    before = place = 0
    for offset in sorted(set(offsets)):
        place += len(encoded[before:offset].decode("utf-8", "ignore"))
        places[offset], before = place, offset
    return places
