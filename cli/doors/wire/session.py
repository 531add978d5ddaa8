"""A client's session: each message is handed on, and stand-ins get their answers.

On a server without PL/Python a routine that needs the program is a stand-in, which ends with PB017
where nobody told it its answer. The door takes the turn back, has the program answer over this very
session, tells it, and sends the turn again: the same login, transaction and rights.
"""

import contextlib
import socket
from collections import deque

from pgblend.cli.doors.wire import messages as wire
from pgblend.cli.doors.wire.answering import AnsweringSession, Answers
from pgblend.cli.doors.wire.own_statements import FORGET, NEEDS_ANSWER, CanceledError, ServerError
from pgblend.cli.doors.wire.peer import Peer, Waiter
from pgblend.cli.doors.wire.requests import (
    bound_name,
    declares,
    ends,
    names_savepoints,
    sets_before,
    statement_of,
    takes_unnamed,
    without_savepoints,
)
from pgblend.cli.doors.wire.turn import PLAIN, Turn
from pgblend.plpy.base.session import keep_value

_NEEDED = b"C" + NEEDS_ANSWER.encode() + b"\0"  # within an error
_ENDS = (wire.QUERY, wire.SYNC)  # of a turn
_NAMES = (wire.QUERY, wire.PARSE, wire.BIND)  # what is reached
_MAKES = frozenset(
    (b"CREATE FUNCTION", b"CREATE PROCEDURE", b"CREATE VIEW", b"CREATE MATERIALIZED VIEW")
)
_NOTHING = frozenset[bytes]()
_LONGEST_ENDING = 1000  # bytes of a statement that ends a transaction
_MOST_PREPARED = 10_000
_MOST_AT_ONCE = 1 << 16  # bytes of an answer
_MOST_ANSWERS = 10_000  # of one turn
_SAVE = "SAVEPOINT pgblend_door"
_BEGIN_WITHIN = (
    wire.message(wire.PARSE, b"\0BEGIN\0\0\0")
    + wire.message(wire.BIND, b"\0\0" + bytes(6))
    + wire.message(wire.EXECUTE, b"\0" + bytes(4))
)


class Session(AnsweringSession):
    """Both links of a session after its login."""

    def __init__(self, client: Peer, server: Peer) -> None:
        super().__init__(client, server)
        self.both = Waiter(client, server)
        self._asked: deque[bytes] = deque()
        self._whole: list[bytes] = []  # a turn that was handed on at once
        self._turn: Turn | None = None
        self._prepared: dict[bytes, bytes] = {}  # the texts of statements, by their names
        self._ending: set[bytes] = set()  # names of those that end a transaction
        self._unnamed = b""  # the Parse of the client's last statement without a name
        self._knows_less = False  # there are functions or views that it does not know
        self._is_ending = False

    def hand_on(self) -> None:
        """Hand all bytes on, until one side is gone."""
        while not (self.client.is_gone or self.server.is_gone):
            for one, other in ((self.client, self.server), (self.server, self.client)):
                other.put(one.received)
                one.received.clear()
            self.both.wait(self.server.takes_more(), self.client.takes_more())
        self.client.put(self.server.received)

    def serve(self, answers: Answers) -> None:
        """Hand on, and answer stand-ins, until one side is gone."""
        while not (self.client.is_gone or self.server.is_gone):
            if self.client.received:
                self._asked.extend(wire.take_messages(self.client.received))
            self.turns += bool(self._asked and not (self._turn or self._whole))
            if self._asked and not (self._whole or self._hands_whole(answers)):
                self._hand_requests(answers)
            takes_more = self.server.takes_more() and not self._asked
            self.both.wait(takes_more, self.client.takes_more())
            if self._whole and self._is_whole_answer():
                continue
            self._came.extend(wire.take_messages(self.server.received))
            while self._came:
                self._hand_answer(self._came.popleft(), answers)
            turn = self._turn
            if turn and turn.wants_now and not turn.is_synced and turn.need is None:
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

    # What the client asks.

    def _hand_requests(self, answers: Answers) -> None:
        while self._asked:
            kind, turn = self._asked[0][:1], self._turn
            copies = kind in wire.COPY_PARTS or (
                turn is not None and (turn.is_copying or (turn.has_copied and kind == wire.SYNC))
            )
            if turn and not copies and (turn.is_asked or turn.is_synced):
                return
            if turn is None and self._knows_less and self.state != wire.FAILED:
                turn = self._learns(answers)
            if turn is None and (
                self._takes_savepoints_first(answers) or self._answers_ahead(answers)
            ):
                continue
            request = self._asked.popleft()
            # What asks for nothing begins no turn: drivers flush once more when all is asked.
            if copies or kind == wire.TERMINATE or (turn is None and kind == wire.FLUSH):
                self._send(request)
                continue
            if turn is None:
                turn = self._turn = Turn(self.state, self._ending)
            self._hand_request(turn, request, answers)

    def _learns(self, answers: Answers) -> Turn | None:
        """Have what reaches stand-ins learned; return a turn that was canceled meanwhile."""
        turn = Turn(self.state, self._ending)
        try:
            answers.learn()
            self.check()
        except CanceledError as error:
            turn.held, turn.skips = [error.answer], True
            self._cancel(turn)
            self._turn = turn
            return turn
        self._knows_less = False
        self._asking.clear()
        return None

    def _takes_savepoints_first(self, answers: Answers) -> bool:
        """Run the savepoints of a query by themselves: the door's own stands after them."""
        first, rest = without_savepoints(self._asked[0])
        if self.state == wire.IDLE or not (first and self._reached(rest, answers)):
            return False
        self._asked.popleft()
        try:
            self.client.put(b"".join(self.exchange(first)))
        except ServerError as error:
            self.client.put(b"".join(error.whole) + wire.ready(self.state))
        else:
            self._asked.appendleft(rest)
        return True

    def _hands_whole(self, answers: Answers) -> bool:
        """Hand a turn on that is here whole, and reaches nothing of ours.

        Of its answer only the end is looked for: that is what most statements take.
        """
        if self._turn or self.is_waited_for or self._posting or self._knows_less:
            return False
        ended = False
        for request in self._asked:
            kind = request[:1]
            if ended or kind not in PLAIN:
                return False
            ended = kind in _ENDS
            if kind in _NAMES and self._reached(request, answers):
                return False
            if self._is_unnamed_lost and takes_unnamed(request):
                return False
        if not ended:
            return False
        self._whole = [*self._asked]
        self.server.put(b"".join(self._whole))
        self._asked.clear()
        return True

    def _is_whole_answer(self) -> bool:
        """Hand an answer on that is here whole; what is long, or asks, is looked at as a turn."""
        received = self.server.received
        if not received:
            return True
        state = wire.state_after(received) if len(received) < _MOST_AT_ONCE else None
        is_handed = state is not None and _NEEDED not in received
        if state is not None and is_handed:
            self.state = state
            if state == wire.IDLE:
                self._kept.clear()
            self.client.put(received)
            received.clear()
        else:
            self._turn = Turn(self.state, self._ending)
            for request in self._whole:
                self._turn.ask(request)
        self._whole = []
        return is_handed

    def _answers_ahead(self, answers: Answers) -> bool:
        """Begin a turn with the answers that it needs, unless one like it asked for none."""
        if self.state == wire.FAILED:
            return False
        turn = Turn(self.state, self._ending)
        for request in self._asked:
            turn.reached |= self._reached(request, answers)
            if turn.relies_on_unnamed(request):
                turn.unnamed = self._unnamed
            turn.ask(request)
            if turn.is_asked:
                break
        if not (turn.is_asked and turn.reached and self._asking.get(turn.reached, True)):
            return False
        if not turn.is_plain or (self.state == wire.IDLE and any(map(declares, turn.requests))):
            return False
        for _ in range(turn.count):
            self._asked.popleft()
        self._turn = turn
        if self.state == wire.IN_TRANSACTION:
            self._save(turn)
        turn.expected = [] if turn.is_bit_by_bit else self._expected.of(turn.whole)
        if not self._sends_again(turn, answers):
            self._end(turn, answers)
        return True

    def _hand_request(self, turn: Turn, request: bytes, answers: Answers) -> None:
        if turn.skips:
            turn.ask(request)
            if turn.is_asked:
                self._end(turn, answers)
            return
        reached = self._reached(request, answers)
        turn.reached |= reached
        if (
            reached
            and self.state == wire.IN_TRANSACTION
            and not (turn.requests or names_savepoints(request))
        ):
            self._save(turn)
        if turn.relies_on_unnamed(request) and not turn.unnamed:
            turn.unnamed = self._unnamed
            if self._is_unnamed_lost and turn.unnamed:
                self._send(turn.restored())
        turn.ask(request)
        if request[:1] == wire.FLUSH and turn.has_executed():
            self._sync(turn)
        else:
            self._send(request)

    def _save(self, turn: Turn) -> None:
        """Have a savepoint stand before what may reach a stand-in."""
        self.post(f"{FORGET}; {_SAVE}" if self._kept else _SAVE)
        turn.saved = True

    def _sync(self, turn: Turn) -> None:
        """Have the server say that it is ready, in a transaction that goes on.

        What a client waits for in the middle of a turn is shown, and cannot be asked once more.
        """
        if turn.began == wire.IDLE and not turn.opened and turn.need is None:
            self._send(_BEGIN_WITHIN)
            self._is_unnamed_lost = True
            turn.hides_begin = True
        self._send(wire.message(wire.SYNC))
        turn.is_synced = True

    def _reached(self, request: bytes, answers: Answers) -> frozenset[bytes]:
        match request[:1]:
            case wire.QUERY:
                return answers.reached(statement_of(request))
            case wire.PARSE:
                name, text = wire.texts_of(request[5:], 2)
                keep_value(self._prepared, name, text, _MOST_PREPARED)
                # It is one statement, and COMMIT is short.
                ending = len(request) < _LONGEST_ENDING and ends(request)
                (self._ending.add if ending else self._ending.discard)(name)
                if request[5:6] == b"\0":
                    self._unnamed, self._is_unnamed_lost = request, False
                return answers.reached(text)
            case wire.BIND if (bound := bound_name(request)) in self._prepared:
                return answers.reached(self._prepared[bound])
        return _NOTHING

    # What the server answers.

    def _hand_answer(self, part: bytes, answers: Answers) -> None:
        kind, turn = part[:1], self._turn
        if kind in (wire.NOTIFICATION, wire.PARAMETER):
            self.client.put(part)
        elif self.is_waited_for:
            self._answered += kind == wire.READY
            if turn and kind == wire.ERROR:
                turn.failed_before = turn.failed_before or part
        elif turn is None:
            self.client.put(part)
        elif kind == wire.READY:
            self.state = part[5:6]
            self._end(turn, answers)
        elif turn.need is None:
            self._hold(turn, part)

    def _hold(self, turn: Turn, part: bytes) -> None:
        kind = part[:1]
        if kind == wire.ERROR and turn.failed_before:  # what it says is but what follows of that
            part = turn.failed_before
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
        if any(map(sets_before, turn.requests)):
            return "it comes with statements that change settings: send those by themselves"
        if len(turn.calls) >= _MOST_ANSWERS:
            return f"it needs more than {_MOST_ANSWERS} answers"
        if turn.takes_savepoints and turn.began != wire.IDLE:
            return "it comes with statements of savepoints: send those by themselves"
        if turn.began != wire.IDLE and not turn.saved:
            self._knows_less = True
            return "in a transaction its text names no routine that needs the program"
        return ""

    def _end(self, turn: Turn, answers: Answers) -> None:
        """End a turn whose answer is whole, or a part of it; or send it again."""
        turn.is_synced = False
        self._settle(turn)
        if turn.need is not None and self._sends_again(turn, answers):
            return
        if turn.hides_begin:
            turn.hides_begin = False
            for error in (part for part in turn.begun if part[:1] == wire.ERROR):
                turn.fail(error)  # it was canceled
            turn.opened = not turn.has_failed
        self._knows_less |= any(tag in _MAKES for tag in turn.tags)
        if not turn.has_ended:
            self._put_ending(turn, self.state)
            self._settle(turn)
        turn.skips = turn.has_failed
        self.client.put(turn.shown())
        if turn.is_asked:
            self.client.put(wire.ready(self.state))
            self._turn = None
            if self.state == wire.IDLE:
                self._kept.clear()
        else:
            turn.next_part()
