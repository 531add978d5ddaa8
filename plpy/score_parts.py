"""What a candidate's score is made of."""

from collections.abc import Mapping


def score_parts(of_sum: Mapping[str, float], shares: Mapping[str, float]) -> dict[str, float]:
    """Return {name: part}, without those of 0; the parts add up to the score.

    `shares` are the addends of the score: `fused`, and where it was reranked `rerank` and
    `position` (blend_addends). The fused share is given out in proportion to `of_sum`, the item's
    fused_parts; where those add up to 0 it stays whole.
    """
    total, fused = sum(of_sum.values()), shares["fused"]
    parts = {name: part * fused / total for name, part in of_sum.items()} if total else {}
    parts |= {name: share for name, share in shares.items() if total == 0 or name != "fused"}
    return {name: part for name, part in parts.items() if part}
