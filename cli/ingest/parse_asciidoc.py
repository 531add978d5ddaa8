"""AsciiDoc: the text with its headings; delimiters, attributes and macros are no words."""

import re

from pgblend.cli.ingest.decode import decode
from pgblend.cli.ingest.document import Document
from pgblend.cli.ingest.line_text import LineText

_HEADING = re.compile(r"^(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+\1)?$")
_UNDERLINE = {"=": 1, "-": 2, "~": 3, "^": 4, "+": 5}
_ATTRIBUTE = re.compile(r"^:(!?[\w][\w-]*!?):(?:[ \t]+(.*))?$")
_AUTHOR = re.compile(r"^[^\s:\[=][^<\n:]*(?:<[^<>\s]+>)$")
_REVISION = re.compile(r"^v?[\d.]+,?\s*\d{4}-\d\d-\d\d.*$|^\d{4}-\d\d-\d\d$")
_DELIMITER = re.compile(r"^(?:-{4,}|={4,}|\.{4,}|\*{4,}|_{4,}|\+{4,}|--|`{3,}\w*|[|!,:]={3,})$")
_LITERAL = re.compile(r"^(?:-{4,}|\.{4,}|\+{4,}|`{3,}\w*)$")
_COMMENT_BLOCK = re.compile(r"^/{4,}$")
_BLOCK_ATTRIBUTES = re.compile(r"^\[[^\]\n]*\]$|^\[\[[^\]\n]*\]\]$")
_BLOCK_TITLE = re.compile(r"^\.(?=[^\s.])")
_DIRECTIVE = re.compile(r"^(?:ifdef|ifndef|ifeval|endif|include)::([^\[]*)\[.*\]$")
_IMAGE = re.compile(r"\b(?:image|video|audio)::?[^\s\[]+\[([^\],]*)[^\]]*\]")
_LINK = re.compile(r"(?:(?:link|xref):|(?=https?://|mailto:))([^\s\[\]<>]+)\[((?:[^\]\\]|\\.)*)\]")
_CROSS = re.compile(r"<<([^,<>]+?)(?:,\s*([^<>]*))?>>")
_FOOTNOTE = re.compile(r"footnote(?:ref)?:[\w-]*\[([^\]]*)\]")
_MACRO = re.compile(r"\b(?:kbd|btn|menu|pass|stem|latexmath|asciimath|icon|indexterm2?)"
                    r":{1,2}([\w-]*)\[([^\]]*)\]")  # fmt: skip
_ANCHOR = re.compile(r"\[\[[^\]\n]+\]\]|\[#[\w-]+\]|anchor:[\w-]+\[[^\]]*\]")
_INDEX = re.compile(r"\(\(\(([^)]*)\)\)\)|\(\((.+?)\)\)")
_ROLE = re.compile(r"\[[.#%][^\]\n]*\](?=[#*_`])")
_QUOTED = re.compile(r"(?<!\w)([*_`#+~^]{1,2})(?=\S)((?:(?!\1).)+?)(?<=\S)\1(?!\w)")
_WITHIN = re.compile(r"(\*\*|__|``|##)(?=\S)((?:(?!\1).)+?)\1")
_REFERENCE = re.compile(r"\{([\w-]+)\}")
_CELL = re.compile(r"(?<!\\)(?:\d*\.?\d*\+|\d+\*)?[<^>.]*[aehlmdsv]?\|")
_LIST = re.compile(r"^[ \t]*(?:(\*+|-)|(\.+))[ \t]+")
_BREAK = re.compile(r"[ \t]\+$")
_LETTERS = {
    "nbsp": "\u00a0", "amp": "&", "lt": "<", "gt": ">", "sp": " ", "empty": "", "plus": "+",
    "zwsp": "", "vbar": "|", "asterisk": "*", "backtick": "`", "startsb": "[", "endsb": "]",
}  # fmt: skip
_SETTINGS = frozenset(
    ("toc", "icons", "sectnums", "numbered", "experimental", "doctype", "idprefix")
)


class _Reader:
    """Reads a file line by line."""

    def __init__(self) -> None:
        self.text = LineText()
        self._attributes = dict(_LETTERS)
        self._closing = ""
        self._is_comment = self._is_table = False
        self._in_header = True
        self._is_underlined = False

    def take(self, line: str, below: str) -> None:
        """Take a line; the one below may say that it is a heading."""
        if self._closing:
            self._take_literal(line)
        elif self._is_underline(line):
            self._is_underlined = False
            self.text.add()
        elif _COMMENT_BLOCK.match(line):
            self._closing, self._is_comment = line, True
            self.text.add()
        elif _LITERAL.match(line):
            self._closing, self._is_comment = re.sub(r"\w", "", line), False
            self.text.add()
        elif _DELIMITER.match(line):
            if line[0] in "|!,:":
                self._is_table = not self._is_table
            self.text.add()
        elif self._is_silent(line):
            self.text.add()
        else:
            self._take_shown(line, below)

    def _take_literal(self, line: str) -> None:
        is_end = line.rstrip() == self._closing
        if is_end:
            self._closing = ""
        self.text.add("" if is_end or self._is_comment else line)

    def _is_silent(self, line: str) -> bool:
        """Whether a line is about the text, and not of it; note what it says."""
        if match := _ATTRIBUTE.match(line):
            name, value = match[1].strip("!"), self._shown(match[2] or "")
            self._attributes[name] = value
            if self._in_header and value and name not in _SETTINGS:
                self.text.metadata.setdefault(name, value)
            return True
        if match := _DIRECTIVE.match(line):
            if line.startswith("include"):
                self.text.tell_file(match[1])
            return True
        is_comment = line.startswith("//") and not line.startswith("///")
        if (
            self._in_header
            and self.text.headings
            and (_AUTHOR.match(line) or _REVISION.match(line))
        ):
            key = "author" if _AUTHOR.match(line) else "revision"
            self.text.metadata.setdefault(key, line.strip())
            return True
        return is_comment or bool(_BLOCK_ATTRIBUTES.match(line)) or line.strip() == "+"

    def _take_shown(self, line: str, below: str) -> None:
        if match := _HEADING.match(line):
            self.text.add_heading(self._shown(match[2]), len(match[1]))
            return
        if level := _underlined(line, below):
            self.text.add_heading(self._shown(line), level)
            self._is_underlined = True
            return
        if (not line.strip() and self.text.headings) or (line.strip() and not self.text.headings):
            self._in_header = False
        if self._is_table:
            line = _CELL.sub(" | ", line).strip(" |")
        line = _LIST.sub(_bullet, _BLOCK_TITLE.sub("", line))
        self.text.add(self._shown(_BREAK.sub("", line)))

    def _is_underline(self, line: str) -> bool:
        """Whether a line is no more than the mark below a heading."""
        is_mark = len(set(line)) == 1 and line[0] in _UNDERLINE
        return is_mark and self._is_underlined

    def _shown(self, line: str) -> str:
        line = _REFERENCE.sub(lambda match: self._attributes.get(match[1], match[0]), line)
        line = _IMAGE.sub(r"\1", line)
        line = _LINK.sub(self._link, line)
        line = _CROSS.sub(lambda match: match[2] or match[1], line)
        line = _FOOTNOTE.sub(r" (\1)", line)
        line = _MACRO.sub(lambda match: f"{match[1]} {match[2]}".strip(), line)
        line = _ROLE.sub("", _INDEX.sub(lambda match: match[2] or "", _ANCHOR.sub("", line)))
        for _ in range(3):  # *_both_*
            line = _QUOTED.sub(r"\2", _WITHIN.sub(r"\2", line))
        return line

    def _link(self, match: re.Match[str]) -> str:
        self.text.add_link(match[1])
        return match[2].partition(",")[0].rstrip("^") or match[1]


def parse_asciidoc(data: bytes) -> Document:
    """Read an AsciiDoc file."""
    lines = decode(data).split("\n")
    reader = _Reader()
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        reader.take(line.rstrip(), below.rstrip())
    return reader.text.document()


def _underlined(line: str, below: str) -> int:
    """Return the level of a heading that the line below makes; 0 where it makes none."""
    marks = set(below)
    if len(marks) != 1 or len(line.strip()) < 2 or abs(len(below) - len(line)) > 1:
        return 0
    return _UNDERLINE.get(below[0], 0) if line[0].isalnum() else 0


def _bullet(match: re.Match[str]) -> str:
    depth = len(match[1] or match[2]) - 1
    return "  " * depth + "- "
