"""What a search found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypedDict

from pgblend.plpy.search.lists import Gathered
from pgblend.plpy.search.page import Page
from pgblend.plpy.search.passages import StoredPassages
from pgblend.plpy.search.pool import Pool, Ranking
from pgblend.plpy.search.rows import Row
from pgblend.plpy.search.snippets import Highlights
from pgblend.plpy.search.stages import Search
from pgblend.plpy.session import Json


class Ranked(NamedTuple):
    """All candidates of a search in their order, and what they were made of.

    `found` is how many the arms and the graph found; rules pin others and hide some. `highlights`
    is what their snippets mark.
    """

    gathered: Gathered
    stored: StoredPassages
    pool: Pool
    ranking: Ranking
    found: int
    highlights: Highlights


@dataclass(eq=False, repr=False)
class Found:
    """The rows of a page, and how they came to be; without a query nothing was looked for.

    `candidate_count` is None where the words were out of time; `by_vector`: vectors stand in for
    words that are nowhere. Of an `experiment` {id, profile, rival}, `sides` are the searches by
    both profiles and what each found, and `drafted` is what details say of chunk ids.
    """

    pool: Pool
    page: Page
    ranking: Ranking | None
    stored: StoredPassages
    rows: list[Row] = field(default_factory=list)
    candidate_count: int | None = 0
    by_vector: bool = False
    experiment: Mapping[str, Json] = field(default_factory=dict)
    sides: "Sequence[tuple[Search, Found]]" = ()
    drafted: Mapping[int, dict[str, Json]] = field(default_factory=dict)


class Answer(TypedDict):
    """The columns of _run_search; trace and report are JSON."""

    results: list[Row]
    trace: str | None
    report: str | None
