"""AsciiDoc, Org and reStructuredText, line by line: each line has one in the text."""

import re
from dataclasses import dataclass, field, replace

from pgblend.cli.documents.decode import decode
from pgblend.cli.documents.document import (
    Document,
    Heading,
    LeftOut,
    Link,
    stated_title,
    storable_text,
    storable_value,
    top_heading,
)
from pgblend.cli.documents.find_links import find_links
from pgblend.cli.documents.formula import raised

_ELSEWHERE = "it is a file of its own"
_BRING_IT = "bring it in as well: its text is found under its own name"


@dataclass
class LineText:
    """Collects what is shown of each line; what shows nothing leaves an empty one."""

    lines: list[str] = field(default_factory=list)
    headings: list[tuple[int, int, str]] = field(default_factory=list)
    metadata: dict[str, object] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    links: list[tuple[int, str]] = field(default_factory=list)

    def add(self, line: str = "") -> None:
        """Add what a line shows."""
        self.lines.append(line.rstrip())

    def add_heading(self, text: str, level: int) -> None:
        """Add a line that is a heading."""
        text = " ".join(text.split())
        if text:
            self.headings.append((len(self.lines), level, text))
        self.lines.append(text)

    def add_link(self, target: str) -> None:
        """Note a link of the line that is read."""
        self.links.append((len(self.lines), target))

    def tell_file(self, name: str) -> None:
        """Note a file that the text takes in, which is not followed."""
        if name:
            self.left_out.append(LeftOut(storable_text(name), _ELSEWHERE, _BRING_IT))

    def document(self) -> Document:
        """Return the document; its title is what it says, else its only top heading."""
        offsets = [0]
        for line in self.lines:
            offsets.append(offsets[-1] + len(line) + 1)
        headings = tuple(
            Heading(offsets[number], level, text) for number, level, text in self.headings
        )
        metadata = dict(self.metadata)
        title = stated_title(str(metadata.pop("title", "")))
        return Document(
            title=title or top_heading(headings),
            text="\n".join(self.lines),
            metadata=storable_value(metadata),
            headings=headings,
            links=tuple(Link(offsets[number], target, "path") for number, target in self.links),
            left_out=tuple(self.left_out),
        )


# reStructuredText: as it is written, with its headings and what the fields below its title say. The
# files are told that it takes in.

_LINE = re.compile(r"([!-/:-@\[-`{-~])\1+")
_INCLUDED = re.compile(r"^\s*\.\. (?:include|literalinclude)::\s*(\S+)|^\s+:file:\s+(\S+)")
# `10\ :sup:`6`` shows neither the role nor the escaped blanks beside it.
_ROLE_ABOVE, _ROLE_BELOW = (
    re.compile(rf"(?:\\ )?:{role}:`([^`]+)`(?:\\ )?")
    for role in ("sup(?:erscript)?", "sub(?:script)?")
)
_FIELD = re.compile(r"^:([A-Za-z][\w -]*):[ \t]+(\S.*)$")
_FIELDS = frozenset(("author", "category", "date", "description", "keywords", "modified"))


def parse_rst(data: bytes) -> Document:
    """Read a .rst file; a title's level is that of its line, in the order in which they come."""
    lines = decode(data).split("\n")
    text = LineText()
    kinds: list[str] = []
    is_head = True  # fields, and before them the title
    for number, line in enumerate(lines):
        if match := _INCLUDED.match(line):
            text.tell_file(match[1] or match[2])
        about = _FIELD.match(line) if is_head else None
        if about and about[1].lower() in _FIELDS:
            text.metadata.setdefault(about[1].lower(), about[2].strip())
        below = lines[number + 1].rstrip() if number + 1 < len(lines) else ""
        title, above = line.strip(), lines[number - 1].rstrip() if number else ""
        is_title = bool(title and _LINE.fullmatch(below)) and len(below) >= len(title)
        if is_title and not _LINE.fullmatch(title) and (above in ("", below) or line == title):
            kind = below[0] * (2 if above == below else 1)
            kinds += [kind] if kind not in kinds else []
            text.headings.append((number, 1 + kinds.index(kind), title))
        is_head = is_head and bool(not title or about or is_title or _LINE.fullmatch(title))
        text.lines.append(_ROLE_BELOW.sub(r"\1", _ROLE_ABOVE.sub(_raised, line)))
    document = text.document()
    return replace(document, links=find_links(document.text))


def _raised(match: re.Match[str]) -> str:
    return raised(match[1])


# Org: the text with its headings; drawers, keywords and marks are no words.

_ORG_HEADING = re.compile(
    r"^(\*+)[ \t]+(?:(?:TODO|DONE|NEXT|WAITING|CANCELLED|HOLD)[ \t]+)?(?:\[#[A-Z]\][ \t]+)?"
    r"(COMMENT(?=[ \t]|$))?[ \t]*(.*?)(?:[ \t]+(:[\w@#%:]+:))?[ \t]*$"
)
_KEYWORD = re.compile(r"^[ \t]*#\+([\w-]+)(?:\[[^\]]*\])?:[ \t]*(.*)$", re.IGNORECASE)
_BLOCK = re.compile(r"^[ \t]*#\+(begin|end)_(\w+).*$", re.IGNORECASE)
_COMMENT = re.compile(r"^[ \t]*#(?:[ \t]|$)")
_DRAWER = re.compile(r"^[ \t]*:[\w-]+:[ \t]*$")
_RULE = re.compile(r"^[ \t]*\|[-+]+\|?[ \t]*$")
_ROW = re.compile(r"^[ \t]*\|(.*?)\|?[ \t]*$")
_ORG_LINK = re.compile(r"\[\[([^\]]+)\](?:\[([^\]]+)\])?\]")
_NOTE = re.compile(r"\[fn:([\w-]*)(?::([^\]]*))?\]")
_MARK = re.compile(r"(?<![\w*/_=~+])([*/_=~+])(?=\S)((?:(?!\1).)+?)(?<=\S)\1(?![\w*/_=~+])")
_ORG_ABOVE, _ORG_BELOW = (re.compile(rf"(?<=\w){sign}\{{([\w+-]+)\}}") for sign in (r"\^", "_"))
_ORG_MACRO = re.compile(r"\{\{\{([\w-]+)(?:\(([^{}]*)\))?\}\}\}")
_ARGUMENT = re.compile(r"\$([1-9])")
_TARGET = re.compile(r"<<<?[^<>]+>>>?")
_METADATA = {"title": "title", "author": "author", "date": "date", "filetags": "tags",
             "description": "description", "keywords": "keywords", "language": "language",
             "subtitle": "subtitle", "email": "email", "category": "category"}  # fmt: skip
# What stands in these blocks is written as it is; comments are shown nowhere.
_ORG_LITERAL = frozenset(("src", "example", "export"))
_SHOWN_KEYWORDS = frozenset(("caption",))


def parse_org(data: bytes) -> Document:
    """Read an Org file."""
    reader = _OrgReader()
    for line in decode(data).split("\n"):
        reader.take(line)
    return reader.text.document()


class _OrgReader:
    """Reads a file line by line."""

    def __init__(self) -> None:
        self.text = LineText()
        self._block = ""
        self._in_drawer = False
        self._hidden_level = 0  # of a heading that is a comment, with all below it
        self._macros: dict[str, str] = {}

    def take(self, line: str) -> None:
        """Add a line to the text, or follow what it says of the lines after it."""
        if match := _BLOCK.match(line):
            is_end = match[1].lower() == "end"
            self._block = "" if is_end else self._block or match[2].lower()
            self.text.add()
        elif self._block:
            self._take_in_block(line)
        elif self._in_drawer or _DRAWER.match(line):
            self._in_drawer = line.strip().upper() != ":END:"
            self.text.add()
        elif match := _ORG_HEADING.match(line):
            self._take_heading(len(match[1]), match[2] is not None, match[3])
        elif self._hidden_level:
            self.text.add()
        elif match := _KEYWORD.match(line):
            name, value = match[1].lower(), match[2].strip()
            if name == "macro":
                macro, _, body = value.partition(" ")
                self._macros[macro] = body.strip()
            _take_keyword(self.text, name, value)
        elif _COMMENT.match(line) or _RULE.match(line):
            self.text.add()
        else:
            row = _ROW.match(line)
            said = self._shown(row[1] if row else line)
            self.text.add(" | ".join(map(str.strip, said.split("|"))) if row else said)

    def _take_heading(self, level: int, is_comment: bool, title: str) -> None:
        if self._hidden_level and level > self._hidden_level:
            self.text.add()
            return
        self._hidden_level = level if is_comment else 0
        if is_comment:
            self.text.add()
        else:
            self.text.add_heading(self._shown(title), level)

    def _take_in_block(self, line: str) -> None:
        if self._block == "comment" or self._hidden_level:
            self.text.add()
        else:
            self.text.add(line if self._block in _ORG_LITERAL else self._shown(line))

    def _shown(self, line: str) -> str:
        line = _ORG_MACRO.sub(self._expanded, line)
        line = _TARGET.sub("", _ORG_LINK.sub(self._link, line))
        line = _NOTE.sub(lambda match: f" ({match[2]})" if match[2] else f"[{match[1]}]", line)
        line = _ORG_BELOW.sub(r"\1", _ORG_ABOVE.sub(_raised, line))
        for _ in range(2):  # */both/*
            line = _MARK.sub(r"\2", line)
        return line

    def _expanded(self, match: re.Match[str]) -> str:
        """Return what a macro stands for; nothing where the file does not define it."""
        values = [value.strip() for value in (match[2] or "").split(",")]
        body = self._macros.get(match[1], "")
        return _ARGUMENT.sub(lambda one: "".join(values[int(one[1]) - 1 : int(one[1])]), body)

    def _link(self, match: re.Match[str]) -> str:
        target = match[1].removeprefix("file:")
        self.text.add_link(target.partition("::")[0])
        return match[2] or target


def _take_keyword(text: LineText, name: str, value: str) -> None:
    """Note what a keyword says of the text; a caption is shown."""
    if name == "include" and value:
        file = value.split('"')[1] if value.count('"') > 1 else value.split()[0]
        text.tell_file(file)
    if name in _METADATA and value:
        key = _METADATA[name]
        text.metadata.setdefault(key, value.strip(":").split(":") if key == "tags" else value)
    text.add(value if name in _SHOWN_KEYWORDS else "")


# AsciiDoc: the text with its headings; delimiters, attributes and macros are no words.

_ASCIIDOC_HEADING = re.compile(r"^(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+\1)?$")
_UNDERLINE = {"=": 1, "-": 2, "~": 3, "^": 4, "+": 5}
_ATTRIBUTE = re.compile(r"^:(!?[\w][\w-]*!?):(?:[ \t]+(.*))?$")
_AUTHOR = re.compile(r"^[^\s:\[=][^<\n:]*(?:<[^<>\s]+>)$")
_REVISION = re.compile(r"^v?[\d.]+,?\s*\d{4}-\d\d-\d\d.*$|^\d{4}-\d\d-\d\d$")
_DELIMITER = re.compile(r"^(?:-{4,}|={4,}|\.{4,}|\*{4,}|_{4,}|\+{4,}|--|`{3,}\w*|[|!,:]={3,})$")
_ASCIIDOC_LITERAL = re.compile(r"^(?:-{4,}|\.{4,}|\+{4,}|`{3,}\w*)$")
_COMMENT_BLOCK = re.compile(r"^/{4,}$")
_BLOCK_ATTRIBUTES = re.compile(r"^\[[^\]\n]*\]$|^\[\[[^\]\n]*\]\]$")
_BLOCK_TITLE = re.compile(r"^\.(?=[^\s.])")
_DIRECTIVE = re.compile(r"^(?:ifdef|ifndef|ifeval|endif|include)::([^\[]*)\[.*\]$")
_IMAGE = re.compile(r"\b(?:image|video|audio)::?[^\s\[]+\[([^\],]*)[^\]]*\]")
_ASCIIDOC_LINK = re.compile(
    r"(?:(?:link|xref):|(?=https?://|mailto:))([^\s\[\]<>]+)\[((?:[^\]\\]|\\.)*)\]"
)
_CROSS = re.compile(r"<<([^,<>]+?)(?:,\s*([^<>]*))?>>")
_FOOTNOTE = re.compile(r"footnote(?:ref)?:[\w-]*\[([^\]]*)\]")
_MACRO = re.compile(r"\b(?:kbd|btn|menu|pass|stem|latexmath|asciimath|icon|indexterm2?)"
                    r":{1,2}([\w-]*)\[([^\]]*)\]")  # fmt: skip
_ANCHOR = re.compile(r"\[\[[^\]\n]+\]\]|\[#[\w-]+\]|anchor:[\w-]+\[[^\]]*\]")
_INDEX = re.compile(r"\(\(\(([^)]*)\)\)\)|\(\((.+?)\)\)")
_ROLE = re.compile(r"\[(?:[.#%][^\]\n]{0,200}|[a-z][a-z -]*)\](?=[#*_`]\S|##\S)")
_QUOTED = re.compile(r"(?<!\w)([*_`#+~^]{1,2})(?=\S)((?:(?!\1).)+?)(?<=\S)\1(?!\w)")
_WITHIN = re.compile(r"(\*\*|__|``|##)(?=\S)((?:(?!\1).)+?)\1")
_ABOVE, _BELOW = re.compile(r"(?<=\w)\^([^\s^]+)\^"), re.compile(r"(?<=\w)~([^\s~]+)~")
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


class _AsciidocReader:
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
        elif _ASCIIDOC_LITERAL.match(line):
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
            if day := re.search(r"\d{4}-\d\d-\d\d", line) if key == "revision" else None:
                self.text.metadata.setdefault("revdate", day[0])
            return True
        return is_comment or bool(_BLOCK_ATTRIBUTES.match(line)) or line.strip() == "+"

    def _take_shown(self, line: str, below: str) -> None:
        if match := _ASCIIDOC_HEADING.match(line):
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
        line = _ASCIIDOC_LINK.sub(self._link, line)
        line = _CROSS.sub(lambda match: match[2] or match[1], line)
        line = _FOOTNOTE.sub(r" (\1)", line)
        line = _MACRO.sub(lambda match: f"{match[1]} {match[2]}".strip(), line)
        line = _ROLE.sub("", _INDEX.sub(lambda match: match[2] or "", _ANCHOR.sub("", line)))
        line = _BELOW.sub(r"\1", _ABOVE.sub(_raised, line))
        for _ in range(3):  # *_both_*
            line = _QUOTED.sub(r"\2", _WITHIN.sub(r"\2", line))
        return line

    def _link(self, match: re.Match[str]) -> str:
        self.text.add_link(match[1])
        return match[2].partition(",")[0].rstrip("^") or match[1]


def parse_asciidoc(data: bytes) -> Document:
    """Read an AsciiDoc file."""
    lines = decode(data).split("\n")
    reader = _AsciidocReader()
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
