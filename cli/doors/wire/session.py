"""A client's session: each message is handed on, and stand-ins get their answers.

On a server without PL/Python a routine that needs the program is a stand-in, which ends with PB017
where nobody told it its answer. The door takes the turn back, has the program answer over this very
session, tells it, and sends the turn again: the same login, transaction and rights.
"""

import contextlib
import re
import socket
from collections import deque
from collections.abc import Mapping
from typing import Protocol

from pgblend.cli.doors.wire import messages as wire
from pgblend.cli.doors.wire.link import Link, wait
from pgblend.cli.doors.wire.telling import FORGET, telling
from pgblend.cli.doors.wire.turn import Turn

NEEDS_ANSWER = "PB017"
_MOST_ANSWERS = 10_000  # of one turn
_SAVE = "SAVEPOINT pgblend_door"
_TAKE_BACK = "ROLLBACK TO SAVEPOINT pgblend_door"
_KEEP = "RELEASE SAVEPOINT pgblend_door"
_BEGIN_WITHIN = (
    wire.message(wire.PARSE, b"\0BEGIN\0\0\0")
    + wire.message(wire.BIND, b"\0\0" + bytes(6))
    + wire.message(wire.EXECUTE, b"\0" + bytes(4))
)
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ"
# A savepoint before one of these would stand in its way.
_CONTROLS = re.compile(
    rb"(?:^|;|\0)\s*(?:begin|start|commit|end|rollback|abort|savepoint|release|prepare\s+transaction"
    rb"|set\s+(?:local\s+)?(?:transaction|session))\b",
    re.IGNORECASE,
)


# An answer is made before the message that asks. What else this may set, the answer would not know;
# role, groups and purpose are told with the call (sql/outside.py).
_SETS = re.compile(
    rb"(?:^|;|\0)\s*(?:set|reset|discard)\b|\bset_config\s*\(\s*(?!'(?:role|pgblend\.groups"
    rb"|pgblend\.purpose)')",
    re.IGNORECASE,
)


def _sets_before(request: bytes) -> bool:
    return request[:1] in (wire.QUERY, wire.PARSE) and bool(_SETS.search(request[5:]))


class GoneError(Exception):
    """One side closed the session's connection."""


class ServerError(Exception):
    """What the server answered to a statement of the door's."""

    def __init__(self, answer: bytes, whole: list[bytes]) -> None:
        self.answer, self.fields, self.whole = answer, wire.fields_of(answer), whole
        super().__init__(self.fields.get("M", ""))


# The innermost routine of a message's context: no other prints like this, whatever its name.
_BY_A_STAND_IN = re.compile(r'[^\n"]* pgblend\._told\(text,json\)')


def _is_a_stand_in_s(info: Mapping[str, str]) -> bool:
    """Whether a stand-in tells its call: anybody's code may raise PB017."""
    by = _BY_A_STAND_IN.match(info.get("W", ""))
    return bool(by) and info.get("C") == NEEDS_ANSWER and "D" in info


class Answers(Protocol):
    """Who knows which statements reach stand-ins, and answers these."""

    def reaches(self, statement: bytes) -> bool:
        """Whether a statement may call a stand-in."""

    def has_effects(self, call: str) -> bool:
        """Whether the answer to a call is to be made in the transaction that it is told in."""

    def tell(self, call: str) -> str:
        """Return the answer to a stand-in's call, made in the session's transaction."""


class Session:
    """Both links of a session after its login."""

    def __init__(self, client: Link, server: Link) -> None:
        self.client, self.server = client, server
        self.state = wire.IDLE
        self._asked: deque[bytes] = deque()
        self._turn: Turn | None = None
        self._reaching: dict[bytes, bool] = {}  # prepared statements by name
        self._unheeded = 0  # answers to the door's own statements that are still to come
        self._is_ending = False

    def hand_on(self) -> None:
        """Hand all bytes on, until one side is gone."""
        while not (self.client.is_gone or self.server.is_gone):
            for one, other in ((self.client, self.server), (self.server, self.client)):
                other.put(one.received)
                one.received.clear()
            wait((self.client, self.server.takes_more()), (self.server, self.client.takes_more()))
        self.client.put(self.server.received)

    def serve(self, answers: Answers) -> None:
        """Hand on, and answer stand-ins, until one side is gone."""
        while not (self.client.is_gone or self.server.is_gone):
            self._asked.extend(wire.take_messages(self.client.received))
            self._hand_requests(answers)
            takes_more = self.server.takes_more() and not self._asked
            wait((self.client, takes_more), (self.server, self.client.takes_more()))
            for part in wire.take_messages(self.server.received):
                self._hand_answer(part, answers)
            turn = self._turn
            if turn and turn.wants_now and turn.need is None:
                self.client.put(turn.shown())
        if self._is_ending:
            self.client.is_gone = False  # only what it sends was given up
            self.client.put(wire.fatal("57P01", "terminating connection: the door is closed"))

    def end(self, at_once: bool) -> None:
        """Let the thread that serves end it: once it is idle, or at once."""
        if at_once or (self._turn is None and self.state == wire.IDLE):
            self._is_ending = True
            with contextlib.suppress(OSError):
                self.client.socket.shutdown(socket.SHUT_RD)

    def ask(self, statement: str) -> list[bytes]:
        """Run a statement of the door's and return its answer; ServerError where it failed."""
        return self.exchange(wire.query(statement))

    def exchange(self, requests: bytes) -> list[bytes]:
        """Send what ends with the server being ready, and return its answer."""
        self.server.put(requests)
        found: list[bytes] = []
        while not self.server.is_gone:
            wait((self.server, True))
            for part in wire.take_messages(self.server.received):
                kind = part[:1]
                if kind in (wire.NOTIFICATION, wire.PARAMETER):
                    self.client.put(part)
                elif kind != wire.READY:
                    found.append(part)
                elif self._unheeded:
                    self._unheeded -= 1
                    found.clear()
                else:
                    self.state = part[5:6]
                    failed = [each for each in found if each[:1] == wire.ERROR]
                    if failed:
                        raise ServerError(failed[0], found)
                    return found
        raise GoneError

    def gather(self, requests: bytes) -> list[str]:
        """Send what is taken back; return the calls that its stand-ins need answers for."""
        try:
            found = self.exchange(requests)
        except ServerError as error:
            found = error.whole
        infos = (wire.fields_of(part) for part in found if part[:1] == wire.NOTICE)
        calls = (one["D"] for one in infos if _is_a_stand_in_s(one))
        return list(dict.fromkeys(calls))

    # What the client asks.

    def _hand_requests(self, answers: Answers) -> None:
        while self._asked:
            kind, turn = self._asked[0][:1], self._turn
            copies = kind in wire.COPY_PARTS or (
                turn is not None and (turn.is_copying or (turn.has_copied and kind == wire.SYNC))
            )
            if turn and not copies and (turn.is_asked or turn.is_synced):
                return
            request = self._asked.popleft()
            if copies or kind == wire.TERMINATE:
                self.server.put(request)
                continue
            if turn is None:
                turn = self._turn = Turn(self.state)
            self._hand_request(turn, request, answers)

    def _hand_request(self, turn: Turn, request: bytes, answers: Answers) -> None:
        may_reach = self._may_reach(request, answers)
        if may_reach and self.state == wire.IN_TRANSACTION and not turn.requests:
            self._save(turn, request)
        turn.ask(request)
        if turn.skips:
            if turn.is_asked:
                self._end(turn, answers)
        elif request[:1] == wire.FLUSH and turn.has_executed():
            self._sync(turn)
        else:
            self.server.put(request)

    def _save(self, turn: Turn, request: bytes) -> None:
        """Have a savepoint stand before what may reach a stand-in."""
        if not _CONTROLS.search(request[5:]):
            self.server.put(wire.query(_SAVE))
            self._unheeded += 1
            turn.saved = True

    def _sync(self, turn: Turn) -> None:
        """Have the server say that it is ready, in a transaction that goes on.

        What a client waits for in the middle of a turn is shown, and cannot be asked once more.
        """
        if turn.began == wire.IDLE and not turn.opened and turn.need is None:
            self.server.put(_BEGIN_WITHIN)
            turn.hides_begin = True
        self.server.put(wire.message(wire.SYNC))
        turn.is_synced = True

    def _may_reach(self, request: bytes, answers: Answers) -> bool:
        match request[:1]:
            case wire.QUERY:
                return answers.reaches(request[5:])
            case wire.PARSE:
                name, statement = wire.texts_of(request[5:], 2)
                self._reaching[name] = answers.reaches(statement)
                return self._reaching[name]
            case wire.BIND:
                _, name = wire.texts_of(request[5:], 2)
                return self._reaching.get(name, False)
        return False

    # What the server answers.

    def _hand_answer(self, part: bytes, answers: Answers) -> None:
        kind, turn = part[:1], self._turn
        if kind in (wire.NOTIFICATION, wire.PARAMETER):
            self.client.put(part)
        elif self._unheeded:
            self._unheeded -= kind == wire.READY
        elif turn is None:
            self.client.put(part)
        elif kind == wire.READY:
            self.state = part[5:6]
            self._end(turn, answers)
        elif turn.need is None:
            self._hold(turn, part)

    def _hold(self, turn: Turn, part: bytes) -> None:
        kind = part[:1]
        if kind == wire.ERROR and wire.fields_of(part).get("C") == NEEDS_ANSWER:
            problem = self._problem(turn)
            if not problem:
                turn.need = part
                if not (turn.is_asked or turn.is_synced):
                    self._sync(turn)
                return
            fields = wire.fields_of(part)
            part = wire.error({**fields, "D": f"The door could not answer: {problem}."})
        turn.hold(part)
        if kind in wire.COPIES:
            turn.is_copying = turn.has_copied = True
            turn.problem = "rows are copied"
        elif kind in (wire.COMPLETE, wire.ERROR):
            turn.is_copying = False
        if turn.is_copying or turn.is_long:
            self.client.put(turn.shown())

    def _problem(self, turn: Turn) -> str:
        """Say why a turn cannot be sent again."""
        if turn.problem:
            return turn.problem
        if any(_sets_before(request) for request in turn.requests):
            return "it comes with statements that change settings: send those by themselves"
        if len(turn.calls) >= _MOST_ANSWERS:
            return f"it needs more than {_MOST_ANSWERS} answers"
        if turn.began != wire.IDLE and not turn.saved:
            return "in a transaction its text names no routine that needs the program"
        return ""

    def _end(self, turn: Turn, answers: Answers) -> None:
        """End a turn whose answer is whole, or a part of it; or send it again."""
        turn.is_synced = False
        if turn.need is not None:
            self._repeat(turn, answers)
            return
        if turn.hides_begin:
            turn.hides_begin, turn.opened = False, not turn.has_failed
            turn.held[-3:] = turn.held[-3:] if turn.has_failed else []
        is_failed = turn.has_failed
        if turn.opened and turn.is_asked and not turn.has_begun and self.state != wire.IDLE:
            try:
                self.ask("ROLLBACK" if self.state == wire.FAILED else "COMMIT")
            except ServerError as error:
                turn.hold(error.answer)
        elif self.state == wire.IN_TRANSACTION and (turn.saved or turn.told):
            self.ask("; ".join([_KEEP] * turn.saved + [FORGET] * bool(turn.told)))
        self.client.put(turn.shown())
        if turn.is_asked:
            self.client.put(wire.ready(self.state))
            self._turn = None
        else:
            turn.skips = is_failed
            turn.next_part()

    def _repeat(self, turn: Turn, answers: Answers) -> None:
        """Have answers made by the state before the turn, tell them, and send the turn again.

        What it needs is gathered by a turn that is taken back: an error may come from anybody's
        code, and need more than one answer.
        """
        self._begin_again(turn)
        self.ask(telling(turn.told.values(), gathers=True))
        gathered = [call for call in self.gather(turn.again()) if call not in turn.calls]
        turn.calls += gathered
        if not gathered:
            turn.problem = "nothing that it could answer asked for it"
        self._begin_again(turn, _SNAPSHOT)
        for call in gathered:
            if not answers.has_effects(call):
                turn.told[call] = answers.tell(call)
        self._begin_again(turn)
        for call in turn.calls:
            if answers.has_effects(call):
                turn.told[call] = answers.tell(call)
        if turn.told:
            self.ask(telling(turn.told.values()))
        turn.hides_begin, turn.is_synced = False, not turn.is_asked
        self.server.put(turn.again())

    def _begin_again(self, turn: Turn, begin: str = "BEGIN") -> None:
        """Take back all that was done since the turn began; be in a transaction."""
        if turn.saved:
            self.ask(_TAKE_BACK)
            return
        if self.state != wire.IDLE:
            self.ask("ROLLBACK")
        self.ask(begin)
        turn.opened = True
