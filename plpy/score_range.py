"""The scores that an arm can give."""

from collections.abc import Mapping
from typing import Any


def score_range(of_list: Mapping[str, Any]) -> tuple[float, float]:
    """Return the lowest and highest possible score of a list: of cosines, or of BM25."""
    return (-1.0, 1.0) if of_list["by_vector"] else (0.0, of_list["perfect"] or 1.0)
