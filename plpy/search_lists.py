"""The lists that a search's arms give."""

from collections.abc import Callable, Mapping
from typing import Any

from pgblend.plpy.note_corrections import note_corrections


def search_lists(
    settings: Mapping[str, Any],
    has_vector: bool,
    search: Callable[[str], dict[str, Any]],
    done: Callable[..., None],
    skip: Callable[[str, str], None],
) -> list[dict[str, Any]]:
    """Return the lists of the arms that run, one each, those of words first.

    `search` gives the list of an arm (arm_list). An arm of weight 0 does not run, nor the vector
    arm without a vector, nor the fuzzy arm by the setting fuzzy (off, or auto with the words' arm
    not running). A fuzzy arm that finds nothing to put right gives no list: a passage cannot be
    missing there. Where it did, it has all that the words' arm has and more, which then only breaks
    ties, by an eighth of its weight.
    """
    weights = settings["weights"]
    lists = []
    skipped = {
        "lexical": weights["lexical"] == 0 and "its weight is 0",
        "vector": (weights["vector"] == 0 and "its weight is 0")
        or (not has_vector and "the query has no vector"),
        "fuzzy": (weights["fuzzy"] == 0 and "its weight is 0")
        or (
            (settings["fuzzy"] == "off" or (settings["fuzzy"] == "auto" and not weights["lexical"]))
            and "by the setting fuzzy"
        ),
    }
    for arm, reason in skipped.items():
        if reason:
            skip(arm, reason)
            continue
        found = search(arm)
        done(arm, len(found["ranks"]))
        if arm != "fuzzy" or found["ranks"]:
            lists.append(found)
        if arm == "fuzzy" and note_corrections(found, settings["fuzzy_method"]):
            for of_list in lists:
                if of_list["arm"] == "lexical":
                    of_list["weight"] /= 8
    return lists
