"""A sample of many costly cases for the default run; the rest are slow tests."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def sampled(cases: Mapping[str, Any] | Iterable[str], every: int) -> list[ParameterSet]:
    """Return the parameters of cases by name: the first, and each `every`-th after it, are quick.

    A case of a mapping is a tuple of several values, or one value; a name alone is its own value.
    """
    named = cases.items() if isinstance(cases, Mapping) else ((case, case) for case in cases)
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            id=name,
            marks=() if place % every == 0 else pytest.mark.slow,
        )
        for place, (name, case) in enumerate(named)
    ]
