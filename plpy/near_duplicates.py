"""Texts that say almost the same."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

Match = tuple[int, float]  # index and similarity

# A word, or one character of a script that puts no spaces between words (Thai, Lao, Burmese,
# Khmer, kana, Han, Hangul).
_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
)
_WORD = re.compile(f"[{_SPACELESS}]|[^\\W{_SPACELESS}]+")


def near_duplicates(
    contents: Sequence[str | None], similarity: float
) -> tuple[Callable[[int], Match | None], Callable[[int], None]]:
    """Return `find(index)` and `keep(index)` for texts whose shingles are alike.

    `find` gives the first kept text whose Jaccard index with this one, over the sets of their runs
    of three words (Broder 1997), is at least `similarity` (above 0), and that index. A text without
    a word is like no other. Exact, by prefix filtering (Bayardo, Ma and Srikant 2007): two similar
    sets share one of their rarest members, so only those are looked up.
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
    words = _WORD.findall(text.casefold())
    if len(words) < 3:
        return {tuple(words)} if words else set()
    return set(zip(words, words[1:], words[2:], strict=False))
