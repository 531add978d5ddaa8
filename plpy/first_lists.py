"""The lists that a query's own words give."""

from collections.abc import Callable, Mapping
from typing import Any

from pgblend.plpy.note_corrections import note_corrections

NAME_FACTOR = 3


def first_lists(
    settings: Mapping[str, Any],
    search: Callable[[str], dict[str, Any]],
    done: Callable[..., object],
    skip: Callable[[str, str], None],
) -> list[dict[str, Any]]:
    """Return the lists of the words' and the fuzzy arm, where they run.

    `search` gives the list of an arm (arm_list). An arm of weight 0 does not run, nor the fuzzy arm
    by the setting fuzzy (off, or auto with the words' arm not running, or where that tells that
    passages have every word of the query: `every_word`). A fuzzy arm that finds nothing to put
    right gives no list: a passage cannot be missing there. Where it did, it has all that the words'
    arm has and more, which then only breaks ties, by an eighth of its weight. Where the first
    passage's document is called as the query asks (`named`), both weigh three times as much:
    vectors know no names, and prefer what mentions it.
    """
    weights, fuzzy = settings["weights"], settings["fuzzy"]
    lists = []
    if weights["lexical"] > 0:
        lists.append(search("lexical"))
        lists[0]["weight"] *= NAME_FACTOR if lists[0]["named"] else 1
        done("lexical", len(lists[0]["chunk_ids"]))
    else:
        skip("lexical", "its weight is 0")
    if weights["fuzzy"] == 0 or fuzzy == "off" or (fuzzy == "auto" and not lists):
        skip("fuzzy", "its weight is 0" if weights["fuzzy"] == 0 else "by the setting fuzzy")
        return lists
    is_auto = fuzzy == "auto" and settings["fuzzy_method"] == "vocabulary"
    if is_auto and lists[0]["every_word"]:
        skip("fuzzy", "no word had to be put right")
        return lists
    corrected = search("fuzzy")
    corrected["weight"] *= NAME_FACTOR if lists and lists[0]["named"] else 1
    done("fuzzy", len(corrected["chunk_ids"]))
    if note_corrections(corrected, settings["fuzzy_method"]) and lists:
        lists[0]["weight"] /= 8
    return [*lists, corrected] if corrected["chunk_ids"] else lists
