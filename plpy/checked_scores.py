"""The scores that a reranker gives."""

from collections.abc import Mapping
from typing import Any

from pgblend.plpy.mask_secrets import mask_secrets


def checked_scores(answer: Mapping[str, Any], count: int) -> list[float] | str:
    """Return a score in [0, 1] for each of `count` texts, or what is wrong with the answer.

    `answer` is {"results": [{"index", "relevance_score"}, …]}, in any order. The gateway has
    brought scores to [0, 1]; nothing is squeezed here once more.
    """
    results = answer.get("results")
    if not isinstance(results, list) or not all(isinstance(one, Mapping) for one in results):
        return "the gateway's answer has no results"
    scores: dict[int, float] = {}
    for one in results:
        index, score = one.get("index"), one.get("relevance_score")
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < count:
            shown = mask_secrets(repr(index))
            return f"the gateway's answer has a score for text {shown:.50} of {count}"
        if isinstance(score, bool) or not isinstance(score, int | float) or not is_finite(score):
            return f"the gateway's answer has {mask_secrets(repr(score)):.50} for a score"
        if not 0 <= score <= 1:
            return f"the gateway's answer has a score of {score:.6g}: expected 0 to 1"
        if index in scores:
            return f"the gateway's answer has two scores for text {index}"
        scores[index] = float(score)
    if len(scores) != count:
        return f"the gateway gave {len(scores)} scores for {count} texts"
    return [scores[index] for index in range(count)]


def is_finite(score: float) -> bool:
    """Tell whether a float can hold a number: a whole one of JSON may have thousands of digits."""
    return abs(score) <= 1e308
