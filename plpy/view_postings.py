"""The sealed postings of a query's terms."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pgblend.plpy.read_postings import read_postings

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
        found = read_postings(view, missing, run)
        kept.update(found)
        postings = sum(len(rows) for rows, _ in found.values())
        view["kept_postings"] += postings + TERM_COST * len(missing)
    return [kept[term] for term in terms]
