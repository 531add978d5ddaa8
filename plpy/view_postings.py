"""The sealed postings of a query's terms."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

MOST_POSTINGS = 1_000_000


def view_postings(
    view: dict[str, Any],
    terms: Sequence[int],
    fetch: Callable[[list[int]], Iterable[Mapping[str, Any]]],
) -> list[tuple[Any, Any]]:
    """Return for each term its (rows, codes), rows ascending; codes are places in `frequencies`.

    `fetch` reads the stored lists of terms: segment_id, term, ordinals and codes. The view keeps
    what was read, up to about a million postings (16 bytes each).
    """
    kept = view["postings"]
    if sum(len(rows) for rows, _ in kept.values()) > MOST_POSTINGS:
        kept.clear()
    missing = [term for term in dict.fromkeys(terms) if term not in kept]
    if missing:
        kept.update(zip(missing, unpack_lists(view, missing, fetch(missing)), strict=True))
    return [kept[term] for term in terms]


def unpack_lists(
    view: dict[str, Any], terms: Sequence[int], stored: Iterable[Mapping[str, Any]]
) -> list[tuple[Any, Any]]:
    """Join each term's lists over the segments and make their ordinals rows of the view."""
    place = {term: index for index, term in enumerate(terms)}
    lists = sorted(stored, key=lambda row: (place[row["term"]], view["offsets"][row["segment_id"]]))
    counts = [len(row["ordinals"]) // 2 for row in lists]
    rows = np.frombuffer(b"".join([row["ordinals"] for row in lists]), "<u2").astype(np.intp)
    rows += np.repeat([view["offsets"][row["segment_id"]] for row in lists], counts).astype(np.intp)
    codes = join_codes(view, lists)
    codes += np.repeat([view["code_offsets"][row["segment_id"]] for row in lists], counts).astype(
        np.intp
    )
    totals = np.zeros(len(terms), np.intp)
    np.add.at(totals, [place[row["term"]] for row in lists], counts)
    ends = np.cumsum(totals)[:-1]
    return list(zip(np.split(rows, ends), np.split(codes, ends), strict=True))


def join_codes(view: dict[str, Any], lists: Sequence[Mapping[str, Any]]) -> Any:
    """Concatenate the codes of posting lists, which have 8 or 16 bits."""
    types = view["code_types"]
    if all(types[row["segment_id"]] == "u1" for row in lists):
        return np.frombuffer(b"".join([row["codes"] for row in lists]), "u1").astype(np.intp)
    return np.concatenate(
        [np.frombuffer(row["codes"], types[row["segment_id"]]).astype(np.intp) for row in lists]
    )
