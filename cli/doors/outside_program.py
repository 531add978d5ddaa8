"""The program run by this process for its callers: searches over connections of its own.

What the database is asked elsewhere, one statement for a search, is a call here (`CALLS`). Each is
made as its caller's role, in a thread; a connection keeps what a session of the server would.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, LiteralString

import psycopg
from psycopg_pool import ConnectionPool as SyncPool

from pgblend.cli.search import calls_outside as outside
from pgblend.cli.search import statements
from pgblend.cli.search.asked_models import CANDIDATES, PLAN, RowsAsked
from pgblend.cli.search.calls_outside import SearchArguments
from pgblend.cli.search.connection import Connection, SpoiltError
from pgblend.cli.search.outside import LOST_NAMES
from pgblend.plpy.search.pool import Row
from pgblend.sql.outside import body_digest
from pgblend.sql.program import program_digest

# What it answers: for each statement its rows, from the statement's parameters.

Given = dict[str, Any]
Rows = list[dict[str, Any]]
TYPED: LiteralString = "SELECT set_config('pgblend.purpose', 'typed', true)"
FACTS: LiteralString = "SELECT blend.last_search() AS facts"
DEGRADED: LiteralString = "SELECT blend.last_search() -> 'degraded' AS degraded"
_JSON = frozenset(("metadata", "arms", "details"))
_PLAN_FACTS = """
    SELECT to_jsonb(s)::text AS space,
        blend.get_setting('expansion_model') #>> '{}' AS expansion_model,
        blend.get_setting('rerank_model') #>> '{}' AS rerank_model,
        blend.get_setting('gateway_url') #>> '{}' AS gateway_url
    FROM (VALUES ($1)) AS wanted (space)
    LEFT JOIN pgblend_data.embedding_space AS s ON coalesce(s.name = wanted.space, s.active)
"""
_ANSWER_FACTS = """
    SELECT blend.get_setting('answer_model') #>> '{}' AS model,
        blend.get_setting('gateway_url') #>> '{}' AS url
"""


def _asked(given: Given) -> SearchArguments:
    return SearchArguments(
        given.get("query"), given.get("limit"), given.get("collections"), given.get("filter"),
        given.get("profile"), given.get("options"), given.get("query_embedding"),
    )  # fmt: skip


def _last(db: Connection) -> dict[str, Any] | None:
    last = db.session.get("pgblend_last_search")
    facts: dict[str, Any] | None = last and last[2]
    return facts


def _degraded(db: Connection) -> list[str] | None:
    return (_last(db) or {}).get("degraded")


def _written(row: Row) -> str:
    """Return a row as JSON, what is JSON in it as it is."""
    members = (
        f'"{name}":{value if value and name in _JSON else json.dumps(value, ensure_ascii=False)}'
        for name, value in row._asdict().items()
    )
    return f"{{{','.join(members)}}}"


def _search(db: Connection, given: Given) -> Rows:
    rows = outside.search(db, _asked(given))["results"]
    return [{"rows": f"[{','.join(map(_written, rows))}]", "degraded": _degraded(db)}]


def _context(db: Connection, given: Given) -> Rows:
    return [{"get_context": outside.context(db, _asked(given), given["output_format"])}]


def _passages(db: Connection, given: Given) -> Rows:
    made = outside.ask_passages(db, _asked(given))
    with db.transaction():
        (facts,) = db.run(_ANSWER_FACTS, [])
    return [{**made._asdict(), **facts}]


def _facets(db: Connection, given: Given) -> Rows:
    rows = outside.facets(db, _asked(given), given["keys"], given["buckets"])
    return [dict(row) for row in rows]


def _explain(db: Connection, given: Given) -> Rows:
    return [{"search_explain": outside.explain(db, _asked(given))}]


def _candidates(db: Connection, given: Given) -> Rows:
    return outside.rerank_candidates(db, _asked(given))


def _plan(db: Connection, given: Given) -> Rows:
    settings = outside.plan(db, _asked(given))
    with db.transaction():
        (facts,) = db.run(_PLAN_FACTS, ["text"], settings["space"])
    space = facts["space"]
    return [{**facts, "settings": settings, "space": space and json.loads(space)}]


CALLS: dict[str, Callable[[Connection, Given], Rows]] = {
    statements.WRITTEN_ROWS: _search,
    statements.CONTEXT: _context,
    statements.PASSAGES: _passages,
    statements.FACETS: _facets,
    statements.EXPLAIN: _explain,
    CANDIDATES: _candidates,
    PLAN: _plan,
    FACTS: lambda db, _: [{"facts": _last(db)}],
    DEGRADED: lambda db, _: [{"degraded": _degraded(db)}],
}

_SETTINGS = (TYPED,)  # which the transaction of a call begins with


def answers(queries: Sequence[RowsAsked]) -> bool:
    """Whether the program can answer all of these, and one of them is its own."""
    asked = [query.sql for query in queries if query.sql not in _SETTINGS]
    return bool(asked) and all(sql in CALLS for sql in asked)


# Who runs it: threads, each with a connection for as long as a call takes.

# This process runs the very program that the database's routines are made for.
_SAME: LiteralString = """
    SELECT true FROM pg_catalog.pg_proc AS p
    INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
    WHERE n.nspname = 'pgblend' AND p.proname = ANY ('{{_load_program,_told}}')
        AND (pg_catalog.strpos(p.prosrc, '{}') > 0 OR pg_catalog.strpos(p.prosrc, '{}') > 0)
"""
_CANCEL_SECONDS = 5


@cache
def same_program() -> str:
    """Return the statement that has a row where the database is of this version."""
    return _SAME.format(program_digest(), body_digest())


class _ProgramConnection(psycopg.Connection[Any]):
    """A connection that the program runs over."""

    program: Connection


class _LostError(Exception):
    """A connection that is of no use any more."""

    def __init__(self, error: psycopg.Error) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass
class Running:
    """A call under way: by what each transaction takes its role, and what it is asked."""

    taking: Sequence[str]
    queries: Sequence[RowsAsked]
    connection: _ProgramConnection | None = None
    warnings: list[str] = field(default_factory=list)


class OutsideProgram:
    """The program over connections to one server, of which it opens at most `size`."""

    def __init__(
        self, url: str, size: int, timeout_seconds: float, settings: Mapping[str, Any],
        prepare: Sequence[str],
    ) -> None:  # fmt: skip
        """Connect with `settings`, and run the statements of `prepare` over each connection."""
        self._prepare = prepare
        self._threads = ThreadPoolExecutor(size, "pgblend program")
        self._pool = SyncPool(
            url, connection_class=_ProgramConnection, kwargs={**settings},
            configure=self._configure, min_size=0, max_size=size, timeout=timeout_seconds,
            open=False, name="pgblend program",
        )  # fmt: skip

    def open(self) -> None:
        """Be ready to connect."""
        self._pool.open()

    async def close(self) -> None:
        """End all connections."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        self._pool.close()

    def _configure(self, connection: _ProgramConnection) -> None:
        connection.prepare_threshold = None
        for statement in self._prepare:
            connection.execute(statement.encode())
        found = connection.execute("SELECT pg_catalog.pg_backend_pid()").fetchone()
        stays = found == (connection.info.backend_pid,)  # a pooler announces another than that
        connection.program = Connection(connection, prepares=stays)

    async def run(self, running: Running) -> list[Rows]:
        """Return each query's rows; whose caller leaves is cancelled.

        StatementError, UserError of the program, NotTakenError by the place in `taking`, and
        psycopg.Error say why not.
        """
        loop = asyncio.get_running_loop()
        answer = loop.run_in_executor(self._threads, self._answer, running)
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            if running.connection is not None:
                with suppress(psycopg.Error):
                    await asyncio.to_thread(running.connection.cancel_safe, timeout=_CANCEL_SECONDS)
            with suppress(Exception):
                await answer
            raise

    def _answer(self, running: Running) -> list[Rows]:
        """Answer; once more where the connection was lost, or what it had prepared."""
        try:
            return self._answer_once(running)
        except _LostError:
            running.warnings.clear()
        try:
            return self._answer_once(running)
        except _LostError as lost:
            raise lost.error from None

    def _answer_once(self, running: Running) -> list[Rows]:
        connection = running.connection = self._pool.getconn()
        db = connection.program
        try:
            return self._rows(db, running)
        except psycopg.Error as error:
            is_spoilt = isinstance(error, SpoiltError) or error.sqlstate in LOST_NAMES
            if not (connection.closed or is_spoilt):
                raise
            connection.close()
            raise _LostError(error) from error
        finally:
            running.warnings += [message for message, _ in db.warnings]
            db.warnings.clear()
            running.connection = None
            self._pool.putconn(connection)

    def _rows(self, db: Connection, running: Running) -> list[Rows]:
        db.session.pop("pgblend_last_search", None)
        settings = [query.sql for query in running.queries if query.sql not in CALLS]
        db.taking = [*running.taking, *settings]
        return [
            CALLS[query.sql](db, query.parameters) if query.sql in CALLS else [{}]
            for query in running.queries
        ]
