"""What a search did, for those who ask."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pgblend.plpy.fused_parts import fused_parts
from pgblend.plpy.trace_candidates import trace_candidates


def search_trace(
    page: Sequence[int],
    lists: Sequence[Mapping[str, Any]],
    fused: Mapping[str, Any],
    final: tuple[Sequence[float], Mapping[int, Mapping[str, float]]],
    rrf_k: float,
    places: Mapping[str, Sequence[int]],
    arms_of: Callable[[Sequence[int]], Sequence[Mapping[str, dict[str, Any]]]],
    pool_facts: tuple[Mapping[int, float | None], Mapping[int, Mapping[str, Any]]] | None,
) -> dict[str, Any]:
    """Return {rows} of a page's items and, with `pool_facts`, {candidates} of the whole pool.

    `fused` is what fuse_lists returns, and `final` the scores at the end with the addends of those
    that were reranked (blended_order); `places` has the items of each stage in their order, and
    `arms_of` gives what arms and reranker say of items (candidate_arms). `pool_facts` are
    relevances by chunk id, and by item at which stage and why it was dropped.
    """
    parts = fused_parts(lists, fused, rrf_k)
    weights = {one["arm"]: weight for one, weight in zip(lists, fused["weights"], strict=True)}
    points, addends = final

    def told(items: Sequence[int]) -> list[dict[str, Any]]:
        return trace_candidates(
            items, arms_of(items), weights, parts, (fused["points"], points), addends, places
        )

    trace: dict[str, Any] = {"rows": told(page)}
    if pool_facts is not None:
        relevances, dropped = pool_facts
        trace["candidates"] = [
            {
                "chunk_id": fused["chunk_ids"][item],
                "document_id": fused["document_ids"][item],
                "chunk_index": fused["chunk_indexes"][item],
                "score": points[item],
                "relevance": relevances.get(fused["chunk_ids"][item]),
                **({"dropped": dropped[item]} if item in dropped else {}),
                **row,
            }
            for item, row in zip(fused["order"], told(fused["order"]), strict=True)
        ]
    return trace
