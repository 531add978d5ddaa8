"""Snippets without the marks of Markdown and HTML, as the search page shows them."""

import re
from collections.abc import Callable

# cli/doors/page/static/words.js has the same.
_PROGRAM = re.compile(
    r"\.(?:py|pyi|js|mjs|ts|tsx|jsx|c|h|cc|cpp|hpp|cs|go|rs|java|kt|swift|rb|php|pl|lua|r|sh|bash|sql"
    r"|ps1|css|json|ya?ml|toml|ini|conf|log|csv|tsv)$",
    re.IGNORECASE,
)
# Signs of code and escaped signs wait in Unicode's last private area, where no pattern finds them.
_PRIVATE = 0x10FE00
_SIGNS = "".join(chr(sign) for sign in range(0x21, 0x7F) if not chr(sign).isalnum())
_HIDDEN = {ord(sign): chr(_PRIVATE + ord(sign)) for sign in _SIGNS}
_SHOWN = {_PRIVATE + ord(sign): sign for sign in _SIGNS}


def _hide_code(found: re.Match[str]) -> str:
    pieces = re.split(r"(</?mark>)", found[3])
    return found[1] + "".join(
        piece if place % 2 else piece.translate(_HIDDEN) for place, piece in enumerate(pieces)
    )


_INLINE = (
    "a|abbr|b|big|cite|code|del|dfn|em|font|i|ins|kbd|mark|q|s|samp|small|span|strong|su[bp]|u|var"
    "|wbr"
)
_BLOCK = (
    "br|center|dd|details|div|dl|dt|h[1-6]|hr|img|li|ol|p|picture|pre|source|summary|table|tbody"
    "|td|tfoot|th|thead|tr|ul"
)
_INLINE_TAG, _BLOCK_TAG = (
    rf"(?i)&lt;/?(?:{names})(?:\s(?:(?!&gt;)[^<])*)?/?&gt;" for names in (_INLINE, _BLOCK)
)
_By = str | Callable[[re.Match[str]], str]
_PATTERNS: tuple[tuple[str, _By], ...] = (
    (r"(?s)(^|\s)(`{3,}|~{3,})[\w+#.-]*(\s.*?\s)\2(?=\s|$)", _hide_code),
    (r"(^|\s)(?:`{3,}|~{3,})[\w+#.-]*(?=\s|$)", r"\1"),  # one fence, with its language
    (r"(^|[^`\\])(`{1,2})(?!`)(.+?)\2(?!`)", _hide_code),
    (r"\\([!-/:-@\[-`{-~])", lambda found: found[1].translate(_HIDDEN)),
    (r"(?s)&lt;!--.*?--&gt;", ""),
    (_INLINE_TAG, ""),
    (_BLOCK_TAG, " "),
    (r"&amp;(?:nbsp|#160);", " "),
    (r"&amp;(amp|lt|gt|quot|#39);", r"&\1;"),
    (r"(?i)&lt;((?:[a-z][a-z0-9+.-]+:|[^\s&@]+@)(?:(?!&[lg]t;)\S)*)&gt;", r"\1"),  # addresses
    (r"\[\^[^\[\]\s]+\]:?", ""),  # footnotes
    (
        r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s[^()]*)?\)",
        r"\1",
    ),  # links
    (r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]+)\]\]", r"\1"),
    (r"\[([^\[\]]+)\]\[[^\[\]]*\]", r"\1"),
    (r"\|?(?:\s*:?-{2,}:?\s*\|)+(?:\s*:?-{2,}:?)?", " "),  # tables
    (r"\s*\|\s*", " "),
    (r"(^|\s)(?:#{1,6}|&gt;|[-*+]|\d+\.)(?=\s)", r"\1"),  # headings, quotations, items
    (r"(^|\s)\[[ xX]\](?=\s)", r"\1"),  # tasks
    (r"(^|\s)\[!(\w+)\](?=\s|$)", r"\1\2"),  # callouts
    (r"(^|\s):{3,}[\w-]*(?=\s|$)", r"\1"),
    (r"(^|\s)\[[^\[\]\s]+\]:\s+\S+", r"\1"),  # what links by name lead to
    (r"(^|\s)(?:={3,}|[-+]{3,}|(?:[*_-] ?){3,})(?=\s|$)", r"\1"),  # lines below headings, rules
    (r"`+|\*\*|~~", ""),
    (r"(^|\s)==(\S(?:[^=]*\S)?)==(?=[\s.,;:!?)]|$)", r"\1\2"),
    (r"(\w)~(\w{1,9})~", r"\1\2"),
    (r"(^|[\s(>])[*_]+(?=[^\s*_])", r"\1"),
    (r"([^\s*_])[*_]+(?=[\s).,;:!?<]|$)", r"\1"),
)
_MARKS = [(re.compile(pattern), by) for pattern, by in _PATTERNS]


def is_code(name: str) -> bool:
    """Tell whether a file is a program or data, whose marks are no Markdown."""
    return bool(_PROGRAM.search(name))


def without_markdown(snippet: str) -> str:
    """Return an escaped snippet without the marks of Markdown and HTML; words and hits stay."""
    for pattern, by in _MARKS:
        snippet = pattern.sub(by, snippet)
    return snippet.translate(_SHOWN)
