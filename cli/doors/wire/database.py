"""The program's Database over a session of the door."""

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import psycopg
from psycopg.adapt import AdaptersMap, Transformer
from psycopg.pq import Format
from psycopg.sql import SQL, Literal

from pgblend.cli.doors.wire import messages as wire
from pgblend.cli.doors.wire.session import NEEDS_ANSWER, ServerError, Session
from pgblend.cli.doors.wire.telling import telling
from pgblend.cli.search.outside import (
    SETTINGS,
    Outside,
    StatementError,
    Typed,
    adapt_values,
    settings_of,
)
from pgblend.plpy.base.session import Rows, UserError

_BEGUN = "SAVEPOINT pgblend_begun"
_AS_BEGUN = "ROLLBACK TO SAVEPOINT pgblend_begun"
_BEFORE = "SELECT " + ", ".join(
    f"pg_catalog.current_setting('{name}', true) AS \"{name}\""
    for name in (*SETTINGS, "search_path", "role")
)
_MOST_ROUNDS = 10  # of answers that need others
_NONE = struct.pack("!i", -1)


class _Context:
    """What psycopg's Transformer asks of a connection."""

    adapters = AdaptersMap(psycopg.adapters)
    connection = None


adapt_values(_Context.adapters)
_VALUES = Transformer(_Context())


class SessionDatabase(Outside):
    """Statements of the program in a client's session, as the client.

    What they call may be stand-ins again, whose answers are made by `answer` and told.
    """

    def __init__(
        self,
        session: Session,
        answer: Callable[[str], str],
    ) -> None:
        self._session, self._answer = session, answer
        self._told: list[str] = []
        self._writes = False
        super().__init__()

    @contextmanager
    def begun(self, settings: dict[str, str], writes: bool) -> Iterator[None]:
        """Set what the caller has and the program expects; what it writes stays.

        The role is the caller's: who may not become it has no answer.
        """
        self._told, self._writes = [], writes
        before = read_rows(self._session.ask(_BEFORE))[0] if writes else {}
        try:
            self._session.ask(f"{settings_of(settings).as_string()}; {_BEGUN}")
        except ServerError as error:
            raise _statement_error(error.fields) from None
        yield
        if writes:
            given = (
                SQL("pg_catalog.set_config({}, {}, true)").format(Literal(name), Literal(value))
                for name, value in before.items()
                if value is not None
            )
            self._session.ask(SQL("SELECT {}").format(SQL(", ").join([*given])).as_string())

    def _rows(self, statement: str, given: list[Typed]) -> Rows:
        requests = _requests(statement, given)
        for _ in range(_MOST_ROUNDS):
            try:
                found = read_rows(self._session.exchange(requests))
            except ServerError as error:
                fields = error.fields
            else:
                if self._writes:
                    self._session.ask(f"RELEASE {_BEGUN}; {_BEGUN}")
                return found
            self._session.ask(_AS_BEGUN)
            if fields.get("C") != NEEDS_ANSWER or not self._learns(requests):
                break
        raise _statement_error(fields)

    def _learns(self, requests: bytes) -> bool:
        """Have the answers made that a statement needs; say whether there are any."""
        self._session.ask(telling(self._told, gathers=True))
        calls = self._session.gather(requests)
        self._session.ask(_AS_BEGUN)
        told, self._told = self._told, []
        for call in calls:
            told.append(self._answer(call))
        self._told = told
        if told:
            self._session.ask(telling(told))
        return bool(calls)


def _statement_error(fields: dict[str, str]) -> StatementError:
    return StatementError(
        fields.get("M", ""),
        fields.get("C"),
        hint=fields.get("H"),
        detail=fields.get("D"),
        table_name=fields.get("t"),
    )


class Plpy:
    """What bodies ask of PL/Python's module itself."""

    def __init__(self, db: SessionDatabase) -> None:
        self._db = db

    def prepare(self, statement: str, types: Sequence[str] = ()) -> tuple[str, list[str]]:
        """Return what `execute` and `cursor` run."""
        return statement, [*types]

    def execute(self, plan: str | tuple[str, list[str]], values: Sequence[Any] = ()) -> Rows:
        """Run a statement and return its rows."""
        statement, types = (plan, []) if isinstance(plan, str) else plan
        return self._db.run(statement, types, *values)

    def cursor(self, plan: tuple[str, list[str]], values: Sequence[Any] = ()) -> "_Cursor":
        """Run a statement whose rows are taken bit by bit."""
        return _Cursor(self.execute(plan, values))

    def error(self, message: str, sqlstate: str, hint: str) -> None:
        """End the call with an error."""
        raise UserError(message, hint, sqlstate)


class _Cursor:
    """Rows that are taken bit by bit."""

    def __init__(self, rows: Rows) -> None:
        self._rows = iter(rows)

    def __iter__(self) -> Iterator[Any]:
        return self._rows

    def fetch(self, most: int) -> list[Any]:
        """Return the next rows."""
        return [*islice(self._rows, most)]


def _requests(statement: str, given: list[Typed]) -> bytes:
    """Return the messages that run a statement with its values as texts."""
    oids = struct.pack(f"!h{len(given)}I", len(given), *(one.oid for one in given))
    texts = (None if one.text is None else one.text.encode() for one in given)
    values = b"".join(
        _NONE if text is None else struct.pack("!i", len(text)) + text for text in texts
    )
    return (
        wire.message(wire.PARSE, b"\0" + wire.text(statement) + oids)
        + wire.message(wire.BIND, b"\0\0" + struct.pack("!hh", 0, len(given)) + values + b"\0\0")
        + wire.message(wire.DESCRIBE, b"P\0")
        + wire.message(wire.EXECUTE, b"\0" + bytes(4))
        + wire.message(wire.SYNC)
    )


def read_rows(answer: list[bytes]) -> Rows:
    """Return the rows of an answer."""
    columns: list[tuple[str, Callable[[Any], Any]]] = []
    rows: list[dict[str, Any]] = []
    for part in answer:
        if part[:1] == wire.COLUMNS:
            columns = [*_columns(part)]
        elif part[:1] == wire.ROW:
            rows.append(dict(_values(part, columns)))
    return rows


def _columns(description: bytes) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    (count,), at = struct.unpack_from("!h", description, 5), 7
    for _ in range(count):
        end = description.index(b"\0", at)
        _, _, oid, _, _, _ = struct.unpack_from("!IhIhih", description, end + 1)
        yield description[at:end].decode(), _VALUES.get_loader(oid, Format.TEXT).load
        at = end + 19


def _values(
    row: bytes, columns: list[tuple[str, Callable[[Any], Any]]]
) -> Iterator[tuple[str, Any]]:
    at = 7
    for name, load in columns:
        (length,) = struct.unpack_from("!i", row, at)
        at += 4
        if length < 0:
            yield name, None
        else:
            yield name, load(row[at : at + length])
            at += length
