"""Items put in order by maximal marginal relevance."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pgblend.plpy.mmr_select import mmr_select


def diverse_items(
    items: Sequence[int],
    scores: Sequence[float],
    chunk_ids: Sequence[int],
    mmr: Mapping[str, Any],
    vectors_of: Callable[[Sequence[int]], Mapping[int, str]],
) -> list[int]:
    """Return the items in the order that MMR chooses them; `scores` are theirs.

    `mmr` is the setting, `chunk_ids` those of all items, and `vectors_of` gives vectors of chunk
    ids.
    """
    vectors = vectors_of([chunk_ids[item] for item in items[: mmr["pool"]]])
    chosen = mmr_select(
        list(scores),
        [vectors.get(chunk_ids[item]) for item in items],
        mmr["lambda"],
        mmr["pool"],
        None,
    )
    return [items[index] for index, _, _ in chosen]
