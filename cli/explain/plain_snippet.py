"""Snippets of an explained search without the marks of Markdown, as the search page shows them."""

import re

# cli/serve/page/static/words.js has the same.
_PROGRAM = re.compile(
    r"\.(?:py|pyi|js|mjs|ts|tsx|jsx|c|h|cc|cpp|hpp|cs|go|rs|java|kt|swift|rb|php|pl|lua|r|sh|bash|sql"
    r"|ps1|css|json|ya?ml|toml|ini|conf|log|csv|tsv)$",
    re.IGNORECASE,
)
_MARKS = [
    (re.compile(pattern), by)
    for pattern, by in (  # links first
        (
            r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\((?:[^()\s]|\([^()\s]*\))*(?:\s[^()]*)?\)",
            r"\1",
        ),  # links
        (r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]+)\]\]", r"\1"),
        (r"\[([^\[\]]+)\]\[[^\[\]]*\]", r"\1"),
        (r"\|?(?:\s*:?-{3,}:?\s*\|)+(?:\s*:?-{3,}:?)?", " "),  # tables
        (r"\s*\|\s*", " "),
        (r"(^|\s)(?:#{1,6}|&gt;|[-*+]|\d+\.)(?=\s)", r"\1"),  # headings, quotations, items
        (r"`+|\*\*|~~", ""),
        (r"(^|[\s(>])[*_]+(?=[^\s*_])", r"\1"),
        (r"([^\s*_])[*_]+(?=[\s).,;:!?<]|$)", r"\1"),
        (r"\\([!-/:-@\[-`{-~])", r"\1"),
    )
]


def is_code(name: str) -> bool:
    """Tell whether a file is a program or data, whose marks are no Markdown."""
    return bool(_PROGRAM.search(name))


def without_markdown(snippet: str) -> str:
    """Return an escaped snippet without the marks of Markdown; its words and hits stay."""
    for pattern, by in _MARKS:
        snippet = pattern.sub(by, snippet)
    return snippet
