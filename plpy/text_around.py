"""The text before and after a chunk."""

from collections.abc import Mapping, Sequence
from typing import Any

from pgblend.plpy.chunk_join import chunk_join

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
