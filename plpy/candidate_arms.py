"""What each arm says of one candidate."""

from collections.abc import Mapping, Sequence
from typing import Any


def candidate_arms(
    item: int,
    lists: Sequence[Mapping[str, Any]],
    ranks: Sequence[Sequence[int | None]],
) -> dict[str, dict[str, Any]]:
    """Return {arm: {rank, score}} of the arms that found it; an arm's `notes` of the rank as well.

    `ranks[list][item]` as merge_lists gives them; `lists` have `arm` and `scores`, best first, and
    may have `notes`, {rank: {name: value}}.
    """
    return {
        of_list["arm"]: {
            "rank": rank,
            "score": of_list["scores"][rank - 1],
            **of_list.get("notes", {}).get(rank, {}),
        }
        for of_list, of_ranks in zip(lists, ranks, strict=True)
        if (rank := of_ranks[item]) is not None
    }
