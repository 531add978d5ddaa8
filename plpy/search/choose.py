"""Which of some candidates repeat a better one, are not good enough, or are unlike others."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from math import fsum, inf, sqrt
from operator import mul
from typing import Any, NamedTuple, TypeAlias

from pgblend.plpy.base.catalog import Mmr, SearchSettings
from pgblend.plpy.base.ports import Passage
from pgblend.plpy.base.session import Json
from pgblend.plpy.search.candidates import Fused
from pgblend.plpy.search.relevance import gains

# Maximal marginal relevance: relevant, and unlike what was chosen before.

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]


def mmr_select(
    scores: Sequence[float],
    vectors: Sequence[Any],
    relevance: float,
    pool: int,
    most: int | None,
    check_interrupts: Callable[[], object] = lambda: None,
) -> list[tuple[int, float, float | None]]:
    """Choose from the `pool` best items, one after the other, the one with the greatest objective.

    The objective is relevance · score - (1 - relevance) · the largest cosine to any item chosen
    before, which for the first is 0 (Carbonell and Goldstein 1998). Relevance is S4's lambda, 0.7,
    and its pool is 50. A vector is numbers, or text such as [1,2]; a missing one (None, or all 0)
    has similarity 0 to every other. Cosines are rounded to 12 decimals, so that no server's way of
    adding decides. Ties go to the item that comes first.

    Return (index, objective, largest cosine) of each in the order chosen. Then come the items
    outside the pool, by score, as if nothing were chosen before them. Their cosine is None, as the
    first one's. `most` cuts the list and changes nothing else. `check_interrupts` is called at each
    step; whatever it raises ends the choice.
    """
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    most = len(order) if most is None else most
    inside = sorted(order[:pool])
    units = _unit_rows([vectors[index] for index in inside], check_interrupts)
    nearest = [-1.0] * len(inside)
    waiting = list(range(len(inside)))
    chosen: list[tuple[int, float, float | None]] = []
    while waiting and len(chosen) < most:
        check_interrupts()
        objectives = [
            relevance * scores[inside[row]] - (1 - relevance) * (nearest[row] if chosen else 0.0)
            for row in waiting
        ]
        best = objectives.index(max(objectives))
        row = waiting.pop(best)
        chosen.append((inside[row], objectives[best], nearest[row] if chosen else None))
        nearest = list(map(max, nearest, _cosines(units, row)))
    outside = [(index, relevance * scores[index], None) for index in order[pool:]]
    return (chosen + outside)[:most]


def _unit_rows(vectors: Sequence[Any], check_interrupts: Callable[[], object]) -> Any:
    """Return vectors of length 1 as rows; a missing one is all 0."""
    lists = []
    for vector in vectors:
        check_interrupts()
        lists.append(json.loads(vector) if isinstance(vector, str) else vector)
    zero = [0.0] * max((len(vector) for vector in lists if vector is not None), default=0)
    if np is not None and lists:
        rows = np.array([zero if vector is None else vector for vector in lists], np.float64)
        lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
        return rows / np.where(lengths > 0, lengths, 1)
    return [_unit(zero if vector is None else vector) for vector in lists]


def _unit(vector: Sequence[float]) -> list[float]:
    length = sqrt(fsum(map(mul, vector, vector))) or 1.0
    return [value / length for value in vector]


def _cosines(units: Any, row: int) -> list[float]:
    """Return the cosine of a row to every row."""
    if np is not None:
        return [round(value, 12) for value in (units @ units[row]).tolist()]
    return [round(fsum(map(mul, unit, units[row])), 12) for unit in units]


def diverse_items(
    items: Sequence[int],
    scores: Sequence[float],
    chunk_ids: Sequence[int],
    mmr: Mmr,
    vectors_of: Callable[[Sequence[int]], Mapping[int, str]],
) -> list[int]:
    """Return the items in the order that MMR chooses them; `scores` are theirs.

    `mmr` is the setting, `chunk_ids` those of all items, and `vectors_of` gives vectors of chunk
    ids.
    """
    vectors = vectors_of([chunk_ids[item] for item in items[: mmr["pool"]]])
    own = [vectors.get(chunk_ids[item]) for item in items]
    chosen = mmr_select(list(scores), own, mmr["lambda"], mmr["pool"], None)
    return [items[index] for index, _, _ in chosen]


# Items of a ranked list that repeat a better one.

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


Repeated = tuple[int, str, float | None]  # index of the kept one, reason, similarity or share


class Repeatable(NamedTuple):
    """What items have in which they may repeat each other; spans are those in their documents.

    None for a list, or for an item in it, leaves the check out.
    """

    hashes: Sequence[str | None] | None = None
    document_ids: Sequence[int | None] | None = None
    starts: Sequence[int | None] | None = None
    ends: Sequence[int | None] | None = None


def drop_duplicates(
    items: Repeatable,
    near: tuple[Callable[[int], tuple[int, float] | None], Callable[[int], None]] | None,
    overlap: float,
    per_document: int | None,
    n: int,
) -> list[Repeated | None]:
    """Return for each of n items, best first, why it is dropped, None where it is kept.

    Each item is compared with the kept ones before it, in this order of reasons:
    - content: the same hash.
    - overlap: of one document, and what their spans [start, end) share is at least
      `overlap` of the shorter one.
    - similar: `near`, as near_duplicates returns it.
    - per_document: the document has that many kept items (its first one is named).
    A check without its list, or without an item's part of it, is left out.
    """
    hashes, document_ids, starts, ends = items
    by_hash: dict[str, int] = {}
    of_document: dict[int, list[int]] = defaultdict(list)
    result: list[Repeated | None] = []
    for index in range(n):
        content = hashes[index] if hashes else None
        document = document_ids[index] if document_ids else None
        siblings = [] if document is None else of_document[document]
        dropped: Repeated | None = None
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
) -> Repeated | None:
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


TextsOf: TypeAlias = Callable[[Sequence[int]], Mapping[int, Passage]]
Dropped: TypeAlias = dict[int, dict[str, Json]]  # by item: at which stage and why


def distinct_items(
    items: Sequence[int], pool: Fused, settings: SearchSettings, texts_of: TextsOf
) -> tuple[list[int], Dropped]:
    """Return those of the items, best first, that the settings dedup and per_document leave.

    And why each other one is dropped. `texts_of` gives passages by chunk ids. Without text, titles
    tell passages apart: such passages do not repeat each other.
    """
    kind, most = settings.dedup, settings.per_document
    if kind == "off" and most is None:
        return list(items), {}
    ids = pool.ids(items)
    texts = texts_of(ids) if kind != "off" else {}
    passages = [texts.get(chunk_id) for chunk_id in ids]
    spans = kind in ("overlap", "near")
    contents = [passage.content if passage else None for passage in passages]
    if not spans and most is None and len(set(contents)) == len(contents):
        return list(items), {}
    repeats = drop_duplicates(
        Repeatable(
            [text if text and text.strip() else None for text in contents],
            [pool.document_ids[item] for item in items],
            [passage.start_offset if passage else None for passage in passages] if spans else None,
            [passage.end_offset if passage else None for passage in passages] if spans else None,
        ),
        near_duplicates(contents, settings.dedup_similarity) if kind == "near" else None,
        settings.dedup_overlap,
        most,
        len(items),
    )
    dropped: Dropped = {
        item: {
            "stage": "dedup",
            "reason": repeat[1],
            "likeness": repeat[2],
            "duplicate_of": ids[repeat[0]],
        }
        for item, repeat in zip(items, repeats, strict=True)
        if repeat is not None
    }
    return [item for item in items if item not in dropped], dropped


def all_repeat(
    contents: Sequence[str | None], kept: Sequence[str | None], settings: SearchSettings
) -> bool:
    """Tell whether each text is one of those kept, or by the setting dedup near to one."""
    known = {text for text in kept if text and text.strip()}
    rest = [text for text in contents if text not in known]
    if not rest or settings.dedup != "near":
        return not rest
    find, keep = near_duplicates([*known, *rest], settings.dedup_similarity)
    for index in range(len(known)):
        keep(index)
    return all(find(len(known) + place) for place in range(len(rest)))


def good_items(
    items: Sequence[int],
    scores: Sequence[float],
    relevances: Sequence[float | None],
    settings: SearchSettings,
    least_gain: float | None = None,
) -> tuple[list[int], Dropped]:
    """Return the items that reach min_score, min_relevance and a gain, and why the others do not.

    `scores` and `relevances` are those of the items; one without a relevance reaches none. Gains
    are those of probabilities.
    """
    least, relevant = settings.min_score, settings.min_relevance
    kept = []
    dropped: Dropped = {}
    of_items = repeat(inf) if least_gain is None else gains([one or 0.0 for one in relevances])
    for item, score, relevance, gain in zip(items, scores, relevances, of_items, strict=False):
        if gain < (least_gain or 0.0):
            dropped[item] = {"stage": "page", "reason": "coverage"}
        elif score < least:
            dropped[item] = {"stage": "page", "reason": "min_score"}
        elif relevant is not None and (relevance is None or relevance < relevant):
            dropped[item] = {"stage": "page", "reason": "min_relevance"}
        else:
            kept.append(item)
    return kept, dropped
