"""Links in a text: Markdown, wiki, HTML and reStructuredText, by their own marks."""

import re
from collections.abc import Iterable, Iterator

from pgblend.cli.documents.document import Link

# Longer ones are data, not addresses.
_LONGEST = 2000
_PART_CHARACTERS = 1 << 20
_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+|\d+[.)][ \t]+)?(`{3,}|~{3,})(.*)")
_INLINE_CODE = re.compile(r"(?<![`\\])(`+)(?!`)[^\n]*?(?:\n[^\n]+?)?(?<!`)\1(?![`_])")
_WIKI = re.compile(r"(?<!\\)(!?)\[\[([^\[\]\n]+?)\]\]")
_SHOWN = r"\[(?:[^\[\]\\\n]|\\.|\n(?!\n)|\[[^\[\]\n]*\]){0,1000}\]"
_PATH = r"(?:<(?P<angled>[^<>\n]*)>|(?P<bare>(?:[^\s()\\]|\\.|\([^\s()]*\))+))"
_TITLE = r"(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?"
_MARKDOWN = re.compile(rf"(?<!\\)(!?){_SHOWN}\([ \t]*{_PATH}{_TITLE}[ \t]*\)")
_REFERENCE = re.compile(r"^ {0,3}\[(?!\^)[^\]\n]+\]:[ \t]*<?([^\s<>]+)>?", re.MULTILINE)
_AUTOLINK = re.compile(r"<(https?://[^\s<>]+)>", re.IGNORECASE)
_ANCHOR = re.compile(r"<a\s[^<>]*?href\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)')", re.IGNORECASE)
_ROLE = re.compile(r":([a-z]+):`(?:[^`<>]*<)?([^`<>]+)>?`")
_HYPERLINK = re.compile(r"(?<![:`\w])`[^`<>]*<([^`<>]+)>`__?")
_PAPERS = ("pep", "rfc")


def find_links(text: str) -> tuple[Link, ...]:
    """Return the links of a text by their places; those in code and comments are left out.

    Wiki links ([[page#heading|shown]]), Markdown's ([shown](path), references, <http://…>), HTML's
    <a href> and reStructuredText's (`shown <path>`_, :doc:`path`, :pep:`8`, :rfc:`2119`). What is
    embedded (![…]) has the type embed. Takes time in proportion to the text.
    """
    if not any(mark in text for mark in "[<`"):
        return ()
    found = [link for start, prose in _prose(text) for link in _links_in(prose, start)]
    by_place = sorted(found, key=lambda link: link.offset)
    return tuple(link for link in by_place if 0 < len(link.target) <= _LONGEST)


def _links_in(prose: str, start: int) -> Iterator[Link]:
    """Yield the links of a part of a text that begins at `start`."""
    if "`" in prose:
        yield from _roles(prose, start)  # whose back quotes are no code
        prose = _INLINE_CODE.sub(_blank, prose)
    for match in _matches(_WIKI, "[[", prose):
        yield Link(start + match.start(), match.group(2).strip(), "wiki", _type(match))
    for match in _matches(_MARKDOWN, "](", prose):
        target = match.group("angled") if match.group("bare") is None else match.group("bare")
        target = re.sub(r"\\(.)", r"\1", target)
        yield Link(start + match.start(), target, "path", _type(match))
    for pattern, mark in ((_REFERENCE, "]:"), (_AUTOLINK, "<"), (_ANCHOR, "<")):
        for match in _matches(pattern, mark, prose):
            target = next(group for group in match.groups() if group is not None)
            yield Link(start + match.start(), target, "path")


def _matches(pattern: re.Pattern[str], mark: str, prose: str) -> Iterable[re.Match[str]]:
    """Find a pattern in texts that have its mark; in others, even to look takes time."""
    return pattern.finditer(prose) if mark in prose else ()


def _type(match: re.Match[str]) -> str:
    return "embed" if match.group(1) else "link"


def _roles(prose: str, start: int) -> Iterator[Link]:
    for match in _ROLE.finditer(prose):
        role, target = match.group(1), match.group(2).partition("#")[0].strip()
        if role in _PAPERS and target.isdecimal():
            yield Link(start + match.start(), f"{role} {target}", "name")
        elif role == "doc" and target:
            yield Link(start + match.start(), target, "path")
    for match in _HYPERLINK.finditer(prose):
        yield Link(start + match.start(), match.group(1), "path")


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """Yield the text with fenced code and comments blanked out, and where it begins.

    A large text comes in parts, so that it is not in memory several times. Each part ends at an
    empty line that is in no fence or comment. Tildes below a line of text are a heading in
    reStructuredText.
    """
    lines: list[str] = []
    start = size = 0
    enough = _PART_CHARACTERS
    fence = ""
    after_blank = True
    for line in _lines(text):
        match = _FENCE.match(line)
        is_code = bool(fence)
        if fence:
            if match and match.group(1).startswith(fence) and not match.group(2).strip():
                fence = ""
        elif match and (after_blank or match.group(1)[0] == "`") and "`" not in match.group(2):
            fence = match.group(1)
            is_code = True
        lines.append(" " * len(line) if is_code else line)
        size += len(line) + 1
        after_blank = not line.strip()
        if size >= enough and not line and not fence:
            prose = _without_all_comments("\n".join([*lines, ""]))
            if "<!--" in prose or "%%" in prose:  # a comment may go on
                enough = 2 * size
            else:
                yield start, prose
                start, size, lines, enough = start + size, 0, [], _PART_CHARACTERS
    yield start, _without_all_comments("\n".join(lines))


def _lines(text: str) -> Iterator[str]:
    """Yield text.split("\\n"), one after another."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def _without_all_comments(prose: str) -> str:
    return _without_comments(_without_comments(prose, "<!--", "-->"), "%%", "%%")


def _without_comments(text: str, opening: str, closing: str) -> str:
    """Blank out what stands between two marks, where both are there."""
    parts = []
    start = 0
    while (begin := text.find(opening, start)) >= 0:
        end = text.find(closing, begin + len(opening))
        if end < 0:
            break
        end += len(closing)
        parts += [text[start:begin], _spaces(text[begin:end])]
        start = end
    return "".join([*parts, text[start:]])


def _blank(match: re.Match[str]) -> str:
    return _spaces(match.group())


def _spaces(text: str) -> str:
    """Put spaces in place of what is left out, so that offsets and lines stay."""
    return re.sub(r"[^\n]", " ", text)
