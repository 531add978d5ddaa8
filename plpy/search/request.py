"""What a search is asked, and how often it was tried."""

import json
from collections.abc import Sequence
from typing import NamedTuple


class Tries(NamedTuple):
    """How often a search was begun, for whom the lexical index was not there.

    `attempts` counts this one; `problem` is the SQLSTATE of what was in the way last, `status` what
    the index was then (error, building, uninitialized). `waits` are the pauses that are left,
    `pause_s` the one before this attempt.
    """

    attempts: int = 1
    problem: str | None = None
    status: str | None = None
    waits: Sequence[float] = (0.05, 0.1)
    pause_s: float = 0.0
    looked_again: bool = False

    @classmethod
    def read(cls, text: str | None) -> "Tries":
        """Return what a JSON text of `write` says; None is the first attempt."""
        return cls(**json.loads(text)) if text else cls()

    def write(self) -> str:
        """Return this as JSON."""
        return json.dumps(self._asdict())


class Request(NamedTuple):
    """What _run_search is called with; JSON and vectors are texts, times seconds since 1970.

    `only_arm` is lexical, vector, fuzzy or None, `traced` none, page, pool, facets or rerank.
    Nothing in it is trusted: anybody who may search can write one.
    """

    query: str | None
    result_limit: int
    collections: Sequence[str | None] | None
    filter: str | None
    profile: str | None
    options: str | None
    query_embedding: str | None
    only_arm: str | None
    traced: str
    started_at: float
    tries: Tries = Tries()

    @property
    def is_blank(self) -> bool:
        """Tell whether there is no query."""
        return not (self.query or "").strip(" \t\r\n")
