"""The program's Database over a connection of this process, as the caller's role.

All that a transaction needs travels with its BEGIN, and nothing stays behind it. A pooler may hand
each transaction to another session. What is called over it: `calls_outside`.
"""

import select
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from itertools import count
from secrets import token_hex
from typing import Any

import psycopg
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ConnStatus, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from pgblend.cli.search.foreseen import Asked, ForeseeingDatabase
from pgblend.cli.search.outside import (
    LOST_NAMES,
    PATH,
    SETTINGS,
    StatementError,
    Typed,
    ValuesContext,
    setting,
    statement_error,
)
from pgblend.plpy.base.session import MOST_PLANS, Rows

_OPEN = (TransactionStatus.INTRANS, TransactionStatus.INERROR)
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_SAVEPOINT, _GO_BACK = "SAVEPOINT begun", "ROLLBACK TO SAVEPOINT begun"
_ROLLBACK, _FORGET = "ROLLBACK", "DEALLOCATE ALL"
# What code of others prepares in SQL is from_sql: so what they replaced, or took away, is missed.
_COUNT = """
    SELECT pg_catalog.count(*) FROM pg_catalog.pg_prepared_statement() AS p
    WHERE NOT p.from_sql AND pg_catalog.starts_with(p.name, '{}')"""
_UNNAMED = frozenset((_BEGIN, _SAVEPOINT, _GO_BACK, _ROLLBACK, _FORGET))


class SpoiltError(psycopg.DatabaseError):
    """Code that a statement ran took away, or replaced, what this process had prepared."""


class NotTakenError(Exception):
    """A statement of `taking` gave no row, that at `place`: the program has run nothing."""

    def __init__(self, place: int) -> None:
        super().__init__(f"statement {place} of taking gave no row")
        self.place = place


class Connection(ForeseeingDatabase):
    """The Database of the program in a process, over a connection that begins no transactions.

    A failed statement leaves the transaction as it was before all statements: none of them writes.
    Statements are prepared where `prepares`: a pooler names them itself, so none would be counted.
    `taking` are statements that each transaction begins with, and that give a row: they take the
    caller's role.
    """

    Failed = StatementError

    def __init__(
        self,
        connection: "psycopg.Connection[Any]",
        session: MutableMapping[str, Any] | None = None,
        prepares: bool = True,
    ) -> None:
        if not connection.autocommit:
            raise ValueError("the connection begins transactions: expected one in autocommit mode")
        self.connection = connection
        self.taking: Sequence[str] = ()
        self.trips = 0
        self._pipeline = _Pipeline(connection, prepares)
        self._values = Transformer(ValuesContext())
        self._posted: list[Asked] = []
        self._takes = range(0)  # places of `taking` among them
        super().__init__(session)

    @contextmanager
    def transaction(self, role: str | None = None) -> Iterator[None]:
        """Open a snapshot that nothing writes in, as a role; end it whatever happens."""
        roles = {} if role is None else {"role": role}
        ready = setting(roles | SETTINGS).as_string(), _SAVEPOINT
        begin = *self._pipeline.to_forget(), _BEGIN, PATH
        self._posted = [_plain(text) for text in (*begin, *self.taking, *ready)]
        self._takes = range(len(begin), len(begin) + len(self.taking))
        self.connection.add_notice_handler(self._note)
        try:
            yield
        finally:
            self.connection.remove_notice_handler(self._note)
            if self.connection.info.transaction_status in _OPEN:
                self._pipeline.results([_plain(_ROLLBACK)])

    def _note(self, notice: psycopg.errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            self.warn(notice.message_primary or "", notice.message_hint)

    def _asked_alone(self, asked: Asked) -> Rows:
        try:
            return super()._asked_alone(asked)
        except StatementError as error:
            if error.sqlstate not in LOST_NAMES or not self._pipeline.forget():
                raise
        return super()._asked_alone(asked)

    def _exchange(self, asked: Sequence[Asked]) -> list[Rows]:
        posted, self._posted = self._posted, []
        takes, self._takes = self._takes, range(0)
        self.trips += 1
        results = self._pipeline.results([*posted, *asked])
        for result in results[: len(posted)]:
            if result.status == ExecStatus.FATAL_ERROR:
                error = error_from_result(result)
                if error.sqlstate in LOST_NAMES:
                    self._pipeline.forget()
                raise error  # the program goes on after none of them
        for place in takes:
            if not results[place].ntuples:
                raise NotTakenError(place - takes.start)
        told = results[len(posted) :]
        for result in told:
            if result.status == ExecStatus.FATAL_ERROR:
                raise statement_error(error_from_result(result))
        return [self._read(result) for result in told]

    def _post_rollback(self) -> None:
        self._posted.append(_plain(_GO_BACK))

    def _read(self, result: PGresult) -> Rows:
        names = [(result.fname(column) or b"").decode() for column in range(result.nfields)]
        self._values.set_pgresult(result)
        return self._values.load_rows(
            0, result.ntuples, lambda row: dict(zip(names, row, strict=True))
        )


def _plain(text: str) -> Asked:
    return Asked(text, ())


_Key = tuple[str, tuple[int, ...]]  # a statement and the types of its values


class _Pipeline:
    """Statements of one session that travel at once, prepared by names of this process."""

    def __init__(self, connection: "psycopg.Connection[Any]", prepares: bool) -> None:
        self._session, self._prepares = connection.pgconn, prepares
        self._poll = select.poll()
        self._has_failed = False
        self._known: dict[_Key, bytes] = {}
        self.forget()

    def to_forget(self) -> list[str]:
        """Return the statement that makes room where too much is prepared."""
        return [_FORGET] if len(self._known) >= MOST_PLANS and self.forget() else []

    def forget(self) -> bool:
        """Prepare all anew, by other names; say whether there was anything."""
        had = bool(self._known)
        self._known.clear()
        start = f"pgblend_{token_hex(4)}_"
        self._names = map(f"{start}{{}}".format, count())
        self._count = _COUNT.format(start).encode()
        return had

    def results(self, asked: Sequence[Asked]) -> list[PGresult]:
        """Run statements and return the result of each; after one that failed none runs.

        SpoiltError where one of them, or what was before, was not what this process prepared.
        """
        values = [[_encoded(value) for value in one.given] for one in asked]
        new: dict[int, tuple[_Key, bytes]] = {}  # by place of what was to prepare it
        places: list[int] = []  # of each statement's own result
        self._session.enter_pipeline_mode()
        for one, given in zip(asked, values, strict=True):
            key = one.statement, tuple(value.oid for value in one.given)
            name = self._known.get(key)
            if name is None and self._prepares and one.statement not in _UNNAMED:
                name = next(self._names).encode()
                new[len(new) + len(places)] = key, name
                self._session.send_prepare(name, one.statement.encode(), key[1])
            places.append(len(new) + len(places))
            if name is None:
                self._session.send_query_params(one.statement.encode(), given, key[1])
            else:
                self._session.send_query_prepared(name, given)
        counts = self._prepares and (self._has_failed or asked[0].statement != _ROLLBACK)
        if counts:
            self._session.send_query_params(self._count, None)
        self._session.pipeline_sync()
        results = self._received()
        self._session.exit_pipeline_mode()
        for place, (key, name) in new.items():
            if results[place].status == ExecStatus.COMMAND_OK:
                self._known[key] = name
        self._has_failed = any(one.status == ExecStatus.FATAL_ERROR for one in results)
        if counts and not self._has_failed and self._is_spoilt(results[-1]):
            self.forget()
            raise SpoiltError("somebody prepared in SQL what pgblend had prepared")
        failed = {
            place + 1: results[place]
            for place in new
            if results[place].status == ExecStatus.FATAL_ERROR
        }
        return [failed.get(place, results[place]) for place in places]

    def _is_spoilt(self, counted: PGresult) -> bool:
        return counted.get_value(0, 0) != str(len(self._known)).encode()

    def _received(self) -> list[PGresult]:
        """Return all results up to the end of the pipeline."""
        results: list[PGresult] = []
        is_sending = bool(self._session.flush())
        while True:
            while is_sending or self._session.is_busy():
                self._wait(is_sending)
                self._session.consume_input()
                is_sending = is_sending and bool(self._session.flush())
            result = self._session.get_result()
            if result is None:  # which ends a statement
                if self._session.status == ConnStatus.BAD:
                    raise psycopg.OperationalError("the connection is lost")
                continue
            if result.status == ExecStatus.PIPELINE_SYNC:
                return results
            results.append(result)

    def _wait(self, is_sending: bool) -> None:
        self._poll.register(
            self._session.socket, select.POLLIN | (select.POLLOUT if is_sending else 0)
        )
        self._poll.poll()


def _encoded(value: Typed) -> bytes | None:
    if value.text is None:
        return None
    if "\0" in value.text:  # where libpq would end it
        raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
    return value.text.encode()
