"""A client's way to the database, opened anew where it broke; and which errors mean that it did."""

from collections.abc import Sequence
from typing import Any

import httpx
import psycopg

# Connections, shutdowns of the server, too many connections while it comes back.
_LOST_CLASSES = ("08", "57", "53")
_CANCELED = "57014"
# What callers are told to try again: a space in use, an index that another session makes.
RETRIED = (psycopg.errors.LockNotAvailable,)
ROLLED_BACK = (*RETRIED, psycopg.errors.DeadlockDetected)  # and nobody should see the latter


class AwayError(Exception):
    """A command or an HTTP call says that the database is away."""


class Session:
    """A connection in autocommit mode that prepares nothing: pgbouncer 1.18 keeps no statements."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[Any] | None = None

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """The connection; a new one where there is none, or a broken one."""
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(
                self._url, autocommit=True, prepare_threshold=None, connect_timeout=30
            )
        return self._connection

    def rows(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Run a statement; return its rows."""
        values: Sequence[Any] | None = parameters or None
        cursor = self.connection.execute(statement.encode(), values)
        return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        """Close the connection; the next statement opens another."""
        if self._connection is not None:
            self._connection.close()


def is_lost(error: BaseException) -> bool:
    """Tell whether an error means that the server or the way to it is gone.

    psycopg has an error without a state where FATAL comes right behind an answer.
    """
    if isinstance(error, psycopg.InternalError):
        return error.sqlstate is None
    if isinstance(error, psycopg.OperationalError):
        state = error.sqlstate
        return state is None or (state[:2] in _LOST_CLASSES and state != _CANCELED)
    return isinstance(error, (AwayError, httpx.TransportError))
