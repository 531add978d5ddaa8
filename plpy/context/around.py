"""How chunks follow each other, and the text before and after one."""

from collections.abc import Mapping, Sequence
from typing import Any


def chunk_join(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> tuple[int, str] | None:
    """Return where `later` goes on after the end of `earlier`, and what stands between them.

    Both are chunks of one document in its order, with content, chunk_index, own_start,
    start_offset, end_offset, start_line, end_line; offsets and lines may be None. The first value
    is the character of later's content from which on nothing repeats `earlier`. The second is the
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


# How far a cut may move to stand between words.
LONGEST_WORD = 40


def text_around(
    chunks: Sequence[Mapping[str, Any]], index: int, characters_before: int, characters_after: int
) -> tuple[str, str]:
    """Return what stands in a document before and after its chunk of that index.

    `chunks` are neighbours in order, as chunk_join takes them, the chunk itself among them. What
    its own content repeats of its neighbours is left out, and so is what lies behind a missing
    chunk. At most so many characters each, cut between words.
    """
    before = after = ""
    earlier = None
    for chunk in chunks:
        join = chunk_join(earlier, chunk) if earlier else None
        if chunk["chunk_index"] < index:
            skip, gap = join or (0, "")
            before = (before if join else "") + gap + chunk["content"][skip:]
        elif chunk["chunk_index"] == index:
            skip, gap = join or (0, "")
            before = before[: max(len(before) + len(gap) - skip, 0)] if join else ""
        elif join is None:
            break
        else:
            skip, gap = join
            after += gap + chunk["content"][skip:]
        earlier = chunk
    return _last(before.rstrip(), characters_before), _first(after.lstrip(), characters_after)


def _last(text: str, limit: int) -> str:
    """Return at most so many characters of the end, from the beginning of a word where one is."""
    start = len(text) - limit
    if start <= 0:
        return text
    if limit and not (text[start].isspace() or text[start - 1].isspace()):
        words = text[start : start + LONGEST_WORD].split(maxsplit=1)
        start += text[start:].index(words[1][0], len(words[0])) if len(words) > 1 else 0
    return text[start:].lstrip()


def _first(text: str, limit: int) -> str:
    """Return at most so many characters of the beginning, to the end of a word where one is."""
    if len(text) <= limit:
        return text
    end = limit
    if limit and not (text[end].isspace() or text[end - 1].isspace()):
        words = text[max(end - LONGEST_WORD, 0) : end].rsplit(maxsplit=1)
        end -= len(words[1]) if len(words) > 1 else 0
    return text[:end].rstrip()
