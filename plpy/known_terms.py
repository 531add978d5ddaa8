"""Which terms the lexical index has."""

from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

import numpy as np

PLACES_A_TERM = 4


def known_terms(opened: Mapping[str, Any], config: str, terms: Iterable[int]) -> set[int]:
    """Return those of the terms that chunks of a text search configuration have.

    `opened` is what open_index returns. Sealed chunks that were deleted count until their segment
    is written anew.
    """
    wanted = np.array([*terms], np.int64)
    view, pending = opened["view"], opened["pending"]
    found = set()
    if config in view["ranges"]:
        # Few of the guesses at a word are there: these alone are looked for, in order.
        sieve = term_sieve(view)
        likely = np.sort(wanted[sieve[wanted & len(sieve) - 1]])
        first, last = view["ranges"][config]
        for (directory, _), (start, _) in zip(view["directories"], view["bounds"], strict=True):
            if first <= start < last and len(directory):
                has = directory.take(directory.searchsorted(likely), mode="clip") == likely
                found.update(likely[has].tolist())
    if pending is not None and config in pending["ranges"]:
        first, last = pending["ranges"][config]
        chunks = pending["ordinals"]
        of_config = pending["terms"][(chunks >= first) & (chunks < last)]
        found.update(wanted[np.isin(wanted, of_config)].tolist())
    return found


def term_sieve(view: MutableMapping[str, Any]) -> Any:
    """Return whether a sealed term has these last bits, for a power of two of them; it is kept."""
    if view["sieve"] is None:
        count = PLACES_A_TERM * sum(len(terms) for terms, _ in view["directories"])
        sieve = np.zeros(1 << count.bit_length(), np.bool_)
        for terms, _ in view["directories"]:
            sieve[terms & len(sieve) - 1] = True
        view["sieve"] = sieve
    return view["sieve"]
