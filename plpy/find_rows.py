"""Find values in a sorted array."""

from typing import Any

import numpy as np


def find_rows(sorted_values: Any, values: Any) -> Any:
    """Return the places in `sorted_values` that hold one of `values`; the others are left out."""
    places = np.searchsorted(sorted_values, values)
    found = places < len(sorted_values)
    found[found] = sorted_values[places[found]] == values[found]
    return places[found]
