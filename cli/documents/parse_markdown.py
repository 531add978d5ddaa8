"""Markdown: the text is what is shown, line by line; headings become context."""

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from pgblend.cli.documents.document import (
    Document,
    Heading,
    Link,
    Table,
    top_heading,
)
from pgblend.cli.documents.find_links import find_links
from pgblend.cli.documents.formula import raised, with_raised, with_readings_last
from pgblend.cli.documents.front_matter import split_front_matter, told_metadata
from pgblend.cli.documents.text_builder import TableRows, with_captions

# Markdown as it is shown: escapes, entities and tags are no part of its words; lines stay.
#
# What makes structure stays as well: passages of Markdown are shown as Markdown, code untouched.

_SHOWN_CODE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_COMMENT = re.compile(
    r"<!--.*?-->|\{/\*.*?\*/\}|^%%.*?%%[ \t]*$|(?<!\S)%%[^%\n]+%%(?!\S)", re.DOTALL | re.MULTILINE
)
_UNSEEN = re.compile(r"<(script|style)\b[^>]*>.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_HTML_NAMES = (
    "a abbr address article aside audio b bdi bdo big blockquote br button caption center cite "
    "code col colgroup dd del details dfn div dl dt em figcaption figure font footer h1 h2 h3 h4 "
    "h5 h6 header hr i iframe img ins kbd label li main mark nav ol p picture pre q rp rt ruby s "
    "samp section small source span strike strong sub summary sup svg path table tbody td tfoot "
    "th thead tr tt u ul var video wbr"
)
_TAG = re.compile(
    rf"</?(?:{'|'.join(_HTML_NAMES.split())})(?=[\s/>])(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>",
    re.IGNORECASE,
)
# Elements within a line; all others part the words before them from those after.
_PHRASE = re.compile(
    r"</?(?:a|abbr|b|bdi|bdo|big|cite|code|del|dfn|em|font|i|ins|kbd|label|mark|q|rp|rt|ruby|s|samp"
    r"|small|span|strike|strong|sub|sup|tt|u|var|wbr)\b",
    re.IGNORECASE,
)
_COMPONENT = re.compile(r"</?[A-Z][\w.]*(?:[^<>\"'{}]|\"[^\"]*\"|'[^']*'|\{[^{}]*\})*/?>|</?>")
_SHOWN_ATTRIBUTE = re.compile(
    r"\b(?:alt|label|title|summary|caption|heading)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')"
)
_MODULE = re.compile(r"^(?:import|export)\s(?:[^\n]|\n(?!\n))*", re.MULTILINE)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ALERT = re.compile(r"^([ \t]*>[ \t]*)\[!([A-Za-z][\w-]*)\][+-]?[ \t]*", re.MULTILINE)
_ADMONITION = re.compile(
    r"^([ \t]*)(?:!!!|\?\?\?\+?)[ \t]+([\w-]+)[^\n\"]*(?:\"([^\"\n]*)\")?.*$", re.M
)
_CONTAINER = re.compile(
    r"^[ \t]*:{3,}[ \t]*(?:\{?([A-Za-z][\w-]*)\}?(?:\[([^\]\n]*)\]|[ \t]+([^\n{]*))?.*)?$", re.M
)
_TAB = re.compile(r"^([ \t]*)===[!+]*[ \t]+\"([^\"\n]*)\"[ \t]*$", re.MULTILINE)
# Directives of MyST look like code: a box, and what is set of it.
_BOX = re.compile(
    r"\{(admonition|attention|caution|danger|error|hint|important|note|seealso|tip|todo|warning)\}"
    r"[ \t]*(.*)"
)
_BOX_SETTING = re.compile(r"[ \t]*(:[\w-]+:.*)?$")
_TEMPLATE = re.compile(r"\{\{[<%].*?[%>]\}\}|\{%.*?%\}", re.DOTALL)
_SHOWN_ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*[#.][^{}\n]*\}[ \t]*$|^\{:[^{}\n]*\}[ \t]*$", re.M)
_CONTENTS = re.compile(r"^\[\[?_?TOC_?\]?\][ \t]*$", re.IGNORECASE | re.MULTILINE)
_SHOWN_NOTE = re.compile(r"\[\^([^\]\s]+)\]")
# Figures above and below the line, as pandoc writes them: 10^6^, H~2~O.
_ABOVE = re.compile(r"(?<=[^\W_])\^([0-9+\u2212-]{1,4})\^")
_BELOW = re.compile(r"(?<=[^\W_])~([0-9]{1,3})~(?!~)")
# Where emphasis ends or begins within a word: un*believ*able.
_WITHIN = re.compile(r"(?<=[^\W\d_])(\*{1,3})([^\W_][^*\n]*?)\1|(\*{1,3})([^\W\d_]+)\3(?=[^\W\d_])")


def shown(text: str, code_lines: Iterable[range], is_mdx: bool = False) -> str:
    """Return the text as it is shown; `code_lines` are as they stand."""
    lines = text.split("\n")
    numbers: dict[str, int] = {}
    start = 0
    parts: list[str] = []
    for code in sorted(code_lines, key=lambda lines: lines.start):
        if code.start > start:
            parts += _prose("\n".join(lines[start : code.start]), numbers, is_mdx).split("\n")
        parts += lines[max(start, code.start) : code.stop]
        start = max(start, code.stop)
    if start < len(lines):
        parts += _prose("\n".join(lines[start:]), numbers, is_mdx).split("\n")
    return "\n".join(parts)


def _prose(text: str, numbers: dict[str, int], is_mdx: bool) -> str:
    """Change what is not code; the number of lines stays."""
    text = _COMMENT.sub(_line_ends, text)
    text = _UNSEEN.sub(_line_ends, text)
    if is_mdx:
        text = _MODULE.sub(_line_ends, text)
    out = []
    place = 0
    for match in _SHOWN_CODE.finditer(text):
        if "\n\n" not in match.group():
            out += [_inline(text[place : match.start()], numbers, is_mdx), match.group()]
            place = match.end()
    out.append(_inline(text[place:], numbers, is_mdx))
    return "".join(out)


def _inline(text: str, numbers: dict[str, int], is_mdx: bool) -> str:
    if "{" in text:
        text = _SHOWN_ATTRIBUTES.sub("", _TEMPLATE.sub(_line_ends, text))
    if ":::" in text or "!!!" in text or "???" in text:
        text = _ADMONITION.sub(_admonition, text)
        text = _CONTAINER.sub(_container, text)
    if "===" in text:
        text = _TAB.sub(r"\1\2", text)
    if "[" in text:
        text = _CONTENTS.sub("", text)
        text = _ALERT.sub(lambda match: f"{match[1]}{match[2].capitalize()}: ", text)
        text = _SHOWN_NOTE.sub(lambda match: f"[{_number(match[1], numbers)}]", text)
    if "<" in text:
        text = _TAG.sub(_tag, with_raised(with_readings_last(text)))
        if is_mdx:
            text = _COMPONENT.sub(_tag, text)
    if "~" in text or "^" in text:
        text = _BELOW.sub(r"\1", _ABOVE.sub(lambda match: raised(match[1]), text))
    if "*" in text:
        text = _WITHIN.sub(lambda match: match[2] or match[4], text)
    if "\\" in text:
        text = _ESCAPE.sub(r"\1", text)
    return _ENTITY.sub(_entity, text) if "&" in text else text


def _tag(match: re.Match[str]) -> str:
    """Leave of a tag what it shows, and its line ends."""
    said = " ".join(filter(None, (a or b for a, b in _SHOWN_ATTRIBUTE.findall(match.group()))))
    is_break = match.group()[:3].lower() in ("<br", "<td", "<th", "<hr")
    between = (
        match.string[match.start() - 1 : match.start()]
        + match.string[match.end() : match.end() + 1]
    )
    is_within = len(between) == 2 and not any(letter.isspace() for letter in between)
    gap = " " if is_break or (is_within and not _PHRASE.match(match.group())) else ""
    if said:
        before, after = (each.isspace() for each in (between[:1], between[-1:]))
        gap = f"{'' if before else ' '}{html.unescape(said)}{'' if after else ' '}"
    return gap + "\n" * match.group().count("\n")


def _entity(match: re.Match[str]) -> str:
    """Return what an entity stands for; what would be markup or a line's end stays."""
    letter = html.unescape(match.group())
    return letter if letter.isprintable() or letter == "\u00a0" else match.group()


def _number(name: str, numbers: dict[str, int]) -> int:
    return numbers.setdefault(name, len(numbers) + 1)


def _admonition(match: re.Match[str]) -> str:
    indent, kind, title = match.groups()
    return f"{indent}{kind.capitalize()}: {title or ''}".rstrip()


def _container(match: re.Match[str]) -> str:
    kind, bracketed, title = match.groups()
    return f"{kind.capitalize()}: {bracketed or title or ''}".rstrip() if kind else ""


def _line_ends(match: re.Match[str]) -> str:
    return "\n" * match.group().count("\n")


_CODE = frozenset(("fence", "code_block"))
_ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*[#.][^{}\n]*\}[ \t]*$")
_NOTE = re.compile(r"\[\^[^\]\s]+\]")
# Only the block structure is needed; inline markup is parsed for headings alone.
_BLOCKS = MarkdownIt("commonmark").enable("table")
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])
_INLINE = MarkdownIt("commonmark")
_COMMENT_LINE = re.compile(r"^%%[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_MARKUP = re.compile(r"[*_`\[\]<>&\\!]")


def parse_markdown(source: str, is_mdx: bool = False) -> Document:
    """Return text, title, metadata, headings, tables and links of a Markdown file.

    Front matter leaves blank lines behind, so that line numbers stay those of the file. The title
    is the front matter's, else a single heading of level 1 at the top, else "".
    """
    metadata, text, left_out = split_front_matter(source)
    stated, metadata = told_metadata(metadata, text)
    text = _without_comments(text) if _COMMENT_LINE.search(text) else text
    tokens = _BLOCKS.parse(text)
    links = find_links(text)
    raw = text
    text = shown(_without_boxes(text, tokens), _code_lines(tokens), is_mdx)
    headings, tables = _blocks(tokens, text)
    return Document(
        title=stated or top_heading(headings, text),
        text=text,
        metadata=metadata,
        headings=headings,
        tables=with_captions(tables, text, headings),
        links=links if raw == text else _at_lines(links, raw, text),
        left_out=left_out,
    )


def _without_comments(text: str) -> str:
    """Empty the lines between two that are %%, where Obsidian keeps what it does not show."""
    lines = text.split("\n")
    fence, begun = "", -1
    for place, line in enumerate(lines):
        mark = _FENCE.match(line)
        if begun < 0 and mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and _COMMENT_LINE.fullmatch(line):
            if begun >= 0:
                lines[begun : place + 1] = [""] * (place + 1 - begun)
            begun = place if begun < 0 else -1
    return "\n".join(lines)


def parse_mdx(source: str) -> Document:
    """Return the same of Markdown with components."""
    return parse_markdown(source, is_mdx=True)


def _code_lines(tokens: Sequence[Token]) -> list[range]:
    """Return the lines of code; those of a fence in a list are it too."""
    return [
        range(*token.map)
        for token in tokens
        if token.type in _CODE and token.map and not _BOX.match(token.info)
    ]


def _without_boxes(text: str, tokens: Sequence[Token]) -> str:
    """Return the text with boxes of MyST as a line of their own, and what they hold as prose."""
    boxes = [token for token in tokens if token.type == "fence" and _BOX.match(token.info)]
    if not boxes:
        return text
    lines = text.split("\n")
    for token in boxes:
        kind, title = _BOX.match(token.info).groups()  # type: ignore[union-attr]
        start, end = token.map or (0, 0)
        lines[start] = title if kind == "admonition" else f"{kind.capitalize()}: {title}".rstrip()
        if lines[end - 1].strip() == token.markup:
            lines[end - 1] = ""
        for place in range(start + 1, end):
            if not _BOX_SETTING.match(lines[place]):
                break
            lines[place] = ""
    return "\n".join(lines)


def _at_lines(links: tuple[Link, ...], raw: str, text: str) -> tuple[Link, ...]:
    """Move links to the lines that they stand on: the lines of both texts are the same."""
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    moved = []
    line = place = 0
    for link in links:
        line += raw.count("\n", place, link.offset)
        place = link.offset
        moved.append(replace(link, offset=starts[min(line, len(starts) - 1)]))
    return tuple(moved)


def _blocks(tokens: Sequence[Token], text: str) -> tuple[tuple[Heading, ...], list[Table]]:
    """Return headings and tables."""
    line_offsets = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
    headings = []
    tables = []
    rows = TableRows()
    cells: list[str] = []
    end = 0
    for token, content in pairwise(tokens):
        if token.type == "heading_open" and token.map:
            plain = _plain_text(content.content)
            if plain:
                headings.append(Heading(line_offsets[token.map[0]], int(token.tag[1]), plain))
        elif token.type == "table_open" and token.map:
            rows = TableRows()
            end = line_offsets[token.map[1]]
        elif token.type == "tr_open" and token.map:
            cells = []
            offset = line_offsets[token.map[0]]
        elif token.type in ("th_open", "td_open"):
            cells.append(_plain_text(content.content))
        elif token.type == "tr_close":
            rows.add(offset, cells, is_header=content.type == "thead_close")
        if content.type == "table_close" and (table := rows.table(end)):
            tables.append(table)
    return tuple(headings), tables


def _plain_text(markup: str) -> str:
    """Leave out the markup of a heading."""
    markup = _ATTRIBUTES.sub("", _NOTE.sub("", markup))
    if _MARKUP.search(markup):
        inline = _INLINE.parseInline(markup)[0].children or []
        markup = "".join(" " if child.type == "softbreak" else child.content for child in inline)
    return " ".join(markup.split())
