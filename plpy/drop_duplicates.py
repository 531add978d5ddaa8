"""Items of a ranked list that repeat a better one."""

from collections import defaultdict
from collections.abc import Callable, Sequence

Dropped = tuple[int, str, float | None]  # index of the kept one, reason, similarity or share


def drop_duplicates(
    hashes: Sequence[str | None] | None,
    document_ids: Sequence[int | None] | None,
    starts: Sequence[int | None] | None,
    ends: Sequence[int | None] | None,
    near: tuple[Callable[[int], tuple[int, float] | None], Callable[[int], None]] | None,
    overlap: float,
    per_document: int | None,
    n: int,
) -> list[Dropped | None]:
    """Return for each of n items, best first, why it is dropped, None where it is kept.

    Each item is compared with the kept ones before it, in this order of reasons:
    - content: the same hash.
    - overlap: of the same document, and the shared part of their spans [start, end) is at least
      `overlap` of the shorter one.
    - similar: `near`, as near_duplicates returns it.
    - per_document: the document has that many kept items (its first one is named).
    None for an array, or for an item in it, leaves the check out.
    """
    by_hash: dict[str, int] = {}
    of_document: dict[int, list[int]] = defaultdict(list)
    result: list[Dropped | None] = []
    for index in range(n):
        content = hashes[index] if hashes else None
        document = document_ids[index] if document_ids else None
        siblings = [] if document is None else of_document[document]
        dropped: Dropped | None = None
        if content is not None and content in by_hash:
            dropped = by_hash[content], "content", None
        if dropped is None and starts and ends:
            dropped = _overlapping(index, siblings, starts, ends, overlap)
        if dropped is None and near is not None and (match := near[0](index)) is not None:
            dropped = match[0], "similar", match[1]
        if dropped is None and per_document is not None and len(siblings) >= per_document:
            dropped = siblings[0], "per_document", None
        if dropped is None:
            if content is not None:
                by_hash[content] = index
            siblings.append(index)
            if near is not None:
                near[1](index)
        result.append(dropped)
    return result


def _overlapping(
    index: int,
    others: Sequence[int],
    starts: Sequence[int | None],
    ends: Sequence[int | None],
    overlap: float,
) -> Dropped | None:
    """Return the first other item whose span shares enough with this one's."""
    start, end = starts[index], ends[index]
    if start is None or end is None:
        return None
    for other in others:
        other_start, other_end = starts[other], ends[other]
        if other_start is None or other_end is None:
            continue
        shared = min(end, other_end) - max(start, other_start)
        share = shared / max(min(end - start, other_end - other_start), 1)
        if shared > 0 and share >= overlap:
            return other, "overlap", share
    return None
