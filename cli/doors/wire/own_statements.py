"""Statements of the door's own in a client's session: between the client's, and answered to it."""

from collections import deque
from collections.abc import Collection

from pgblend.cli.doors.wire import messages as wire
from pgblend.cli.doors.wire.link import Link, Waiter
from pgblend.cli.doors.wire.telling import calls_in

_OF_ROWS = (wire.ROW, wire.COPIED)


class GoneError(Exception):
    """One side closed the session's connection."""


class ServerError(Exception):
    """What the server answered to a statement of the door's."""

    def __init__(self, answer: bytes, whole: list[bytes], is_posted: bool) -> None:
        self.answer, self.fields, self.whole = answer, wire.fields_of(answer), whole
        self.is_posted = is_posted  # nobody waited for it
        super().__init__(self.fields.get("M", ""))


class OwnStatements:
    """Sends them behind what waits for nobody, and reads their answers."""

    def __init__(self, client: Link, server: Link) -> None:
        self.client, self.server = client, server
        self.state = wire.IDLE
        self.announced = 0  # the server's process, as the login told it
        self._there = Waiter(server)
        self._came: deque[bytes] = deque()  # of the server, and not yet looked at
        self._posting: list[str] = []  # what is sent with what follows
        self._posted = 0  # messages of them that were sent, whose answers nobody waits for
        self._is_unnamed_lost = False  # one took the place of the client's unnamed statement

    def ask(self, statement: str) -> list[bytes]:
        """Run a statement of the door's and return its answer; ServerError where it failed."""
        return self.exchange(wire.query(statement))

    def stays(self) -> bool:
        """Whether all its transactions run in one process: a pooler announces another than that."""
        (*_, row, _) = self.ask("SELECT pg_catalog.pg_backend_pid()")
        return row[11:] == str(self.announced).encode()

    def post(self, statement: str) -> None:
        """Have a statement run before what is sent next; who waits for that has its error."""
        self._is_unnamed_lost = True
        self._posting.append(statement)

    def _send(self, requests: bytes) -> None:
        if self._posting:  # one message: for each the server would wake the door
            self.server.put(wire.query("; ".join(self._posting)))
            self._posting.clear()
            self._posted += 1
        self.server.put(requests)

    def exchange(self, requests: bytes, leaves: Collection[bytes] = ()) -> list[bytes]:
        """Send what ends with the server being ready, and return its answer; or ServerError.

        Parts of a kind in `leaves` are left out.
        """
        before = self.send(requests)
        parts: list[bytes] = []
        failed: ServerError | None = None
        while True:
            part = self.next_part()
            kind = part[:1]
            if kind == wire.READY and not before:
                break
            if kind == wire.READY:
                before, parts = before - 1, []
            elif kind not in leaves:
                parts.append(part)
                if kind == wire.ERROR and failed is None:
                    failed = ServerError(part, parts, before > 0)
        if failed:
            raise failed
        return parts

    def send(self, requests: bytes) -> int:
        """Send what ends with the server being ready; return how often it is ready before that."""
        self._is_unnamed_lost = True
        self._send(requests)
        before, self._posted = self._posted, 0
        return before

    def next_part(self) -> bytes:
        """Return the next part of what the server answers to the door."""
        while True:
            part = self._next_answer()
            match part[:1]:
                case wire.NOTIFICATION | wire.PARAMETER:
                    self.client.put(part)
                    continue
                case kind if kind in wire.COPIES:
                    self.server.put(wire.message(b"f", wire.text("nothing is copied ahead")))
                    continue
                case wire.READY:
                    self.state = part[5:6]
            return part

    def _next_answer(self) -> bytes:
        while not self._came:
            if self.server.is_gone:
                raise GoneError
            self._there.wait(True)
            self._came.extend(wire.take_messages(self.server.received))
        return self._came.popleft()

    def gather(self, requests: bytes) -> list[str]:
        """Send what is taken back; return the calls that its stand-ins need answers for."""
        try:
            found = self.exchange(requests, leaves=_OF_ROWS)
        except ServerError as error:
            found = error.whole
        return calls_in(found)
