"""What a search looks for, settled when it begins and never changed; and the log of what it did."""

import json
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from os import urandom
from time import monotonic, perf_counter, time
from typing import NamedTuple

from pgblend.plpy.base.catalog import SPARED, SearchSettings
from pgblend.plpy.base.ports import Space
from pgblend.plpy.base.session import Database, ProgramError
from pgblend.plpy.base.stages import StageLog
from pgblend.plpy.base.unchanged import MANY, begin_unchanged, keep_unchanged
from pgblend.plpy.lexical.query import LEAST_LIMIT, check_query
from pgblend.plpy.models.outcome import ModelStages
from pgblend.plpy.search.plan import Plan, State, arm_depth, of_arm, read_state, search_plan

# What a search is asked, and how often it was tried.


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
    def may_have_vectors(self) -> bool:
        """Tell whether vectors may be searched before it is known that words are nowhere."""
        return self.only_arm not in ("lexical", "fuzzy")

    @property
    def is_blank(self) -> bool:
        """Tell whether there is no query."""
        return not (self.query or "").strip(" \t\r\n")


@dataclass(frozen=True, eq=False, repr=False)
class Query:
    """One search: what it is asked, what is set, which stages run, and what it leaves out.

    `asked` are the settings of the call, `filter` is JSON, `deadline` on the monotonic clock, as is
    `began`. `name` is that of the parameter pgblend.last_search, `search_id` that of the log, where
    there is one. `space` is where vectors are; None: there are none. `words_found` is false where
    the nearest by vectors stand in for words that are nowhere.
    """

    request: Request
    state: State
    plan: Plan
    asked: SearchSettings
    filter: str | None
    deadline: float
    began: float
    name: str
    search_id: str | None = None
    space: Space | None = None
    words_found: bool = True

    @property
    def text(self) -> str:
        """Return the query's text."""
        return self.request.query or ""

    @property
    def settings(self) -> SearchSettings:
        """Return the settings in force."""
        return self.plan.settings

    @property
    def collection_ids(self) -> Sequence[int]:
        """Return the collections that are searched."""
        return self.state.collection_ids

    @property
    def space_name(self) -> str | None:
        """Return the name of the embedding space that is searched."""
        return self.space.name if self.space else None

    @property
    def experiment(self) -> int | None:
        """Return the experiment to take part in: that of the page before, else the profile's."""
        after = self.settings.after
        return after.get("experiment") if after else self.state.experiment

    @property
    def wanted(self) -> int:
        """Return how many rows are wanted from the first on: offset + limit."""
        return self.settings.offset + self.request.result_limit

    @property
    def spared(self) -> Sequence[str]:
        """Return the columns of rows that the call does without; what tells of a search has all."""
        named = self.settings.columns if self.plan.options.get("columns") else ()
        is_told = self.request.traced != "none" or self.experiment is not None
        return [name for name in SPARED if name not in named] if named and not is_told else ()

    def depth(self, is_variant: bool = False) -> int:
        """Return how many candidates an arm, or a list of an expanded query, is asked for."""
        asked = self.settings.over_fetch, self.settings.candidate_depth, self.wanted
        return arm_depth(*asked, self.plan.reranks, is_variant)

    def models(self, db: Database) -> ModelStages:
        """Return what asks models; leaving its `with` block ends calls that are under way."""
        return ModelStages(db, self.settings.timeouts_ms, self.deadline, monotonic)

    def with_spaces(self, db: Database) -> "Query":
        """Return this search with what its state tells of vectors."""
        if self.request.may_have_vectors:
            return self
        where = self.request.profile, self.request.collections
        return replace(self, state=read_state(db, *where, last_search=self.name))

    def by_vector(self) -> "Query":
        """Return this search by vectors alone, for words that are nowhere."""
        plan = self.plan._replace(settings=of_arm(self.settings, "vector"))
        return replace(self, plan=plan, words_found=False)

    def under(self, db: Database, of_profile: str, options: str | None, rows: int) -> "Query":
        """Return this search by other settings of a profile, for its first rows."""
        state = self.state._replace(of_profile=of_profile)
        plan = search_plan(db, state, options, None, self.request.traced == "rerank")
        asked = replace(plan.settings, after={}, offset=0)
        plan = plan._replace(settings=asked)
        request = self.request._replace(result_limit=rows)
        narrowed = read_filter(db, request, state, asked)
        return replace(self, request=request, state=state, plan=plan, asked=asked, filter=narrowed)


def read_query(db: Database, request: Request) -> Query:
    """Return the search that is asked for, by what is set now."""
    began, name = monotonic(), urandom(16).hex()
    where = request.profile, request.collections
    begin_unchanged(db, name)
    state = read_state(db, *where, last_search=name, has_vectors=request.may_have_vectors)
    if len(state.collection_ids) > MANY:
        keep_unchanged(db)
    plan = search_plan(db, state, request.options, request.only_arm, request.traced == "rerank")
    settings = plan.settings
    if len(request.query or "") > LEAST_LIMIT:  # which all limits allow
        check_query(db, request.query or "", plan.layers.server("limits"))
    is_logged = plan.layers.of_database.get("log_address") is not None
    search_id = new_id() if is_logged else None
    narrowed = read_filter(db, request, state, settings)
    seconds = request.started_at - time() + settings.timeouts_ms["total"] / 1000
    deadline = monotonic() + seconds
    return Query(request, state, plan, settings, narrowed, deadline, began, name, search_id)


_FILTER = "SELECT pgblend._joined_filter($1, $2, $3)::text AS filter"
_FILTER_TYPES = ["jsonb", "jsonb", "bigint[]"]


def read_filter(
    db: Database, request: Request, state: State, settings: SearchSettings
) -> str | None:
    """Return the filter: the caller's, checked, with since, until, hidden and tenants."""
    given = request.filter
    if settings.hidden:
        from pgblend.plpy.search.rule_patterns import without_hidden  # of few searches

        given = without_hidden(given, settings.hidden, request.query)
    dates = settings.since, settings.until
    if given is None and dates == (None, None) and not state.has_tenants:
        return None
    names = ("since", "until", "tenant")
    told = json.dumps(dict(zip(names, (*dates, settings.tenant), strict=True)))
    ids = state.collection_ids if state.has_tenants else []
    found: str | None = db.run(_FILTER, _FILTER_TYPES, given, told, ids)[0]["filter"]
    if given is not None:
        from pgblend.plpy.base.filters import parsed_filter  # of few searches

        parsed_filter(db, given)
    return found


def new_id() -> str:
    """Return a UUID; the module takes a millisecond, which searches without a log go without."""
    from uuid import uuid4

    return str(uuid4())


_CALLED = {
    **{arm: f"the {arm} arm" for arm in ("lexical", "vector", "fuzzy")},
    "phrases": "the phrases",
    "replica": "the last changes",
    "shards": "some shards",
}


def sentences(problem: str, hint: str) -> str:
    """Return what happened and what to do about it, each as a sentence."""
    end = "" if problem.endswith((".", "!", "?")) else "."
    return f"{problem}{end} {hint}"


def go_on_without(
    db: Database, stage: str, problem: str, hint: str | None, sqlstate: str, strict: bool
) -> str:
    """Warn that a search goes on without a stage, and return the text for `degraded`.

    By the setting strict it is an error instead. The hint says what to do, in its own sentence.
    """
    if strict:
        raise ProgramError(
            f"{stage}: {problem}", "Leave out the option strict to go on without it.", sqlstate
        )
    reason = problem if hint is None else sentences(problem, hint)
    without = _CALLED.get(stage, f"the {stage} stage")
    db.warn(f"searching without {without}: {reason}")
    return f"{stage}: {reason}"


class IndexState(NamedTuple):
    """What was learnt of the lexical index.

    `reach` is incomplete or none where the index is not asked for as a whole, or at all; `damaged`
    are names of collections that are left out.
    """

    reach: str | None = None
    damaged: Sequence[str] = ()


class Log(StageLog):
    """The log of one search; `index` is what it learnt of the lexical index.

    `plan` is set as soon as it is known: it says what a search may go on without.
    """

    plan: Plan

    def __init__(self, db: Database, request: Request) -> None:
        # The first search of a session imports and compiles; its stages begin after that.
        warmed = db.kept("warmed")
        # The process may have to wait between the clocks: the largest difference is right.
        origin = request.started_at + max(perf_counter() - time() for _ in range(3))
        super().__init__(perf_counter, origin, "search" not in warmed)
        warmed["search"] = True
        self.db = db
        self.degraded: list[str] = []
        self.tries: Tries = request.tries
        self.index = IndexState()

    def beside(self, plan: Plan) -> "Log":
        """Return a log for another search, which goes on from what is known here."""
        other = copy(self)
        other.plan, other.stages, other.degraded = plan, [], list(self.degraded)
        return other

    @property
    def had_time(self) -> bool:
        """Tell whether the lexical arm had the time that it needed."""
        return self.tries.problem != "PB009"

    def note(self, stage: str, problem: str, hint: str | None, sqlstate: str = "PB008") -> None:
        """Name what the search goes on without; by the setting strict it fails."""
        strict = self.plan.settings.strict
        self.degraded.append(go_on_without(self.db, stage, problem, hint, sqlstate, strict))

    def warn(self, message: str, hint: str | None = None) -> None:
        """Send a WARNING to the client."""
        self.db.warn(message, hint)

    def degrade(self, stage: str, problem: str, hint: str | None) -> None:
        """Name what a model failed to give; fail where rows need it."""
        if stage == "vector" and self.plan.needs_vectors:
            hint = f"{hint}\nlexical_search needs no vectors."
            raise ProgramError(f"VECTORS_UNAVAILABLE: {problem}", hint, "PB008")
        self.note(stage, problem, hint)
