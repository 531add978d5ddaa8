"""COMMENT ON texts of routines, views and columns, made from the comments of their file.

A public object is told with all that its header says, a private one with the first sentence. What
a column of a view holds is told behind it, or above it where the line would be too long.
"""

import re
from collections.abc import Iterator

_CREATED = re.compile(r"^CREATE OR REPLACE (FUNCTION|PROCEDURE|VIEW) ([\w.]+)(\(.*?\))?", re.M)
_SELECTED = re.compile(r"^SELECT\n(.*?)^FROM ", re.MULTILINE | re.DOTALL)
_COLUMN = re.compile(
    r"^    (?:-- (.*)|(?!--)(?:\S.*)?(?:\bAS |\.)(\w+),?(?:  -- (.*))?)$", re.MULTILINE
)
_SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z`])")


def comments(name: str, text: str) -> str:
    """Return a COMMENT ON statement for each object that a file creates, and a view's columns."""
    return "".join(_comments(header(name, text), text))


def header(name: str, text: str) -> str:
    """Return what the comment that heads a file says: all of it for a public object."""
    lines = text.partition("\nCREATE ")[0].splitlines()
    words = " ".join(line.removeprefix("--").strip() for line in lines if line.startswith("--"))
    said = words.removeprefix(f"{name}: ")
    if name.startswith("_"):
        said = _SENTENCE.split(said)[0]
    return said[:1].upper() + said[1:]


def _comments(said: str, text: str) -> Iterator[str]:
    objects = _CREATED.findall(text)
    for kind, name, arguments in objects:
        # a name suffices but where several routines have it
        signature = arguments if len(objects) > 1 else ""
        yield _statement(kind, f"{name}{signature}", said)
        if kind == "VIEW":
            yield from _column_comments(name, text)


def _column_comments(view: str, text: str) -> Iterator[str]:
    above: list[str] = []
    selected = _SELECTED.search(text)
    for line, column, behind in _COLUMN.findall(selected[1]) if selected else ():
        if line:
            above.append(line)
        elif said := " ".join([*above, *([behind] if behind else [])]):
            yield _statement("COLUMN", f"{view}.{column}", said)
            above.clear()


def _statement(kind: str, name: str, said: str) -> str:
    quoted = said.replace("'", "''")
    return f"COMMENT ON {kind} {name} IS '{quoted}';\n"
