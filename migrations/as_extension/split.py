"""Part a script of routines: what an extension can own, and what binds to tables.

A dump creates an extension before any table. A view, a parsed body (BEGIN ATOMIC), a parameter of
a table's row type and what is made with one of these cannot be created by then.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from pgblend.migrations.replace_routines import ACCESS

_STATEMENT = re.compile(
    r"(?:--[^\n]*|'(?:[^']|'')*+'|(\$\w*\$).*?\1|BEGIN ATOMIC\n.*?\nEND(?=;)|[^;$'B-]++|[^;])++;",
    re.DOTALL,
)
_COMMENT = re.compile(r"('(?:[^']|'')*+')|--[^\n]*")
_CREATED = re.compile(r"CREATE OR REPLACE (?:FUNCTION|PROCEDURE|VIEW) (?:pg)?blend\.(\w+)")
_COMMENTED = re.compile(r"COMMENT ON (?:FUNCTION|PROCEDURE|VIEW|COLUMN) (?:pg)?blend\.(\w+)")
_TEXT_BODY = re.compile(r"\nAS \$\w*\$")
_TYPE = re.compile(r"^CREATE TYPE pgblend_data\.(\w+)", re.MULTILINE)
_DATA = re.compile(r"\bpgblend_data\.(\w+)")
_NAMED = re.compile(r"\b(?:pg)?blend\.(\w+)")


class Parts(NamedTuple):
    """What an extension owns, comments on that, what binds to tables; rights and all comments."""

    own: str
    comments: str
    bound: str
    rest: str


def split(script: str, types: str) -> Parts:
    """Part a rendered script; `types` are the statements that made types before it."""
    objects, _, rest = script.partition(ACCESS)
    known, bound_names = {*_TYPE.findall(types)}, set[str]()
    own: list[str] = []
    bound: list[str] = []
    for statement in statements(objects):
        created = _CREATED.match(_code(statement))
        is_bound = created is None or _binds(_binding(statement), known, bound_names)
        if created and is_bound:
            bound_names.add(created[1])
        (bound if is_bound else own).append(statement)
    comments = (
        statement
        for statement in statements(rest)
        if (on := _COMMENTED.match(_code(statement))) and on[1] not in bound_names
    )
    return Parts("".join(own), "".join(comments), "".join(bound), rest)


def statements(script: str) -> Iterator[str]:
    """Yield each statement with the comments above it."""
    end = 0
    for found in _STATEMENT.finditer(script):
        yield found[0]
        end = found.end()
    if _code(script[end:]):
        raise ValueError(f"no statement: {script[end : end + 80]!r}")


def _code(statement: str) -> str:
    """Return a statement from its first word on."""
    return re.sub(r"\A(?:\s|--[^\n]*(?:\n|\Z))+", "", statement)


def _binding(statement: str) -> str:
    """Return what is looked up when a routine or view is created: not a body that is text.

    Quoted names stay: 'pgblend_data.document'::regclass is looked up as well.
    """
    code = _COMMENT.sub(lambda found: found[1] or "", statement)
    return _TEXT_BODY.split(code, maxsplit=1)[0]


def _binds(code: str, types: set[str], bound: set[str]) -> bool:
    """Tell whether code names a table, or what binds to one."""
    return bool({*_DATA.findall(code)} - types or {*_NAMED.findall(code)} & bound)
