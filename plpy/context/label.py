"""Where a part of a context comes from, in short."""

from collections.abc import Mapping
from typing import Any


def passage_label(part: Mapping[str, Any]) -> str:
    """Return 'docs/deploy.md:10-20, p. 3-4': URI or source key, lines, pages, as far as known."""
    label = " ".join(str(part["uri"] or part["source_key"]).split())
    if part["spans"]:
        start, end = part["spans"][0]
        label += f":{start}" if start == end else f":{start}-{end}"
    pages = part["pages"]
    if pages:
        label += f", p. {pages[0]}" + (f"-{pages[-1]}" if len(pages) > 1 else "")
    return label
