"""Markdown as it is shown: escapes, entities and tags are no part of its words; lines stay.

What makes structure stays as well: passages of Markdown are shown as Markdown, code untouched.
"""

import html
import re
from collections.abc import Iterable

_CODE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->|\{/\*.*?\*/\}|^%%.*?%%[ \t]*$", re.DOTALL | re.MULTILINE)
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
_TEMPLATE = re.compile(r"\{\{[<%].*?[%>]\}\}|\{%.*?%\}", re.DOTALL)
_ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*[#.][^{}\n]*\}[ \t]*$|^\{:[^{}\n]*\}[ \t]*$", re.M)
_CONTENTS = re.compile(r"^\[\[?_?TOC_?\]?\][ \t]*$", re.IGNORECASE | re.MULTILINE)
_NOTE = re.compile(r"\[\^([^\]\s]+)\]")
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
    for match in _CODE.finditer(text):
        if "\n\n" not in match.group():
            out += [_inline(text[place : match.start()], numbers, is_mdx), match.group()]
            place = match.end()
    out.append(_inline(text[place:], numbers, is_mdx))
    return "".join(out)


def _inline(text: str, numbers: dict[str, int], is_mdx: bool) -> str:
    if "{" in text:
        text = _ATTRIBUTES.sub("", _TEMPLATE.sub(_line_ends, text))
    if ":::" in text or "!!!" in text or "???" in text:
        text = _ADMONITION.sub(_admonition, text)
        text = _CONTAINER.sub(_container, text)
    if "[" in text:
        text = _CONTENTS.sub("", text)
        text = _ALERT.sub(lambda match: f"{match[1]}{match[2].capitalize()}: ", text)
        text = _NOTE.sub(lambda match: f"[{_number(match[1], numbers)}]", text)
    if "<" in text:
        text = _TAG.sub(_tag, text)
        if is_mdx:
            text = _COMPONENT.sub(_tag, text)
    if "*" in text:
        text = _WITHIN.sub(lambda match: match[2] or match[4], text)
    if "\\" in text:
        text = _ESCAPE.sub(r"\1", text)
    return _ENTITY.sub(_entity, text) if "&" in text else text


def _tag(match: re.Match[str]) -> str:
    """Leave of a tag what it shows, and its line ends."""
    said = " ".join(filter(None, (a or b for a, b in _SHOWN_ATTRIBUTE.findall(match.group()))))
    is_break = match.group()[:3].lower() in ("<br", "<td", "<th", "<hr")
    gap = " " if is_break else ""
    return (html.unescape(said) or gap) + "\n" * match.group().count("\n")


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
