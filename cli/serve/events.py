"""Server-sent events."""

import json
from typing import Any


def event(content: dict[str, Any]) -> bytes:
    """Return an event with this content."""
    return b"data: " + json.dumps(content, ensure_ascii=False).encode() + b"\n\n"
