"""A context as Markdown with citations."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pgblend.plpy.markdown_heading import markdown_heading

FENCE = re.compile(r"^`{3,}", re.MULTILINE)


def context_markdown(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return the parts under headings with their numbers and places; code is fenced."""
    return "\n\n".join(f"{markdown_heading(part)}\n\n{_body(part)}" for part in parts)


def _body(part: Mapping[str, Any]) -> str:
    text = str(part["text"])
    if part["kind"] != "code":
        return text
    longest = max((len(fence) for fence in FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"
