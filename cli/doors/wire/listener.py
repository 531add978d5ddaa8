"""Where SQL clients arrive: TLS on both sides, requests to cancel, a thread for each session."""

import logging
import os
import signal
import socket
import ssl
import struct
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import synchronize
from typing import NamedTuple

from pgblend.cli.doors.wire import messages as wire
from pgblend.cli.doors.wire.answering import Answers
from pgblend.cli.doors.wire.own_statements import CanceledError, GoneError, ServerError
from pgblend.cli.doors.wire.peer import Peer
from pgblend.cli.doors.wire.session import Session

_LONGEST = 65_536


class Siblings:
    """Processes of one door; to be made before they are forked off."""

    def __init__(self, count: int) -> None:
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(count)]
        self._hearing, self._telling = zip(*pairs, strict=True)

    def tell(self, message: bytes, connection: socket.socket) -> None:
        """Hand a client's message to all of them, and the connection that it came by."""
        for one in self._telling:
            socket.send_fds(one, [message], [connection.fileno()])

    def hear(self, place: int, take: Callable[[bytes, socket.socket], None]) -> None:
        """Have threads take what is told to the process at a place."""

        def hear() -> None:
            while True:
                message, given, _, _ = socket.recv_fds(self._hearing[place], _LONGEST, 1)
                for number in given:
                    asked = message, socket.socket(fileno=number)
                    threading.Thread(target=take, args=asked, daemon=True).start()

        threading.Thread(target=hear, daemon=True).start()


def forked(count: int, serve: Callable[[int], None]) -> set[int]:
    """Run `serve` in so many processes, which end with this one, and return their ids."""
    ended, alive = os.pipe()  # nobody writes: the other end is open while this process lives
    found = {_forked(partial(serve, place), ended, alive) for place in range(count)}
    os.close(ended)
    return found


def wait_for(processes: set[int]) -> bool:
    """Wait until all have ended well, or one has not: then this process is to end, and so they do.

    SIGTERM and SIGINT reach all of them.
    """

    def stop(*_: object) -> None:
        for process in processes:
            os.kill(process, signal.SIGTERM)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    while processes:
        process, status = os.wait()
        processes.discard(process)
        if status:
            return False
    return True


def _forked(serve: Callable[[], None], ended: int, alive: int) -> int:
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        os.close(alive)
        threading.Thread(target=_end_with_parent, args=(ended,), daemon=True).start()
        serve()
        status = 0
    except BaseException:  # which os._exit would not show
        traceback.print_exc()
    finally:
        os._exit(status)


def _end_with_parent(ended: int) -> None:
    os.read(ended, 1)
    os._exit(1)


_log = logging.getLogger(__name__)
_START_SECONDS = 10  # for the first message, and for TLS
_CONNECT_SECONDS = 5
_TLS_RECORD = b"\x16"  # the first byte of a client that speaks TLS at once
_ALPN = "postgresql"
_PIECE = 4096
_LONGEST_LOGIN = 65_536  # as PostgreSQL takes them
_CLOSE_STEP_SECONDS = 0.05


class ServerPlace(NamedTuple):
    """Where the server is; without `tls` what is sent there can be read on its way."""

    host: str
    port: int
    tls: ssl.SSLContext | None

    def connect(self) -> socket.socket:
        """Open a connection, with TLS where it is wanted; OSError where that fails."""
        if self.host.startswith("/"):
            there = socket.socket(socket.AF_UNIX)
            there.settimeout(_CONNECT_SECONDS)
            there.connect(f"{self.host}/.s.PGSQL.{self.port}")
            return there
        there = socket.create_connection((self.host, self.port), _CONNECT_SECONDS)
        if self.tls is None:
            return there
        try:
            there.sendall(struct.pack("!ii", 8, wire.SSL_REQUEST))
            if there.recv(1) != b"S":
                raise ConnectionError("the server has no TLS")
            return self.tls.wrap_socket(there, server_hostname=self.host)
        except BaseException:
            there.close()
            raise


class _Start(NamedTuple):
    """What a client begins with."""

    connection: socket.socket
    number: int
    message: bytes


@dataclass
class PostgresDoor:
    """Takes clients in until it is closed; `answers` makes what answers a session's stand-ins."""

    server: ServerPlace
    tls: ssl.SSLContext | None
    most: int
    answers: Callable[[Session], Answers | None]
    # How many sessions more there may be; processes of one door share it.
    places: "threading.Semaphore | synchronize.Semaphore | None" = None
    siblings: Siblings | None = None  # its processes, of which each has other sessions
    _sessions: set[Session] = field(default_factory=set)
    _beginning: threading.Semaphore = field(init=False)  # as many may be about to say who they are

    def __post_init__(self) -> None:
        self._places = self.places or threading.Semaphore(self.most)
        self._beginning = threading.Semaphore(self.most)

    def serve(self, listener: socket.socket) -> None:
        """Take clients in until the listener is closed."""
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            if self._beginning.acquire(blocking=False):
                threading.Thread(target=self._take_in, args=(connection,), daemon=True).start()
            else:
                connection.close()

    def close(self, seconds: float) -> None:
        """End each session once it is idle, or after so many seconds; its transaction with it."""
        until = time.monotonic() + seconds
        while self._sessions:
            is_late = time.monotonic() >= until
            for session in tuple(self._sessions):
                session.end(is_late)
            if is_late:
                return
            time.sleep(_CLOSE_STEP_SECONDS)

    def _take_in(self, connection: socket.socket) -> None:
        try:
            try:
                start = _start_of(connection, self.tls)
            finally:
                self._beginning.release()
            if start is None:
                return
            connection = start.connection
            if start.number == wire.CANCEL_REQUEST and self.siblings:
                self.siblings.tell(start.message, connection)
            elif start.number == wire.CANCEL_REQUEST:
                self.cancel(start.message, connection)
            elif self._places.acquire(False):
                try:
                    self._run(connection, start.message)
                finally:
                    self._places.release()
            else:
                hint = "Close sessions, or raise --connections of pgblend door."
                _refuse(connection, "53300", f"the door has {self.most} sessions already", hint)
        except (wire.BrokenProtocolError, CanceledError, GoneError, ServerError, OSError) as error:
            _log.info("a session ended: %s", error)
        finally:
            connection.close()

    def _run(self, connection: socket.socket, start: bytes) -> None:
        try:
            there = self.server.connect()
        except OSError as error:
            where = f"{self.server.host}:{self.server.port}"
            _refuse(connection, "08001", f"the door cannot reach the server {where}: {error}")
            return
        session = Session(Peer(connection), Peer(there))
        self._sessions.add(session)
        try:
            session.server.put(start)
            if not log_in(session):
                return
            answers = None if b"\0replication\0" in start else self.answers(session)
            if answers is None:
                session.hand_on()
            else:
                session.serve(answers)
        finally:
            session.client.close()
            there.close()
            self._sessions.discard(session)

    def cancel(self, message: bytes, connection: socket.socket) -> None:
        """Hand a request to cancel on, where the session is one of this process.

        The server closes its connection when it has it, and so does this. It forgets it where it
        waits for the door; the session does not, unless the turn has ended meanwhile.
        """
        with connection:
            for session in tuple(self._sessions):
                if session.key and session.key == message[8:]:
                    turn = session.turns
                    with self.server.connect() as there:
                        there.sendall(message)
                        there.recv(1)
                    session.canceled = turn


def log_in(session: Session) -> bool:
    """Hand the login on until the server waits for a statement; False where it refused."""
    client, server = session.client, session.server
    while not client.is_gone:
        session.both.wait(True, True)
        for request in wire.take_messages(client.received):
            server.put(request)
        if len(client.received) > _LONGEST_LOGIN:
            raise wire.BrokenProtocolError("a message of the login is too long")
        for answer in wire.take_messages(server.received):
            is_request = answer[:1] == wire.AUTHENTICATION
            client.put(wire.without_binding(answer) if is_request else answer)
            if answer[:1] == wire.PROCESS:
                session.key = answer[5:]
            if answer[:1] == wire.READY:
                return True
        if server.is_gone:
            break
    return False


def _start_of(connection: socket.socket, tls: ssl.SSLContext | None) -> _Start | None:
    """Read a client's first message, in TLS where it asks for that; None where it goes away."""
    connection.settimeout(_START_SECONDS)
    if connection.recv(1, socket.MSG_PEEK) == _TLS_RECORD:
        if tls is None:
            raise wire.BrokenProtocolError("a client spoke TLS, and the door has no certificate")
        connection = tls.wrap_socket(connection, server_side=True)
    buffer = bytearray()
    while True:
        piece = connection.recv(_PIECE)
        if not piece:
            return None
        buffer += piece
        if (taken := wire.take_start(buffer)) is None:
            continue
        number, message = taken
        if number not in (wire.SSL_REQUEST, wire.GSS_REQUEST):
            return _Start(connection, number, message)
        if buffer:  # somebody in between may have put it there
            raise wire.BrokenProtocolError("data came before the answer to a request for TLS")
        is_tls = number == wire.SSL_REQUEST and tls is not None
        connection.sendall(b"S" if is_tls else b"N")
        if is_tls and tls is not None and not isinstance(connection, ssl.SSLSocket):
            connection = tls.wrap_socket(connection, server_side=True)


def _refuse(connection: socket.socket, sqlstate: str, problem: str, hint: str = "") -> None:
    connection.sendall(wire.fatal(sqlstate, problem, hint))
