"""What postings add to a score, before the weights of terms."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def term_impacts(
    impacts: dict[int, Any],
    terms: Sequence[int],
    postings: Sequence[tuple[Any, Any]],
    norms: Any,
    frequencies: Any,
) -> list[Any]:
    """Return for each term its postings' tf / (tf + norm) in single precision.

    `impacts` keeps them by term. `frequencies` has a tf for each code, `norms` the norm of each
    row; a norm that is infinite gives 0, and so does a tf of 0.
    """
    missing = [place for place, term in enumerate(terms) if term not in impacts]
    if missing:
        rows, codes = (
            np.concatenate([postings[place][part] for place in missing]) for part in (0, 1)
        )
        tf = frequencies.astype(np.float32)[codes]
        values = norms[rows]
        values += tf
        if not frequencies.all():  # words that stand only in fields of weight 0
            values[tf == 0] = 1
        np.divide(tf, values, out=values)
        ends = np.cumsum([len(postings[place][0]) for place in missing])[:-1]
        for place, part in zip(missing, np.split(values, ends), strict=True):
            impacts[terms[place]] = part
    return [impacts[term] for term in terms]
