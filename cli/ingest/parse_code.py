"""Source code: lines stay whole, and the definition around a chunk is its heading."""

import re

from pgblend.cli.ingest.decode import decode
from pgblend.cli.ingest.document import Document, Heading

# What a line begins with that defines something, in most languages.
_DEFINITION = re.compile(
    r"^(?P<indent>[ \t]*)(?:(?:export|default|public|private|protected|static|final|abstract|async|"
    r"pub(?:\([a-z]+\))?|unsafe|data|sealed|inline|virtual|override|partial|internal|local)[ \t]+)*"
    r"(?:class|def|function\*?|func|fn|interface|struct|trait|impl|enum|module|namespace|object|"
    r"record|protocol|package|sub|proc|(?i:CREATE(?:[ \t]+OR[ \t]+REPLACE)?)[ \t]+"
    r"(?i:FUNCTION|PROCEDURE|VIEW|TABLE|TYPE|TRIGGER))[ \t]+"
    r"(?:\([^)]*\)[ \t]*)?(?P<name>[\w.$]+(?:::[\w.$]+)*)",
    re.MULTILINE,
)
_TAB_WIDTH = 4
_DEEPEST = 40


def parse_code(data: bytes) -> Document:
    """Read a source file; definitions nest by their indentation."""
    source = decode(data)
    headings = tuple(
        Heading(
            match.start(),
            1 + min(len(match["indent"].expandtabs(_TAB_WIDTH)), _DEEPEST),
            match["name"],
        )
        for match in _DEFINITION.finditer(source)
    )
    return Document(text=source, headings=headings, kind="code", whole_lines=True)
