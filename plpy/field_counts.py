"""Frequencies by field."""

from typing import Any

import numpy as np


def field_counts(packed: Any) -> Any:
    """Return the six counts of packed frequencies: title, headings, body, and those repeated.

    They are six bytes of a number, the first the highest of 48 bits.
    """
    return packed[:, None] >> np.arange(40, -1, -8) & 255
