"""Statements of the program in a session: prepared by name, their values as texts, their rows."""

import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import count, repeat
from secrets import token_hex
from typing import Any, NamedTuple

from psycopg.adapt import Transformer
from psycopg.pq import Format

from pgblend.cli.doors.wire import messages as wire
from pgblend.cli.doors.wire.own_statements import ServerError
from pgblend.cli.doors.wire.session import Session
from pgblend.cli.search.foreseen import Asked
from pgblend.cli.search.outside import LOST_NAMES, ValuesContext
from pgblend.plpy.base.session import MOST_PLANS, Rows

_LENGTH = struct.Struct("!i")
_NONE = _LENGTH.pack(-1)

Warned = tuple[str, str | None]
"""A warning and its hint."""
_Columns = Sequence[tuple[str, Callable[[Any], Any]]]


_VALUES = Transformer(ValuesContext())


class _Named(NamedTuple):
    """A statement that the session has, and the columns of its rows."""

    name: bytes
    columns: _Columns


class _Sent(NamedTuple):
    """A statement that was sent, and the columns of its rows where they were known."""

    asked: Asked
    name: bytes
    columns: _Columns | None


class Prepared:
    """What one session has prepared, by names that its client does not draw.

    `stays`: no pooler is behind that may give each transaction to another session; else nothing is
    named.
    """

    def __init__(self, stays: bool) -> None:
        self._names = map(f"pgblend_{token_hex(4)}_{{}}".format, count()) if stays else repeat("")
        self._known: dict[tuple[str, tuple[int, ...]], _Named] = {}
        self._stale: list[bytes] = []  # names that are to be closed
        self._warned: list[Warned] = []

    def warned(self) -> list[Warned]:
        """Return what the server warned of in the statements that were read since the last call."""
        found, self._warned = self._warned, []
        return found

    def send(self, session: Session, asked: Sequence[Asked], ahead: bool = False) -> Iterator[Rows]:
        """Send statements at once; what is returned yields their rows, or ServerError.

        It is to be read to its end. Rows that are sent `ahead` arrive as soon as they are there.
        """
        if len(self._known) + len(asked) > MOST_PLANS:
            self._stale += [one.name for one in self._known.values()]
            self._known.clear()
        requests, sent = [*map(_closing, self._stale)], list[_Sent]()
        self._stale = []
        for one in asked:
            known = self._known.get(_key(one))
            name = known.name if known else next(self._names).encode()
            if ahead and sent:
                requests.append(wire.message(wire.FLUSH))
            requests.append(requests_of(one, name, known is not None))
            sent.append(_Sent(one, name, known and known.columns))
        number = session.send(b"".join(requests) + wire.message(wire.SYNC))
        return self._rows(session, sent, number)

    def _rows(self, session: Session, sent: list[_Sent], number: int) -> Iterator[Rows]:
        parts: list[bytes] = []
        failed: ServerError | None = None
        waiting = iter(sent)
        try:
            for part, is_posted in session.answer_to(number):
                kind = part[:1]
                if kind == wire.READY:
                    parts = []
                    continue
                parts.append(part)
                if kind == wire.NOTICE and not is_posted:
                    fields = wire.fields_of(part)
                    if fields.get("V") == "WARNING":
                        self._warned.append((fields.get("M", ""), fields.get("H")))
                elif kind == wire.ERROR and failed is None:
                    failed = ServerError(part, parts, is_posted)
                elif kind == wire.COMPLETE and not is_posted:
                    yield self._read(next(waiting), parts)
                    parts = []
        finally:  # what was not read may be there, under its name
            self._stale += [one.name for one in waiting if one.name and one.columns is None]
        if failed:
            raise failed

    def forgets(self, fields: dict[str, str]) -> bool:
        """Whether an error says that something is no longer prepared: then it is anew."""
        if not self._known or fields.get("C") not in LOST_NAMES:
            return False
        self._stale += [one.name for one in self._known.values()]
        self._known.clear()
        return True

    def _read(self, sent: _Sent, answer: list[bytes]) -> Rows:
        columns = _columns_in(answer) if sent.columns is None else sent.columns
        if sent.columns is None and sent.name:
            known = self._known.setdefault(_key(sent.asked), _Named(sent.name, columns))
            if known.name != sent.name:  # it was sent twice before it was known
                self._stale.append(sent.name)
        return [_values(part, columns) for part in answer if part[:1] == wire.ROW]


def _key(asked: Asked) -> tuple[str, tuple[int, ...]]:
    return asked.statement, tuple(one.oid for one in asked.given)


def _closing(name: bytes) -> bytes:
    return wire.message(wire.CLOSE, b"S" + name + b"\0")


def requests_of(asked: Asked, name: bytes = b"", is_known: bool = False) -> bytes:
    """Return the messages that run a statement with its values as texts."""
    given = asked.given
    texts = (None if one.text is None else one.text.encode() for one in given)
    values = b"".join(
        _NONE if text is None else struct.pack("!i", len(text)) + text for text in texts
    )
    bound = b"\0" + name + b"\0" + struct.pack("!hh", 0, len(given)) + values + b"\0\0"
    run = wire.message(wire.EXECUTE, b"\0" + bytes(4))
    if is_known:
        return wire.message(wire.BIND, bound) + run
    oids = struct.pack(f"!h{len(given)}I", len(given), *(one.oid for one in given))
    return (
        wire.message(wire.PARSE, name + b"\0" + wire.text(asked.statement) + oids)
        + wire.message(wire.BIND, bound)
        + wire.message(wire.DESCRIBE, b"P\0")
        + run
    )


def read_rows(answer: list[bytes]) -> Rows:
    """Return the rows of an answer, of all its statements."""
    columns: _Columns = []
    rows: list[dict[str, Any]] = []
    for part in answer:
        if part[:1] == wire.COLUMNS:
            columns = [*_columns(part)]
        elif part[:1] == wire.ROW:
            rows.append(_values(part, columns))
    return rows


def _columns_in(answer: list[bytes]) -> _Columns:
    return [each for part in answer if part[:1] == wire.COLUMNS for each in _columns(part)]


def _columns(description: bytes) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    (count,), at = struct.unpack_from("!h", description, 5), 7
    for _ in range(count):
        end = description.index(b"\0", at)
        _, _, oid, _, _, _ = struct.unpack_from("!IhIhih", description, end + 1)
        yield description[at:end].decode(), _VALUES.get_loader(oid, Format.TEXT).load
        at = end + 19


def _values(row: bytes, columns: _Columns) -> dict[str, Any]:
    values, at = dict[str, Any](), 7
    for name, load in columns:
        (length,) = _LENGTH.unpack_from(row, at)
        at += 4
        if length < 0:
            values[name] = None
        else:
            values[name] = load(row[at : at + length])
            at += length
    return values
