"""What would bring a document up that stands below the page."""

from collections.abc import Mapping
from typing import Any

_WEIGHED = {"lexical": "by words", "vector": "by vectors"}


def diagnose_lift(best: Mapping[str, Any], facts: Mapping[str, Any], end: int) -> list[str]:
    """Return sentences that say what would move a passage towards the first `end` places.

    `best` is a candidate with its `places` and `facts` is what _search_facts gathers. Named are
    stages that moved it off the page, arms that have it on the page, words that it lacks, and a
    vector that it waits for; none where nothing of that holds.
    """
    arms, places = facts["arms"], best["places"]
    stages = [
        ("blend", "Leave out reranking, or give it less weight in blend"),
        ("mmr", "Raise mmr.lambda"),
    ]
    lifts = []
    for stage, advice in stages:
        before = _place_before(stage, places)
        if before is not None and before <= end < places[stage]:
            lifts.append(f"{advice}: its place was {before} before.")
    for name, by in _WEIGHED.items():
        rank = arms.get(name, {}).get("rank")
        if rank is not None and rank <= end and _others_ran(name, arms):
            lifts.append(f"Raise weights.{name}: its rank {by} is {rank}.")
    lacking = arms.get("lexical", {}).get("lacking")
    if lacking:
        words = ", ".join(f'"{word}"' for word in lacking)
        lifts.append(f"Words of the query that it lacks would bring it up: {words}.")
    if arms.get("vector", {}).get("waiting"):
        lifts.append("It has no vector yet, which would bring it up.")
    return lifts


def _place_before(stage: str, places: Mapping[str, int]) -> int | None:
    """Return the place that it had when the stage began; None where the stage did not run."""
    if stage not in places:
        return None
    earlier = ("blend",) if stage == "mmr" else ()
    return next((places[name] for name in (*earlier, "dedup", "fuse") if name in places), None)


def _others_ran(name: str, arms: Mapping[str, Any]) -> bool:
    """Tell whether the arm's weight counts against that of another."""
    return any(arm.get("ran") for other, arm in arms.items() if other != name)
