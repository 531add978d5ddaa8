"""What each arm says of one candidate."""

from collections.abc import Mapping, Sequence
from typing import Any


def candidate_arms(
    item: int,
    lists: Sequence[Mapping[str, Any]],
    ranks: Sequence[Sequence[int | None]],
    scores: Sequence[Sequence[float | None]],
) -> dict[str, dict[str, Any]]:
    """Return {arm: {rank, score}} of the arms that found it; an arm's `notes` of the rank as well.

    `ranks[list][item]` and `scores[list][item]` as merge_lists gives them; `lists` have `arm`, and
    may have `notes`, {rank: {name: value}}.
    """
    return {
        of_list["arm"]: {
            "rank": of_ranks[item],
            "score": of_scores[item],
            **of_list.get("notes", {}).get(of_ranks[item], {}),
        }
        for of_list, of_ranks, of_scores in zip(lists, ranks, scores, strict=True)
        if of_ranks[item] is not None
    }
