"""COMMENT ON texts of routines and views, made from the comment that heads their file.

A public object is told with all that its header says, a private one with the first sentence.
"""

import re
from collections.abc import Iterator

_CREATED = re.compile(r"^CREATE OR REPLACE (FUNCTION|PROCEDURE|VIEW) ([\w.]+)(\(.*?\))?", re.M)
_SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z`])")


def comments(name: str, text: str) -> str:
    """Return a COMMENT ON statement for each object that a file creates."""
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
    quoted = said.replace("'", "''")
    objects = _CREATED.findall(text)
    for kind, name, arguments in objects:
        # a name suffices but where several routines have it
        signature = arguments if len(objects) > 1 else ""
        yield f"COMMENT ON {kind} {name}{signature} IS '{quoted}';\n"
