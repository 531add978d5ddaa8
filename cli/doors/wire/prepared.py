"""Statements of the program in a session: prepared by name, their values as texts, their rows."""

import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import count, repeat
from secrets import token_hex
from typing import Any, NamedTuple

from psycopg.adapt import Transformer
from psycopg.pq import Format

from pgblend.cli.doors.wire import messages as wire
from pgblend.cli.doors.wire.session import ServerError, Session
from pgblend.cli.search.foreseen import Asked
from pgblend.cli.search.outside import LOST_NAMES, ValuesContext
from pgblend.plpy.base.session import MOST_PLANS, Rows

_NONE = struct.pack("!i", -1)

_Columns = Sequence[tuple[str, Callable[[Any], Any]]]


_VALUES = Transformer(ValuesContext())


class _Named(NamedTuple):
    """A statement that the session has, and the columns of its rows."""

    name: bytes
    columns: _Columns


class Prepared:
    """What one session has prepared, by names that its client does not draw.

    `stays`: no pooler is behind that may give each transaction to another session; else nothing is
    named.
    """

    def __init__(self, stays: bool) -> None:
        self._names = map(f"pgblend_{token_hex(4)}_{{}}".format, count()) if stays else repeat("")
        self._known: dict[tuple[str, tuple[int, ...]], _Named] = {}
        self._stale: list[bytes] = []  # names that are to be closed

    def rows(self, session: Session, asked: Sequence[Asked]) -> list[Rows]:
        """Run statements at once and return their rows; ServerError with the first that failed."""
        if len(self._known) + len(asked) > MOST_PLANS:
            self._stale += [one.name for one in self._known.values()]
            self._known.clear()
        sent, names = [], []
        for one in asked:
            known = self._known.get(_key(one))
            names.append(known.name if known else next(self._names).encode())
            sent.append(requests_of(one, names[-1], known is not None))
        sent = [*map(_closing, self._stale), *sent, wire.message(wire.SYNC)]
        self._stale = []
        try:
            answers = _each(session.exchange(b"".join(sent)))
        except ServerError:
            known_names = {one.name for one in self._known.values()}
            self._stale = [name for name in names if name and name not in known_names]
            raise
        return [self._read(*each) for each in zip(asked, names, answers, strict=True)]

    def forgets(self, fields: dict[str, str]) -> bool:
        """Whether an error says that something is no longer prepared: then it is anew."""
        if not self._known or fields.get("C") not in LOST_NAMES:
            return False
        self._stale += [one.name for one in self._known.values()]
        self._known.clear()
        return True

    def _read(self, asked: Asked, name: bytes, answer: list[bytes]) -> Rows:
        known = self._known.get(_key(asked))
        columns = known.columns if known else _columns_in(answer)
        if known is None and name:
            self._known[_key(asked)] = _Named(name, columns)
        return [dict(_values(part, columns)) for part in answer if part[:1] == wire.ROW]


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
            rows.append(dict(_values(part, columns)))
    return rows


def _each(answer: list[bytes]) -> Iterator[list[bytes]]:
    """Yield the answer to each statement."""
    parts: list[bytes] = []
    for part in answer:
        parts.append(part)
        if part[:1] == wire.COMPLETE:
            yield parts
            parts = []


def _columns_in(answer: list[bytes]) -> _Columns:
    return [each for part in answer if part[:1] == wire.COLUMNS for each in _columns(part)]


def _columns(description: bytes) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    (count,), at = struct.unpack_from("!h", description, 5), 7
    for _ in range(count):
        end = description.index(b"\0", at)
        _, _, oid, _, _, _ = struct.unpack_from("!IhIhih", description, end + 1)
        yield description[at:end].decode(), _VALUES.get_loader(oid, Format.TEXT).load
        at = end + 19


def _values(row: bytes, columns: _Columns) -> Iterator[tuple[str, Any]]:
    at = 7
    for name, load in columns:
        (length,) = struct.unpack_from("!i", row, at)
        at += 4
        if length < 0:
            yield name, None
        else:
            yield name, load(row[at : at + length])
            at += length
