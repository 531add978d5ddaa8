"""The heading of a part of a context in Markdown."""

import re
from collections.abc import Mapping
from typing import Any

from pgblend.plpy.passage_label import passage_label

MARKUP = re.compile(r"([\\`*_\[\]<>#|])")


def markdown_heading(part: Mapping[str, Any]) -> str:
    """Return '### [1] Title (docs/deploy.md:10-20)'."""
    title = " ".join(str(part["title"]).split())
    place = passage_label(part)
    shown = f"{title} ({place})" if title and title != place else place
    return f"### [{part['citation']}] {MARKUP.sub(_escape_markup, shown)}"


def _escape_markup(match: re.Match[str]) -> str:
    return "\\" + match.group()
