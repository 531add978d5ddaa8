"""Where a page begins in the order of all candidates."""

from collections.abc import Mapping, Sequence


def page_start(
    order: Sequence[tuple[float, int, int]], after: Mapping[str, float] | None
) -> int | None:
    """Return the place, from 0, of the first row after the one that `after` names.

    `order` has (score, document id, chunk index) of all rows, best first; `after` the same three by
    name. No `after` gives 0. A row that is there is found by its document and chunk index, however
    its score may have changed; one that is not (deleted since) stands where its score would put it.
    Where rows are not in order of their scores, as after MMR, such a row has no place: None.
    """
    if not after:
        return 0
    key = (after["document_id"], after["chunk_index"])
    for place, (_, document_id, chunk_index) in enumerate(order):
        if (document_id, chunk_index) == key:
            return place + 1
    ranked = [(-score, document_id, chunk_index) for score, document_id, chunk_index in order]
    if ranked != sorted(ranked):
        return None
    return sum(row < (-after["score"], *key) for row in ranked)
