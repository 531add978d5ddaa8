"""Lists of arms, and settings, as the stages that fuse them take them."""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from time import time
from typing import Any

from pgblend.plpy.base.catalog import SearchSettings, defaults
from pgblend.plpy.base.ports import CandidateList, Passage
from pgblend.plpy.base.settings import Layers
from pgblend.plpy.search.candidates import ArmList, Fused, StoredPassages
from pgblend.plpy.search.plan import Plan, State
from pgblend.plpy.search.pool import Pool, Ranking
from pgblend.plpy.search.query import Query, Request


def arm(name: str, weight: float, rows: dict[int, float], perfect: float | None = 10.0) -> ArmList:
    """Return the list of an arm: scores by chunk; each is the first of a document of its number."""
    ids = list(rows)
    columns = CandidateList(ids, ids, [0] * len(ids), list(rows.values()), perfect=perfect)
    return ArmList(name, name, weight, columns)


def settings_of(given: dict[str, Any]) -> SearchSettings:
    """Return search settings: what is given, as it is, and defaults."""
    known = defaults("search")
    return SearchSettings(**known | {name: given[name] for name in given if name in known})


def plan_of(settings: SearchSettings, **more: Any) -> Plan:
    """Return a plan by some settings, in which nothing runs that asks models."""
    plan = Plan(settings, Layers({}, {}, {}), {}, None, False, False, False, {}, "", "", 0)
    return plan._replace(**more)


def query_of(settings: SearchSettings, traced: str = "none", **more: Any) -> Query:
    """Return a search by some settings, of ten rows for wine; `more` of its plan."""
    text = None, None, None, None, None, None
    request = Request("wine", 10, *text, traced, time())  # type: ignore[arg-type]
    state = State([1], ["c"], "{}", "{}", "{}", "balanced", "ann", True, [])
    return Query(request, state, plan_of(settings, **more), settings, None, inf, 0.0, "")


class Texts(StoredPassages):
    """Passages that a function gives; nothing else is there to be read."""

    def __init__(self, texts_of: Callable[[Sequence[int]], Mapping[int, Passage]]) -> None:
        super().__init__(never)  # type: ignore[arg-type]
        self.texts = texts_of  # type: ignore[method-assign]


def pool_of(
    fused: Fused, texts_of: Callable[[Sequence[int]], Mapping[int, Passage]], **ranking: Any
) -> Pool:
    """Return a pool of fused candidates."""
    return Pool(Texts(texts_of), fused=fused, ranking=Ranking(**ranking))


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
