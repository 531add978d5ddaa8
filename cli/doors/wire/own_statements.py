"""Statements of the door's own in a client's session: between the client's, and answered to it."""

import re
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from secrets import token_hex
from typing import NamedTuple

from pgblend.cli.doors.wire import messages as wire
from pgblend.cli.doors.wire.peer import Peer, Waiter

NEEDS_ANSWER = "PB017"
# The innermost routine of a message's context: no other prints like this, whatever its name.
_BY_A_STAND_IN = re.compile(r'[^\n"]* pgblend\._told\(text,json\)')

# The first letter of a call's digest is its parameter's last; another has what comes beside values.
_SLOTS, _BESIDE = "0123456789abcdef", "beside"
_WRITTEN = "written"  # what was written before the answers: a search is not answered by less
FORGET = "SELECT " + ", ".join(
    f"pg_catalog.set_config('pgblend.told_{one}', '', true)" for one in (*_SLOTS, _BESIDE, _WRITTEN)
)

# How many rows of documents a transaction has written. It is planned once a session. A login may
# have no right to pgblend until its message takes another role: then with each search.
ROWS_WRITTEN = "pgblend._rows_written()"
ROWS_WRITTEN_FOR_ANY = """(
    SELECT pg_catalog.sum(pg_catalog.pg_stat_get_xact_tuples_inserted(c.oid)
        OPERATOR(pg_catalog.+) pg_catalog.pg_stat_get_xact_tuples_updated(c.oid)
        OPERATOR(pg_catalog.+) pg_catalog.pg_stat_get_xact_tuples_deleted(c.oid))
    FROM pg_catalog.pg_class AS c
    INNER JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
    WHERE n.nspname OPERATOR(pg_catalog.=) 'pgblend_data'
        AND c.relname OPERATOR(pg_catalog.=) ANY ('{document,chunk}'))"""
_ANSWERS = "pg_catalog.set_config('pgblend.answers', 'on', true)"


class Told(NamedTuple):
    """The answer to a call: a value and what comes beside it, an error and warnings, as JSON."""

    digest: str
    value: str | None
    beside: str | None

    @property
    def lines(self) -> dict[str, str]:
        """What it is in each parameter that tells it: JSON is written without line breaks."""
        found = {self.digest[0]: self.value, _BESIDE: self.beside}
        return {slot: f"\n{self.digest} {text}" for slot, text in found.items() if text}


def calls_in(answer: Iterable[bytes]) -> list[str]:
    """Return the calls that stand-ins told in an answer; anybody's code may raise PB017."""
    calls = []
    for part in answer:
        info = wire.fields_of(part) if part[:1] == wire.NOTICE else {}
        is_told = info.get("C") == NEEDS_ANSWER and "D" in info
        if is_told and _BY_A_STAND_IN.match(info.get("W", "")):
            calls.append(info["D"])
    return list(dict.fromkeys(calls))


def telling(
    told: Iterable[Told], gathers: bool = False, stays: bool = False, written: str = ROWS_WRITTEN
) -> str:
    """Return the statement that tells answers until the transaction ends.

    With `gathers` stand-ins say what else they need, and go on. What `stays` is for cursors, whose
    searches are those of when they were declared. `written` counts what was written before.
    """
    settings: dict[str, str] = defaultdict(str)
    for one in told:
        for slot, line in one.lines.items():
            settings[slot] += line
    if gathers:
        settings["gathers"] = "on"
    given = [  # what is told is long, and not to be sent back
        f"pg_catalog.set_config('pgblend.told_{name}', {_quoted(value)}, true) IS NULL"
        for name, value in settings.items()
    ]
    if not stays:
        given.append(f"pg_catalog.set_config('pgblend.told_{_WRITTEN}', {written}::text, true)")
    # A session that a pooler may give to others says so in each transaction (_is_answered).
    return f"SELECT {', '.join([*given, _ANSWERS])}"


def _quoted(text: str) -> str:
    """Return a text as a literal without escapes, which what is told is full of."""
    mark = "$pgblend$"
    while (text + mark).find(mark) < len(text):
        mark = f"$pgblend_{token_hex(8)}$"
    return f"{mark}{text}{mark}"


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
