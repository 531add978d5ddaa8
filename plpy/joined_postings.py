"""The postings of several terms in one array each."""

from collections.abc import MutableMapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np


def joined_postings(
    terms: Sequence[int],
    lists: Sequence[tuple[Any, Any]],
    kept: MutableMapping[int, Any],
    norms: Any,
    frequencies: Any,
) -> dict[str, Any]:
    """Return the lists' rows and codes, one term after the other, where each starts, and impacts.

    `lists` has of each term the (rows, codes), `frequencies` a tf for each code, `norms` the norm
    of each row. An impact is tf / (tf + norm) in single precision, 0 for an infinite norm and for a
    tf of 0; `kept` remembers them by term. The result has `rows`, ascending within a term, `codes`,
    `impacts` and `starts`, with the end of the last term at its end.
    """
    starts = [*accumulate((len(rows) for rows, _ in lists), initial=0)]
    if len(lists) == 1:
        rows, codes = lists[0]
    else:
        rows, codes = (np.concatenate(parts) for parts in zip(*lists, strict=True))
    if all(term in kept for term in terms):
        impacts = np.concatenate([kept[term] for term in terms])
    else:
        impacts = norms[rows]
        tf = frequencies.astype(np.float32)[codes]
        impacts += tf
        if not frequencies.all():  # words that stand only in fields of weight 0
            impacts[tf == 0] = 1
        np.divide(tf, impacts, out=impacts)
        for term, (start, end) in zip(terms, pairwise(starts), strict=True):
            kept[term] = impacts[start:end]
    return {"rows": rows, "codes": codes, "impacts": impacts, "starts": starts}
