"""Items of a ranked list that repeat a better one."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

Match = tuple[int, float]  # index and similarity
# A word, or one character of a script that puts no spaces between words (Thai, Lao, Burmese,
# Khmer, kana, Han, Hangul).
_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
)
_WORD = f"[{_SPACELESS}]|[^\\W{_SPACELESS}]+"  # compiled where it is used: 2 ms


def near_duplicates(
    contents: Sequence[str | None], similarity: float
) -> tuple[Callable[[int], Match | None], Callable[[int], None]]:
    """Return `find(index)` and `keep(index)` for texts whose shingles are alike.

    `find` gives the first kept text whose Jaccard index with this one is at least `similarity`
    (above 0), and that index. It is that of the sets of their runs of three words (Broder 1997). A
    text without a word is like no other. Exact, by prefix filtering (Bayardo, Ma and Srikant 2007):
    two similar sets share one of their rarest members, so only those are looked up.
    """
    sets = [_shingles(content or "") for content in contents]
    frequency = Counter(shingle for of_text in sets for shingle in of_text)
    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)  # kept texts by rare shingles

    def rarest(index: int) -> list[tuple[str, ...]]:
        shared = int(similarity * len(sets[index]) * (1 - 1e-12))  # at least so many are
        ordered = sorted(sets[index], key=lambda shingle: (frequency[shingle], shingle))
        return ordered[: len(ordered) - shared + 1]

    def find(index: int) -> Match | None:
        for other in sorted({other for shingle in rarest(index) for other in holders[shingle]}):
            shared = len(sets[index] & sets[other])
            jaccard = shared / (len(sets[index]) + len(sets[other]) - shared)
            if jaccard >= similarity:
                return other, jaccard
        return None

    def keep(index: int) -> None:
        for shingle in rarest(index):
            holders[shingle].append(index)

    return find, keep


def _shingles(text: str) -> set[tuple[str, ...]]:
    """Return every run of three words, case-folded; a shorter text is one run."""
    words = re.findall(_WORD, text.casefold())
    if len(words) < 3:
        return {tuple(words)} if words else set()
    return set(zip(words, words[1:], words[2:], strict=False))


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
