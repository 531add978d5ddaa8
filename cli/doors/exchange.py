"""One message to PostgreSQL and all that its session answers.

The event loop is told once what is waited for. The cursors of psycopg tell it anew for each part of
an answer, which costs more than to read it.
"""

import asyncio
from typing import Any

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

_CANCEL_SECONDS = 5
_LOOK_SECONDS = 0.1  # uvloop tells a reader nothing of a socket that was reset


async def exchange(connection: psycopg.AsyncConnection[Any], message: bytes) -> list[PGresult]:
    """Send statements as one message; return the result of each.

    The connection is the caller's alone. A psycopg.Error says what failed. Who is cancelled
    meanwhile has the statements cancelled; a session that goes on nevertheless is still active.
    """
    running = _Exchange(connection.pgconn)
    try:
        running.send(message)
        await running.end
    except asyncio.CancelledError:
        await running.cancel(connection)
        raise
    finally:
        running.leave()
    for result in running.results:
        if result.status == ExecStatus.FATAL_ERROR:
            raise error_from_result(result, connection.info.encoding)
    if running.lost:
        raise running.lost
    return running.results


class _Exchange:
    """What is still to be sent to a session, and what has been read."""

    def __init__(self, session: psycopg.pq.abc.PGconn) -> None:
        self._session = session
        self._socket = session.socket
        self._loop = asyncio.get_running_loop()
        self._is_reading = self._is_sending = False
        self.results: list[PGresult] = []
        self.lost: psycopg.Error | None = None  # why nothing more can be read
        self.end: asyncio.Future[None] = self._loop.create_future()

    def send(self, message: bytes) -> None:
        """Begin to send; `end` is done when all is answered."""
        self._session.send_query(message)
        self._listen()
        self._is_sending = bool(self._session.flush())
        if self._is_sending:
            self._loop.add_writer(self._socket, self._send_on)

    def leave(self) -> None:
        """Wait for nothing more: a socket that is lost may be somebody else's by now."""
        if self._is_reading:
            self._look.cancel()
            self._loop.remove_reader(self._socket)
        if self._is_sending:
            self._loop.remove_writer(self._socket)
        self._is_reading = self._is_sending = False

    async def cancel(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Have the server end it, and read the rest."""
        if self._session.transaction_status != TransactionStatus.ACTIVE:
            return
        self.end = self._loop.create_future()
        try:
            async with asyncio.timeout(_CANCEL_SECONDS):
                await connection.cancel_safe(timeout=_CANCEL_SECONDS)
                await self.end
        except (TimeoutError, psycopg.Error):
            return

    def _listen(self) -> None:
        self._loop.add_reader(self._socket, self._receive)
        self._look = self._loop.call_later(_LOOK_SECONDS, self._look_again)
        self._is_reading = True

    def _look_again(self) -> None:
        self._receive()
        if self._is_reading:
            self._loop.remove_reader(self._socket)
            self._listen()

    def _send_on(self) -> None:
        try:
            if self._session.flush():
                return
        except psycopg.Error as error:
            self._lose(error)
        else:
            self._is_sending = False
            self._loop.remove_writer(self._socket)

    def _receive(self) -> None:
        try:
            self._session.consume_input()
            while not self._session.is_busy():
                result = self._session.get_result()
                if result is None:
                    self._settle()
                    return
                self.results.append(result)
        except psycopg.Error as error:
            self._lose(error)

    def _lose(self, error: psycopg.Error) -> None:
        self.lost = error
        self.leave()
        self._settle()

    def _settle(self) -> None:
        if not self.end.done():
            self.end.set_result(None)
