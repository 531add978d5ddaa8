"""What the stages of one search share."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from os import urandom
from time import monotonic, perf_counter, time
from typing import NamedTuple

from pgblend.plpy.base.catalog import SearchSettings
from pgblend.plpy.base.ports import Held, Sample, Space
from pgblend.plpy.base.session import Database, UserError, error_fields, error_message
from pgblend.plpy.base.stages import StageLog
from pgblend.plpy.models.stages import ModelStages
from pgblend.plpy.search.lexical import IndexState
from pgblend.plpy.search.plan import arm_depth, check_cursor, of_arm, read_state, search_plan
from pgblend.plpy.search.store import StorePort

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
    def is_blank(self) -> bool:
        """Tell whether there is no query."""
        return not (self.query or "").strip(" \t\r\n")


# What a search goes on without.

_CALLED = {
    **{arm: f"the {arm} arm" for arm in ("lexical", "vector", "fuzzy")},
    "replica": "the last changes",
    "shards": "some shards",
}


def go_on_without(
    db: Database, stage: str, problem: str, hint: str | None, sqlstate: str, strict: bool
) -> str:
    """Warn that a search goes on without a stage, and return the text for `degraded`.

    By the setting strict it is an error instead. The hint says what to do; it follows as a sentence
    of its own where the problem is one, else after a semicolon.
    """
    if strict:
        raise UserError(
            f"{stage}: {problem}", "Leave out the option strict to go on without it.", sqlstate
        )
    reason = problem
    if hint is not None:
        reason += f" {hint}" if problem.endswith((".", "!", "?")) else f"; {hint}"
    without = _CALLED.get(stage, f"the {stage} stage")
    db.warn(f"searching without {without}: {reason}")
    return f"{stage}: {reason}"


_FILTER = "SELECT pgblend._search_filter($1, $2, $3)::text AS filter"
_SEES_ALL = "SELECT pg_has_role('pgblend_admin', 'USAGE') AS found"
_BEHIND = (
    "SELECT CASE WHEN pg_is_in_recovery()"
    " THEN pg_wal_lsn_diff($1::pg_lsn, pg_last_wal_replay_lsn())::bigint END AS behind"
)
_NO_SPACE = "pgblend worker makes and fills one where a model gateway runs"
_WAITING = "vector: some passages have no vector yet (pgblend worker makes them)"


class Search(StageLog):
    """One search under way: its plan, the log of its stages, what it goes on without."""

    def __init__(self, db: Database, request: Request, store: StorePort) -> None:
        self.began = monotonic()
        # The first search of a session imports and compiles; its stages begin after that.
        warmed = db.kept("warmed")
        # The process may have to wait between the clocks: the largest difference is right.
        origin = request.started_at + max(perf_counter() - time() for _ in range(3))
        super().__init__(perf_counter, origin, "search" not in warmed)
        warmed["search"] = True
        self.db, self.request, self.store = db, request, store
        self.name = urandom(16).hex()
        self.state = read_state(db, request.profile, request.collections, last_search=self.name)
        reranks = request.traced == "rerank"
        self.plan = search_plan(db, self.state, request.options, request.only_arm, reranks)
        self.asked = self.plan.settings
        self.degraded: list[str] = []
        self.tries = request.tries
        self.space: Space | None = None
        self.lexical_state = IndexState()
        self.words_found = True
        self.sample: Sample | None = None
        is_logged = self.plan.layers.of_database.get("log_address") is not None
        self.search_id = new_id() if is_logged else None
        self.filter = self._filter()
        seconds = request.started_at - time() + self.plan.settings.timeouts_ms["total"] / 1000
        self.deadline = monotonic() + seconds

    @property
    def settings(self) -> SearchSettings:
        """Return the settings in force."""
        return self.plan.settings

    @property
    def experiment(self) -> int | None:
        """Return the experiment to take part in: that of the page before, else the profile's."""
        after = self.plan.settings.after
        return after.get("experiment") if after else self.state.experiment

    def under(self, of_profile: str, options: str | None, rows: int) -> "Search":
        """Return this search by other settings of a profile, for its first rows."""
        from copy import copy

        other = copy(self)
        other.state = self.state._replace(of_profile=of_profile)
        reranks = self.request.traced == "rerank"
        plan = search_plan(self.db, other.state, options, None, reranks)
        other.asked = replace(plan.settings, after={}, offset=0)
        other.plan = plan._replace(settings=other.asked)
        other.request = self.request._replace(result_limit=rows)
        other.stages, other.degraded = [], list(self.degraded)
        other.filter = other._filter()
        return other

    @property
    def space_name(self) -> str | None:
        """Return the name of the embedding space that is searched."""
        return self.space.name if self.space else None

    def _filter(self) -> str | None:
        """Return the filter: the caller's, checked, with since, until, hidden and tenants."""
        settings, given = self.plan.settings, self.request.filter
        if settings.hidden:
            from pgblend.plpy.search.rules import without_hidden  # of few searches

            given = without_hidden(given, settings.hidden, self.request.query)
        dates = settings.since, settings.until
        if given is None and dates == (None, None) and not self.state.has_tenants:
            return None
        names = ("since", "until", "tenant")
        told = json.dumps(dict(zip(names, (*dates, settings.tenant), strict=True)))
        ids = self.state.collection_ids if self.state.has_tenants else []
        types = ["jsonb", "jsonb", "bigint[]"]
        found: str | None = self.db.run(_FILTER, types, given, told, ids)[0]["filter"]
        return found

    @property
    def wanted(self) -> int:
        """Return how many rows are wanted from the first on: offset + limit."""
        return self.plan.settings.offset + self.request.result_limit

    def depth(self, is_variant: bool = False) -> int:
        """Return how many candidates an arm, or a list of an expanded query, is asked for."""
        asked = self.settings.over_fetch, self.settings.candidate_depth, self.wanted
        return arm_depth(*asked, self.plan.reranks, is_variant)

    def by_vector(self) -> None:
        """Go on by vectors alone, for words that are nowhere."""
        self.plan = self.plan._replace(settings=of_arm(self.plan.settings, "vector"))
        self.words_found = False
        self.stages.clear()

    def begin(self) -> None:
        """Find out where vectors are, and name what the search does without from the start."""
        settings = self.plan.settings
        check_cursor(settings.after)
        self._check_collections()
        if settings.wait_for is not None:
            self._check_replay(settings.wait_for)
        ids, walks = self.state.collection_ids, settings.graph["weight"] > 0
        missing = self.store.begin(self.deadline, ids, settings.strict, walks)
        if missing is not None:
            self.note("shards", *missing, "PB014")
        if settings.weights["vector"] > 0:
            self.look_for_vectors(self.plan.needs_vectors)
        for stage, problem in self.plan.not_run.items():
            options = self.plan.options
            asking = ["mode", stage, *(["history"] if stage == "expand" else [])]
            if any(options.get(name) for name in asking):
                self.note(stage, problem, "the mode fast does without", "PB010")

    def _check_collections(self) -> None:
        """Name that a role without any grant searches; nothing of one that sees all."""
        if self.state.collection_ids or self.db.run(_SEES_ALL, [])[0]["found"]:
            return
        role = self.state.role
        quoted = self.db.run("SELECT format('%I', $1) AS i, format('%L', $1) AS l", ["text"], role)
        problem = f"role {quoted[0]['i']} may read no collection"
        grant = f"SELECT grant_collection(NAME, {quoted[0]['l']})"
        hint = f"A member of pgblend_admin grants one: {grant}."
        if self.plan.needs_vectors:
            raise UserError(f"VECTORS_UNAVAILABLE: {problem}", hint, "PB001")
        if self.plan.settings.strict:
            raise UserError(problem, hint, "42501")
        self.db.warn(problem, hint)
        self.degraded.append(f"collections: {problem}; {hint}")

    def _check_replay(self, place: str) -> None:
        """Name what a standby has not replayed of what the search waited for."""
        behind = self.db.run(_BEHIND, ["text"], place)[0]["behind"]
        if behind is not None and behind > 0:
            hint = "search again, or raise timeouts_ms, key total: commands wait as long"
            problem = f"this standby is {behind} bytes of the log behind {place}"
            self.note("replica", problem, hint, "PB015")

    def look_for_vectors(self, is_required: bool) -> None:
        """Find the space to search, and hold it; name that there are none, or not all of them."""
        space = self.state.space(self.plan.settings.space)
        problem, hint = "no embedding space yet", _NO_SPACE
        if space is None and is_required:
            hint += ".\nlexical_search needs no vectors."
            raise UserError(f"VECTORS_UNAVAILABLE: {problem}", hint, "PB001")
        if space is None:
            self.note("vector", problem, hint, "PB001")
            return
        held = self._held(space, is_required)
        self.space = space
        check_vector(self.request.query_embedding, space)
        if is_required and not held.has_vectors:
            problem = "VECTORS_UNAVAILABLE: no passage searched has a vector"
            raise UserError(
                problem, "Run pgblend ingest with a model gateway to make them.", "PB001"
            )
        if held.is_waiting:
            self.degraded.append(_WAITING)

    def _held(self, space: Space, asks: bool) -> Held:
        """Keep a space from being dropped before the transaction ends.

        Whether any passage searched has a vector is known where it `asks`.
        """
        held = self.store.hold(space, self.state.collection_ids, asks)
        if not held.is_there:
            raise UserError(
                f'embedding space "{space.name}" was dropped meanwhile',
                "Search again, in a new transaction.",
                "40001",
            )
        return held

    def note(self, stage: str, problem: str, hint: str | None, sqlstate: str = "PB008") -> None:
        """Name what the search goes on without; by the setting strict it fails."""
        strict = self.plan.settings.strict
        self.degraded.append(go_on_without(self.db, stage, problem, hint, sqlstate, strict))

    def go_without_index(self, error: Exception) -> None:
        """Name what of the lexical index is not there, and search what there is.

        One that is not there at all may be by another snapshot: then the search begins again, first
        after pauses where another session builds it.
        """
        hint, damaged = error_fields(error)
        if not damaged and self.lexical_state.reach:
            raise error
        status = "error" if damaged else "uninitialized"
        ids = self.state.collection_ids
        if not damaged and self.store.is_building(ids):
            status = "building"
        tries = self.tries._replace(
            attempts=self.tries.attempts + 1, problem="PB002", status=status
        )
        if not damaged and tries.waits and (status == "building" or not tries.looked_again):
            self._begin_again(tries, status == "building")
        self.tries = tries
        self.note("lexical", error_message(error), hint, "PB002")
        if damaged:
            names = [*self.lexical_state.damaged, damaged]
            self.lexical_state = self.lexical_state._replace(damaged=names)
        else:
            self.lexical_state = self.lexical_state._replace(reach="incomplete")

    def _begin_again(self, tries: Tries, waits: bool) -> None:
        """End this attempt; _search begins another one."""
        if waits:
            pause_s, *left = tries.waits
            tries = tries._replace(pause_s=pause_s, waits=left)
        else:
            tries = tries._replace(pause_s=0.0, looked_again=True)
        message = "the lexical index was not there when this search began"
        raise UserError(message, "Search again.", "PB012", tries.write())

    def go_without_words(self, error: Exception, sqlstate: str) -> None:
        """Name why no arm by words is run any more: no time (PB009), or no numpy (PB013)."""
        self.tries = self.tries._replace(attempts=self.tries.attempts + 1, problem=sqlstate)
        self.note("lexical", error_message(error), error_fields(error)[0], sqlstate)
        self.lexical_state = self.lexical_state._replace(reach="none")

    @property
    def had_time(self) -> bool:
        """Tell whether the lexical arm had the time that it needed."""
        return self.tries.problem != "PB009"

    def warn(self, message: str, hint: str | None = None) -> None:
        """Send a WARNING to the client."""
        self.db.warn(message, hint)

    def degrade(self, stage: str, problem: str, hint: str | None) -> None:
        """Name what a model failed to give; fail where rows need it."""
        if stage == "vector" and self.plan.needs_vectors:
            hint = f"{hint}\nlexical_search needs no vectors."
            raise UserError(f"VECTORS_UNAVAILABLE: {problem}", hint, "PB008")
        self.note(stage, problem, hint)

    def models(self) -> ModelStages:
        """Return what asks models; leaving its `with` block ends calls that are under way."""
        return ModelStages(self.db, self.settings.timeouts_ms, self.deadline, monotonic)


def new_id() -> str:
    """Return a UUID; the module takes a millisecond, which searches without a log go without."""
    from uuid import uuid4

    return str(uuid4())


def check_vector(vector: str | None, space: Space) -> None:
    """Raise 22023 for a query's vector that cannot be compared in a space."""
    if vector is None:
        return
    dimensions = vector.count(",") + 1
    if dimensions != space.dimensions:
        raise UserError(
            f'query_embedding has {dimensions} dimensions, embedding space "{space.name}" holds'
            f" {space.dimensions}",
            f'Embed the query with the model "{space.model}".',
        )
    if not re.search("[1-9]", vector):
        raise UserError(
            "query_embedding is the zero vector, which has no direction",
            "Leave it NULL to have the query embedded.",
        )
