"""What a search found."""

from dataclasses import dataclass, field
from typing import TypedDict

from pgblend.plpy.search.page import Page
from pgblend.plpy.search.passages import StoredPassages
from pgblend.plpy.search.pool import Pool, Ranking
from pgblend.plpy.search.rows import Row


@dataclass(eq=False, repr=False)
class Found:
    """The rows of a page, and how they came to be; without a query nothing was looked for.

    `candidate_count` is None where the words were out of time; `by_vector`: vectors stand in for
    words that are nowhere.
    """

    pool: Pool
    page: Page
    ranking: Ranking | None
    stored: StoredPassages
    rows: list[Row] = field(default_factory=list)
    candidate_count: int | None = 0
    by_vector: bool = False


class Answer(TypedDict):
    """The columns of _run_search; trace and report are JSON."""

    results: list[Row]
    trace: str | None
    report: str | None
