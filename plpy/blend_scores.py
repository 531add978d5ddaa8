"""Fused scores and rerankers' scores blended by position."""

from collections.abc import Mapping, Sequence
from typing import Any

from pgblend.plpy.blend_addends import blend_addends


def blend_scores(
    fused: Sequence[float],
    rerank: Sequence[float | None],
    blend: Mapping[str, Any],
    ranks: Sequence[int] | None = None,
    n: int | None = None,
) -> list[float]:
    """Return the blended score of each item.

    `ranks` are the fused ranks, by default the places in the order given (best fused score first);
    `n` is how many items were reranked, by default those of them here. Kinds:
    - tiers: of `tiers`, [{max_rank, fused, rerank}] by rising max_rank (None or missing: to the
      end), the first that reaches the rank, or else the last, gives the weights (S0, S1: .75/.25 to
      rank 3, .60/.40 to rank 10, .40/.60 beyond).
    - position: weights `rerank`, `fused` and `position` (S2: .5, .3, .2) of the two scores and of
      1 - (rank - 1) / n.
    The score is the weighted mean, which is the weighted sum where the weights add up to 1.

    An item that was not reranked (None) has its fused score times the lowest blended one: fused
    scores in [0, 1] stay in their order and below what the reranker saw. Where it saw none, fused
    scores stay as they are.
    """
    ranks = range(1, len(fused) + 1) if ranks is None else ranks
    n = sum(score is not None for score in rerank) if n is None else n
    blended = [
        None if other is None else _total(blend_addends(score, other, rank, n, blend))
        for score, other, rank in zip(fused, rerank, ranks, strict=True)
    ]
    floor = min((score for score in blended if score is not None), default=1.0)
    return [
        score * floor if total is None else total
        for score, total in zip(fused, blended, strict=True)
    ]


def _total(addends: Mapping[str, float]) -> float:
    return addends["fused"] + addends["rerank"] + addends["position"]
