"""The sealed postings of a query's terms."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

MOST_POSTINGS = 1_500_000
TERM_COST = 40


def view_postings(
    view: dict[str, Any],
    terms: Sequence[int],
    run: Callable[..., Sequence[Mapping[str, Any]]],
) -> list[tuple[Any, Any]]:
    """Return for each term its (rows, codes), rows ascending; codes are places in `frequencies`.

    `run` executes (statement, types, *values). The view keeps what was read, up to about 1.5
    million postings (14 bytes each with their impacts, which go with them); a term counts as 40.
    """
    kept = view["postings"]
    missing = [term for term in dict.fromkeys(terms) if term not in kept]
    if missing:
        if view["kept_postings"] > MOST_POSTINGS:
            kept.clear()
            view["impacts"].clear()
            view["kept_postings"] = 0
            missing = list(dict.fromkeys(terms))
        stored = run(
            "SELECT * FROM pgblend._term_postings($1, $2)",
            ["bigint[]", "bigint[]"],
            view["segment_ids"],
            missing,
        )[0]
        kept.update(unpack_lists(view, missing, stored))
        view["kept_postings"] += sum(stored["counts"] or ()) + TERM_COST * len(missing)
    return [kept[term] for term in terms]


def unpack_lists(
    view: dict[str, Any], terms: Sequence[int], stored: Mapping[str, Any]
) -> dict[int, tuple[Any, Any]]:
    """Make rows and codes of the view of stored lists, and divide them among the terms.

    `stored` has, of each list by term and segment, its term, the segment's place in the view
    (`segments`, from 1) and its `counts`; and of all lists together `ordinals` and `codes`.
    """
    nothing = np.empty(0, np.intp), np.empty(0, view["code_type"])
    lists: dict[int, tuple[Any, Any]] = dict.fromkeys(terms, nothing)
    if not stored["terms"]:
        return lists
    places = [place - 1 for place in stored["segments"]]
    rows = np.frombuffer(stored["ordinals"], "<u2").astype(np.intp)
    codes = joined_codes(view, places, stored["counts"], stored["codes"])
    if len(view["segment_ids"]) > 1:
        rows += np.repeat(view["offsets"][places], stored["counts"])
        codes += np.repeat(view["code_offsets"][places], stored["counts"])
    spans: dict[int, tuple[int, int]] = {}
    end = 0
    for term, count in zip(stored["terms"], stored["counts"], strict=True):
        start = spans[term][0] if term in spans else end
        end += count
        spans[term] = start, end
    return lists | {
        term: (rows[start:end], codes[start:end]) for term, (start, end) in spans.items()
    }


def joined_codes(
    view: dict[str, Any], places: Sequence[int], counts: Sequence[int], codes: bytes
) -> Any:
    """Return the codes of lists, which have 8 or 16 bits by segment, as the view's type."""
    types = view["code_types"]
    if all(types[place] == "u1" for place in places):
        return np.frombuffer(codes, "u1").astype(view["code_type"])
    parts, start = [], 0
    for place, count in zip(places, counts, strict=True):
        parts.append(np.frombuffer(codes, types[place], count, start))
        start += parts[-1].nbytes
    return np.concatenate(parts).astype(view["code_type"])
