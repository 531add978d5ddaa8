"""How a chunk goes on from the one before it."""

from collections.abc import Mapping
from typing import Any


def chunk_join(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> tuple[int, str] | None:
    """Return where `later` goes on after the end of `earlier`, and what stands between them.

    Both are chunks of one document in its order, with content, chunk_index, own_start,
    start_offset, end_offset, start_line, end_line; offsets and lines may be None. The first value
    is the character of later's content from which on nothing repeats `earlier`; the second is the
    white space between, made up from their lines where no chunk has it. None where text is missing
    between them.
    """
    follows = later["chunk_index"] == earlier["chunk_index"] + 1
    spans = [
        chunk["end_offset"] - chunk["start_offset"] == len(chunk["content"])
        if None not in (chunk["start_offset"], chunk["end_offset"])
        else False
        for chunk in (earlier, later)
    ]
    shared = earlier["end_offset"] - later["start_offset"] if all(spans) else -1
    own_start = later["own_start"] if follows else 0
    if shared >= own_start:
        return min(shared, len(later["content"])), ""
    if not follows:
        return None
    if own_start:
        head = later["content"][:own_start]
        return own_start, head[len(head.rstrip()) :]
    if None in (earlier["end_line"], later["start_line"]):
        return 0, "\n\n"
    lines = later["start_line"] - earlier["end_line"]
    return 0, "\n" * min(lines, 2) if lines > 0 else " "
