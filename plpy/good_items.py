"""The candidates that are good enough."""

from collections.abc import Mapping, Sequence
from typing import Any


def good_items(
    items: Sequence[int],
    scores: Sequence[float],
    relevances: Sequence[float | None],
    settings: Mapping[str, Any],
) -> tuple[list[int], dict[int, dict[str, Any]]]:
    """Return the items that reach min_score and min_relevance, and why the others do not.

    `scores` and `relevances` are those of the items; one without a relevance reaches none.
    """
    least, relevant = settings["min_score"], settings["min_relevance"]
    kept = []
    dropped: dict[int, dict[str, Any]] = {}
    for item, score, relevance in zip(items, scores, relevances, strict=True):
        if score < least:
            dropped[item] = {"stage": "page", "reason": "min_score"}
        elif relevant is not None and (relevance is None or relevance < relevant):
            dropped[item] = {"stage": "page", "reason": "min_relevance"}
        else:
            kept.append(item)
    return kept, dropped
