"""Warm connections to PostgreSQL: one transaction for a caller's role and statements.

Beside database.py the only module that imports psycopg: it asks without blocking.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, LiteralString, NamedTuple, Self

import psycopg
from psycopg.abc import Transformer
from psycopg.adapt import Transformer as Values
from psycopg.pq.abc import PGresult
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

from pgblend.cli.base.database import translate
from pgblend.cli.base.errors import UserError
from pgblend.cli.doors.exchange import exchange
from pgblend.cli.doors.outside_program import OutsideProgram, Running, same_program
from pgblend.cli.doors.problems import Problem, database_away, problem_of, retry_after
from pgblend.cli.doors.shares import NoShareError, Shares
from pgblend.cli.doors.tokens import digest_of
from pgblend.cli.search.asked_models import RowsAsked
from pgblend.cli.search.connection import NotTakenError
from pgblend.cli.search.outside import StatementError
from pgblend.plpy.base.session import ProgramError

_APPLICATION = "pgblend serve"
_CONNECT_SECONDS = 5
_OF_PROGRAM = ("application_name", "connect_timeout", "client_encoding", "autocommit")
_MOST_TOKENS = 1000
_WAITING_BY_CONNECTION = 32  # callers; more are told to come again
# Nothing unqualified is found but types and what is public: callers' own schemas are not looked at.
_PATH: LiteralString = """
    SELECT pg_catalog.set_config('search_path',
        pg_catalog.concat_ws(', ', 'pg_catalog', 'blend', n.nspname, 'pg_temp'), false)
    FROM pg_catalog.pg_extension AS e
    INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace
    WHERE e.extname = 'vector'
"""
# What the role itself is given less of stays.
_LIMIT: LiteralString = """
    SELECT pg_catalog.set_config('statement_timeout', %(ms)s::pg_catalog.text, false)
    FROM pg_catalog.pg_settings AS s
    WHERE s.name = 'statement_timeout'
        AND s.setting::pg_catalog.int8 NOT BETWEEN 1 AND %(ms)s::pg_catalog.int8
"""
_SERVE: LiteralString = "SELECT pg_catalog.set_config('role', 'pgblend_serve', true)"
_TAKE_ROLE: LiteralString = """
    SELECT pg_catalog.set_config('role', t.role_name, true),
        pg_catalog.set_config('pgblend.groups', g.signed, true)
    FROM pgblend._token_role(%(digest)s, %(scope)s) AS t (role_name)
    CROSS JOIN pgblend._token_groups(%(digest)s, %(scope)s) AS g (signed)
    WHERE t.role_name IS NOT NULL
"""
# Where PostgreSQL refuses a role: no other setting is changed by its name alone.
_SETTING_REFUSED = "call_string_check_hook"
_FIND_TOKEN: LiteralString = """
    SELECT t.role_name, t.scopes, t.expires_at <= pg_catalog.now() AS is_expired
    FROM pgblend_data.access_token AS t
    INNER JOIN pg_catalog.pg_roles AS r ON r.rolname = t.role_name AND (
        r.oid = t.role_oid OR t.made_in <> (
            SELECT s.system_identifier FROM pg_catalog.pg_control_system() AS s))
    WHERE t.digest = %(digest)s AND NOT t.is_link
"""
# The policy of the table says for how long.
_OPEN_LINK: LiteralString = """
    UPDATE pgblend_data.access_token AS t SET digest = %(token)s, is_link = false
    WHERE t.digest = %(link)s AND t.is_link AND t.expires_at > pg_catalog.now()
    RETURNING t.scopes, t.expires_at
"""


class OtherProgramError(Exception):
    """The database's routines are made for another version of the program than this process's."""


class _Connection(psycopg.AsyncConnection[DictRow]):
    """A connection that gathers the server's warnings, and writes and reads values."""

    warnings: list[str]
    values: Transformer

    @classmethod
    async def connect(cls, *args: Any, **kwargs: Any) -> Self:
        """Connect, and have types and public routines found.

        Nothing is prepared by name, as in database.py: sessions are shared by roles.
        """
        statement_seconds = kwargs.pop("statement_seconds", 0)
        connection = await super().connect(*args, **kwargs)
        connection.prepare_threshold = None
        connection.warnings = []
        connection.values = Values(connection)
        connection.add_notice_handler(connection._note)
        await connection.execute(_PATH)
        if statement_seconds:
            await connection.execute(_LIMIT, {"ms": round(statement_seconds * 1000)})
        return connection

    def _note(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            self.warnings.append(notice.message_primary or "")


class ConnectionPool:
    """The door's connections, which all callers share."""

    def __init__(
        self, url: str, size: int, timeout_seconds: float, statement_seconds: float = 0
    ) -> None:
        """Keep `size` connections; a statement ends after so many seconds, unless that is 0."""
        self._url, self._size, self._seconds = url, size, timeout_seconds
        most_waiting = size * _WAITING_BY_CONNECTION
        self._shares = Shares(size, timeout_seconds, most_waiting)
        self._is_away = False
        self._settings: dict[str, Any] = {
            "application_name": _APPLICATION,
            "connect_timeout": _CONNECT_SECONDS,
            "client_encoding": "UTF8",
            "autocommit": True,
            "row_factory": dict_row,
            "statement_seconds": statement_seconds,
        }
        self._pool = AsyncConnectionPool(
            url,
            connection_class=_Connection,
            kwargs=self._settings,
            min_size=1,
            max_size=size,
            max_waiting=most_waiting,
            timeout=timeout_seconds,
            open=False,
            name=_APPLICATION,
        )

    async def open(self) -> None:
        """Begin to connect; a database that is away is no error yet."""
        await self._pool.open()

    async def close(self) -> None:
        """End all connections."""
        await self._pool.close()

    def statistics(self) -> dict[str, int]:
        """Return the pool's own counts."""
        return self._pool.get_stats()

    async def check(self) -> None:
        """Raise a Problem with the reason where the database does not answer."""
        await self._run([RowsAsked("SELECT 1 AS one", {})])

    async def open_link(self, link: str, token: str) -> dict[str, Any] | None:
        """Put a token in a link's place; return its scopes and end, or None."""
        digests: dict[str, object] = {"link": digest_of(link), "token": digest_of(token)}
        try:
            answer = await self._run([RowsAsked(_OPEN_LINK, digests)], _SERVE)
        except _Failed as failed:
            raise _problem(failed.error) from failed.error
        (opened,) = answer.rows
        return opened[0] if opened else None

    async def run(
        self, token: str, scope: str, queries: Sequence[RowsAsked]
    ) -> tuple[list[list[dict[str, Any]]], list[str]]:
        """Return each query's rows, and the server's warnings; all in one transaction.

        It is made as the token's role, in one round trip. A Problem says why not: an unknown
        or expired token, one without the scope, a database that is away, what the server refused.
        """
        digest = digest_of(token)
        try:
            answer = await self._run(queries, _SERVE, _taking(digest, scope), whose=token)
        except _Failed as failed:
            raise await self._why(failed.error, failed.is_lost, digest, scope) from failed.error
        if not answer.has_role:
            raise await self._refusal(digest, scope) or _unknown()
        return answer.rows, answer.warnings

    async def run_outside(
        self, program: OutsideProgram, token: str, scope: str, queries: Sequence[RowsAsked]
    ) -> tuple[list[list[dict[str, Any]]], list[str]]:
        """Do the same by the program in this process; without a token, as the login.

        OtherProgramError where the database is of another version.
        """
        digest = digest_of(token)
        roles = (_SERVE, _taking(digest, scope)) if token else ()
        running = Running((same_program(), *roles), queries)
        try:
            async with self._shares.place(token):
                return await program.run(running), running.warnings
        except (NoShareError, PoolTimeout, PoolClosed) as error:
            raise await self._no_connection(error) from None
        except psycopg.Error as error:
            raise await self._why(error, error.sqlstate is None, digest, scope) from error
        except NotTakenError as error:
            if error.place == 0:
                raise OtherProgramError from None
            raise await self._refusal(digest, scope) or _unknown() from None
        except (StatementError, ProgramError) as error:
            raise problem_of(error) or error from error

    def program(self, url: str) -> OutsideProgram:
        """Return the program in this process, over connections like these to `url`."""
        settings = {name: self._settings[name] for name in _OF_PROGRAM}
        return OutsideProgram(url, self._size, self._seconds, settings, [_PATH, *self._limits()])

    def _limits(self) -> list[str]:
        seconds = self._settings["statement_seconds"]
        limit = RowsAsked(_LIMIT, {"ms": round(seconds * 1000)})
        return [_written(limit, Values())] if seconds else []

    async def run_as_login(
        self, queries: Sequence[RowsAsked]
    ) -> tuple[list[list[dict[str, Any]]], list[str]]:
        """Do the same as the role that connected: nobody's token is looked at."""
        try:
            answer = await self._run(queries)
        except _Failed as failed:
            raise _problem(failed.error) from failed.error
        return answer.rows, answer.warnings

    async def scopes(self, token: str) -> list[str]:
        """Return what a token is good for; a Problem where it is unknown or has expired."""
        try:
            return await self._scopes(digest_of(token))
        except _Failed as failed:
            raise _problem(failed.error) from failed.error

    async def _why(self, error: psycopg.Error, is_lost: bool, digest: bytes, scope: str) -> Problem:
        """Say why a transaction failed that was to take a token's role."""
        if error.diag.source_function == _SETTING_REFUSED:
            return _no_role(error)
        refusal = None if is_lost else await self._refusal(digest, scope)
        return refusal or _problem(error)

    async def _refusal(self, digest: bytes, scope: str) -> Problem | None:
        """Say why a token is not good for a scope; None where it is."""
        try:
            scopes = await self._scopes(digest)
        except _Failed as failed:
            return _problem(failed.error)
        except Problem as problem:
            return problem
        try:
            check_scope(scope, scopes)
        except Problem as problem:
            return problem
        return None

    async def _scopes(self, digest: bytes) -> list[str]:
        ((found,), *_) = await self._run([RowsAsked(_FIND_TOKEN, {"digest": digest})], _SERVE)
        if not found:
            raise _unknown()
        if found[0]["is_expired"]:
            hint = "have a new one made: pgblend serve token make"
            raise Problem(401, "invalid-token", "the token has expired", hint=hint)
        scopes: list[str] = found[0]["scopes"]
        return scopes

    async def _run(self, queries: Sequence[RowsAsked], *roles: str, whose: str = "") -> "_Answer":
        """Run a transaction; once more where the connection had been lost before."""
        try:
            return await self._run_once(roles, queries, whose)
        except _Failed as failed:
            if not failed.is_lost:
                raise
        self._is_away = True
        return await self._run_once(roles, queries, whose)

    async def _run_once(
        self, roles: Sequence[str], queries: Sequence[RowsAsked], whose: str
    ) -> "_Answer":
        if self._is_away:
            await self._check_back()
        try:
            async with self._shares.place(whose):
                connection = await self._pool.getconn()
                try:
                    return await _transaction(connection, roles, queries)
                finally:
                    await self._pool.putconn(connection)
        except (NoShareError, PoolTimeout, TooManyRequests, PoolClosed) as error:
            raise await self._no_connection(error) from None

    async def _check_back(self) -> None:
        """Raise a Problem at once while the database is away; else drop connections it ended."""
        try:
            async with await _Connection.connect(self._url, **self._settings):
                pass
        except psycopg.Error as reason:
            self._is_away = True
            raise database_away(translate(reason) or UserError(str(reason))) from None
        await self._pool.check()
        self._is_away = False

    async def _no_connection(self, error: Exception) -> Problem:
        """Say why the pool gave no connection: the database is away, or all are busy."""
        if isinstance(error, PoolTimeout):
            try:
                await self._check_back()
            except Problem as problem:
                return problem
        detail = "all connections to the database are busy"
        return Problem(503, "busy", detail, headers=retry_after("1"))


def check_scope(scope: str, scopes: Sequence[str]) -> None:
    """Raise a Problem where a token is not good for a scope."""
    if scope not in scopes:
        detail = f"the token is not good for {scope}, only for {', '.join(scopes)}"
        raise Problem(403, "missing-scope", detail)


@lru_cache(maxsize=_MOST_TOKENS)
def _taking(digest: bytes, scope: str) -> str:
    """Return what takes a token's role, its values quoted: the same for all its calls."""
    return _written(RowsAsked(_TAKE_ROLE, {"digest": digest, "scope": scope}), Values())


class _Answer(NamedTuple):
    """Each query's rows, the server's warnings, and whether each role was given."""

    rows: list[list[dict[str, Any]]]
    warnings: list[str]
    has_role: bool


class _Failed(Exception):
    """A transaction that failed: what the server said, and whether the connection is gone."""

    def __init__(self, error: psycopg.Error, is_lost: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.is_lost = is_lost


async def _transaction(
    connection: _Connection, roles: Sequence[str], queries: Sequence[RowsAsked]
) -> _Answer:
    """Send a transaction's statements as one message: those that take roles, then queries.

    A message of several statements is a transaction. Each that is sent by itself would wake the
    server's session once more, which costs more than the statement.
    """
    connection.warnings = []
    try:
        written = (_written(query, connection.values) for query in queries)
        results = await exchange(connection, ";".join([*roles, *written]).encode())
        taken, told = results[: len(roles)], results[len(roles) :]
        rows = [_rows(result, connection.values) for result in told]
        return _Answer(rows, connection.warnings, all(result.ntuples for result in taken))
    except psycopg.Error as error:
        raise _Failed(error, connection.broken) from error


def _written(query: RowsAsked, values: Transformer) -> str:
    """Return a statement with its parameters as literals."""
    if not query.parameters:
        return query.sql
    given = query.parameters.items()
    return query.sql % {name: values.as_literal(value).decode() for name, value in given}


def _rows(result: PGresult, values: Transformer) -> list[dict[str, Any]]:
    names = [(result.fname(column) or b"").decode() for column in range(result.nfields)]
    values.set_pgresult(result)
    return values.load_rows(0, result.ntuples, lambda row: dict(zip(names, row, strict=True)))


def _unknown() -> Problem:
    return Problem(401, "invalid-token", "the token is unknown, or was revoked")


def _problem(error: psycopg.Error) -> Problem:
    return problem_of(error) or Problem(500, "internal-error", "the database failed")


def _no_role(error: psycopg.Error) -> Problem:
    """Return the problem of a token whose role the door may not take."""
    advice = translate(error)
    hint = "GRANT the token's role TO the role that serve connects as, or revoke the token"
    detail = advice.message if advice else str(error)
    return Problem(403, "role-not-granted", detail, hint=hint, sqlstate=error.sqlstate)
