"""Statements of the door's own in a client's session: between the client's, and answered to it."""

from collections import deque
from collections.abc import Collection, Iterator
from contextlib import suppress

from pgblend.cli.doors.wire import messages as wire
from pgblend.cli.doors.wire.peer import Peer, Waiter
from pgblend.cli.doors.wire.telling import ROWS_WRITTEN, calls_in

_QUERY_CANCELED = "57014"
_NOT_COPIED = "nothing is copied ahead"  # PostgreSQL has the same SQLSTATE for it
_OF_ROWS = (wire.ROW, wire.COPIED)
_CANCELED = wire.error(
    {
        "S": "ERROR",
        "V": "ERROR",
        "C": _QUERY_CANCELED,
        "M": "canceling statement due to user request",
    }
)
# It fails, and ends nothing: the client's transaction is failed, and is the client's to end.
_FAIL = "BEGIN; ROLLBACK TO SAVEPOINT pgblend_canceled"


class GoneError(Exception):
    """One side closed the session's connection."""


class ServerError(Exception):
    """What the server answered to a statement of the door's."""

    def __init__(self, answer: bytes, whole: list[bytes], is_posted: bool) -> None:
        self.answer, self.fields, self.whole = answer, wire.fields_of(answer), whole
        self.is_posted = is_posted  # nobody waited for it
        super().__init__(self.fields.get("M", ""))

    @property
    def is_canceled(self) -> bool:
        """Whether a cancel ended it, or the client's own limit of time."""
        is_own = _NOT_COPIED in self.fields.get("M", "")
        return self.fields.get("C") == _QUERY_CANCELED and not is_own


class CanceledError(Exception):
    """What the client asked is to end: it was canceled, as the error `answer` says."""

    def __init__(self, answer: bytes = _CANCELED) -> None:
        self.answer = answer
        super().__init__("canceled")


class OwnStatements:
    """Sends them behind what waits for nobody, and reads their answers."""

    def __init__(self, client: Peer, server: Peer) -> None:
        self.client, self.server = client, server
        self.state = wire.IDLE
        self.key = b""  # what cancels it, as the login told it: the server's process and a secret
        self.turns = 0  # that the client began
        self.canceled = 0  # the last of these that it canceled
        self.written = ROWS_WRITTEN  # what counts the rows that a transaction has written
        self._there = Waiter(server)
        self._came: deque[bytes] = deque()  # of the server, and not yet looked at
        self._posting: list[str] = []  # what is sent with what follows
        self._sent = self._answered = 0  # messages of the door's own
        self._is_unnamed_lost = False  # one took the place of the client's unnamed statement

    def ask(self, statement: str) -> list[bytes]:
        """Run a statement of the door's and return its answer.

        ServerError where it failed, CanceledError where it was canceled.
        """
        try:
            return self.exchange(wire.query(statement))
        except ServerError as error:
            if error.is_canceled:
                raise CanceledError(error.answer) from None
            raise

    def stays(self) -> bool:
        """Whether all its transactions run in one process: a pooler announces another than that."""
        (*_, row, _) = self.ask("SELECT pg_catalog.pg_backend_pid()")
        return int(row[11:]) == int.from_bytes(self.key[:4])

    def post(self, statement: str) -> None:
        """Have a statement run before what is sent next; who waits for that has its error."""
        self._is_unnamed_lost = True
        self._posting.append(statement)

    def _send(self, requests: bytes) -> None:
        if self._posting:  # one message: for each the server would wake the door
            self.server.put(wire.query("; ".join(self._posting)))
            self._posting.clear()
            self._sent += 1
        self.server.put(requests)

    @property
    def is_waited_for(self) -> bool:
        """Whether the server has not answered yet all that the door sent of its own."""
        return self._answered < self._sent

    def exchange(self, requests: bytes, leaves: Collection[bytes] = ()) -> list[bytes]:
        """Send what ends with the server being ready, and return its answer; or ServerError.

        Parts of a kind in `leaves` are left out.
        """
        parts: list[bytes] = []
        failed: ServerError | None = None
        for part, is_posted in self.answer_to(self.send(requests)):
            kind = part[:1]
            if kind == wire.READY:
                parts = []
            elif kind not in leaves:
                parts.append(part)
                if kind == wire.ERROR and failed is None:
                    failed = ServerError(part, parts, is_posted)
        if failed:
            raise failed
        return parts

    def send(self, requests: bytes) -> int:
        """Send what ends with the server being ready; return its number, for the answer."""
        self._is_unnamed_lost = True
        self._send(requests)
        self.server.flush()  # it works meanwhile
        self._sent += 1
        return self._sent

    def answer_to(self, number: int) -> Iterator[tuple[bytes, bool]]:
        """Yield the parts of an answer, after those of what was posted before, which say so.

        Each but the last answer ends with the server being ready.
        """
        while self._answered < number:
            is_posted = self._answered < number - 1
            part = self.next_part()
            if is_posted or part[:1] != wire.READY:
                yield part, is_posted

    def next_part(self) -> bytes:
        """Return the next part of what the server answers to the door."""
        while True:
            part = self._next_answer()
            match part[:1]:
                case wire.NOTIFICATION | wire.PARAMETER:
                    self.client.put(part)
                    continue
                case kind if kind in wire.COPIES:
                    self.server.put(wire.message(b"f", wire.text(_NOT_COPIED)))
                    continue
                case wire.READY:
                    self.state = part[5:6]
                    self._answered += 1
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
        self.check()
        try:
            found = self.exchange(requests, leaves=_OF_ROWS)
        except ServerError as error:
            if error.is_canceled:
                raise CanceledError(error.answer) from None
            found = error.whole
        return calls_in(found)

    # A request to cancel may come while the server waits for the door, and it forgets it then.

    def check(self) -> None:
        """Raise CanceledError where the client has canceled what it asked."""
        if self.canceled == self.turns:
            raise CanceledError

    def abandon(self) -> None:
        """Leave what was posted, and what is not answered yet."""
        self._posting.clear()
        while self.is_waited_for:
            self.next_part()

    def roll_back(self) -> None:
        """End the door's transaction, whatever cancels still arrive."""
        while self.state != wire.IDLE:
            with suppress(ServerError):
                self.exchange(wire.query("ROLLBACK"))

    def fail(self) -> None:
        """Have a transaction of the client's be a failed one."""
        while self.state != wire.FAILED:
            with suppress(ServerError):
                self.exchange(wire.query(_FAIL))
