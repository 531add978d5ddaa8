"""Lists of arms, and settings, as the stages that fuse them take them."""

from typing import Any

from pgblend.plpy.base.catalog import SearchSettings, defaults
from pgblend.plpy.base.ports import CandidateList, Passage
from pgblend.plpy.search.candidates import ArmList


def arm(name: str, weight: float, rows: dict[int, float], perfect: float | None = 10.0) -> ArmList:
    """Return the list of an arm: scores by chunk; each is the first of a document of its number."""
    ids = list(rows)
    columns = CandidateList(ids, ids, [0] * len(ids), list(rows.values()), perfect=perfect)
    return ArmList(name, name, weight, columns)


def settings_of(given: dict[str, Any]) -> SearchSettings:
    """Return search settings: what is given, as it is, and defaults."""
    known = defaults("search")
    return SearchSettings(**known | {name: given[name] for name in given if name in known})


def passage(
    chunk_id: int, content: str, start: int | None = None, end: int | None = None
) -> Passage:
    """Return a stored passage."""
    lines = None, None, None
    of_document = "{}", chunk_id * 10, "c", "k", None, ""
    return Passage(chunk_id, content, "english", start, end, *lines, *of_document, True)


def never(*_: Any) -> Any:
    """Stand for what a stage must not ask for."""
    raise AssertionError("it is not asked for")
