"""What a search finds out before its first stage: whom it may ask, and where vectors are."""

import re
from dataclasses import replace

from pgblend.plpy.base.ports import Held, Space
from pgblend.plpy.base.session import ProgramError
from pgblend.plpy.search.log import Log, sentences
from pgblend.plpy.search.plan import check_cursor
from pgblend.plpy.search.query import Query
from pgblend.plpy.search.store import StorePort

_SEES_ALL = "SELECT pg_has_role('pgblend_admin', 'USAGE') AS found"
_BEHIND = (
    "SELECT CASE WHEN pg_is_in_recovery()"
    " THEN pg_wal_lsn_diff($1::pg_lsn, pg_last_wal_replay_lsn())::bigint END AS behind"
)
_NO_SPACE = "pgblend worker makes and fills one where a model gateway runs"
_WAITING = "vector: some passages have no vector yet (pgblend worker makes them)"


def begin(query: Query, store: StorePort, log: Log) -> Query:
    """Return the query with its space; name what the search does without from the start."""
    settings, plan = query.settings, query.plan
    check_cursor(settings.after)
    _check_collections(query, log)
    if settings.wait_for is not None:
        _check_replay(settings.wait_for, log)
    walks = settings.graph["weight"] > 0
    missing = store.begin(query.deadline, query.collection_ids, settings.strict, walks)
    if missing is not None:
        log.note(*missing)
    if settings.weights["vector"] > 0:
        query = look_for_vectors(query, store, log, plan.needs_vectors)
    for stage, problem in plan.not_run.items():
        asking = ["mode", stage, *(["history"] if stage == "expand" else [])]
        if any(plan.options.get(name) for name in asking):
            log.note(stage, problem, "The mode fast does without", "PB010")
    return query


def _check_collections(query: Query, log: Log) -> None:
    """Name that a role without any grant searches; nothing of one that sees all."""
    db, role = log.db, query.state.role
    if query.collection_ids or db.run(_SEES_ALL, [])[0]["found"]:
        return
    quoted = db.run("SELECT format('%I', $1) AS i, format('%L', $1) AS l", ["text"], role)
    problem = f"role {quoted[0]['i']} may read no collection"
    grant = f"SELECT grant_collection(NAME, {quoted[0]['l']})"
    hint = f"A member of pgblend_admin grants one: {grant}."
    if query.plan.needs_vectors:
        raise ProgramError(f"VECTORS_UNAVAILABLE: {problem}", hint, "PB001")
    if query.settings.strict:
        raise ProgramError(problem, hint, "42501")
    db.warn(problem, hint)
    log.degraded.append(f"collections: {sentences(problem, hint)}")


def _check_replay(place: str, log: Log) -> None:
    """Name what a standby has not replayed of what the search waited for."""
    behind = log.db.run(_BEHIND, ["text"], place)[0]["behind"]
    if behind is not None and behind > 0:
        hint = "Search again, or raise timeouts_ms, key total: commands wait as long"
        problem = f"this standby is {behind} bytes of the log behind {place}"
        log.note("replica", problem, hint, "PB015")


def look_for_vectors(query: Query, store: StorePort, log: Log, is_required: bool) -> Query:
    """Return the query with the space to search; name that there is none, or not all of it.

    The space cannot be dropped before the transaction ends.
    """
    space = query.state.space(query.settings.space)
    problem, hint = "no embedding space yet", _NO_SPACE
    if space is None and is_required:
        hint += ".\nlexical_search needs no vectors."
        raise ProgramError(f"VECTORS_UNAVAILABLE: {problem}", hint, "PB001")
    if space is None:
        log.note("vector", problem, hint, "PB001")
        return query
    held = _held(space, query, store, is_required)
    check_vector(query.request.query_embedding, space)
    if is_required and not held.has_vectors:
        problem = "VECTORS_UNAVAILABLE: no passage searched has a vector"
        raise ProgramError(
            problem, "Run pgblend ingest with a model gateway to make them.", "PB001"
        )
    if held.is_waiting:
        log.degraded.append(_WAITING)
    return replace(query, space=space)


def _held(space: Space, query: Query, store: StorePort, asks: bool) -> Held:
    """Keep a space from being dropped; whether it has vectors is known where it `asks`."""
    held = store.hold(space, query.collection_ids, asks)
    if not held.is_there:
        raise ProgramError(
            f'embedding space "{space.name}" was dropped meanwhile',
            "Search again, in a new transaction.",
            "40001",
        )
    return held


def check_vector(vector: str | None, space: Space) -> None:
    """Raise 22023 for a query's vector that cannot be compared in a space."""
    if vector is None:
        return
    dimensions = vector.count(",") + 1
    if dimensions != space.dimensions:
        raise ProgramError(
            f'query_embedding has {dimensions} dimensions, embedding space "{space.name}" holds'
            f" {space.dimensions}",
            f'Embed the query with the model "{space.model}".',
        )
    if not re.search("[1-9]", vector):
        raise ProgramError(
            "query_embedding is the zero vector, which has no direction",
            "Leave it NULL to have the query embedded.",
        )
