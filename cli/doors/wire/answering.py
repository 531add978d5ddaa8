"""Turns that need answers: each is taken back, has its answers made, and is sent again."""

from typing import Protocol

from pgblend.cli.doors.wire import messages as wire
from pgblend.cli.doors.wire.expected_calls import ExpectedCalls
from pgblend.cli.doors.wire.own_statements import (
    FORGET,
    CanceledError,
    OwnStatements,
    ServerError,
    Told,
    telling,
)
from pgblend.cli.doors.wire.peer import Peer
from pgblend.cli.doors.wire.turn import Turn
from pgblend.plpy.base.session import keep_value

_MOST_KEPT = 1000  # names of what was reached together
_TAKE_BACK = "ROLLBACK TO SAVEPOINT pgblend_door"
_KEEP = "RELEASE SAVEPOINT pgblend_door"
_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ"


class Answers(Protocol):
    """Who knows which statements reach stand-ins, and answers these."""

    def reached(self, statement: bytes) -> frozenset[bytes]:
        """Return the names in a statement that may call a stand-in."""

    def learn(self) -> None:
        """Read again what reaches stand-ins: some functions or views are new."""

    def routine(self, call: str) -> str:
        """Return the name of the routine that a call is of."""

    def has_effects(self, call: str) -> bool:
        """Whether the answer to a call is to be made in the transaction that it is told in."""

    def tell(self, call: str) -> Told:
        """Return the answer to a stand-in's call, made in the session's transaction."""


class AnsweringSession(OwnStatements):
    """The part of a session that answers what stand-ins ask."""

    def __init__(self, client: Peer, server: Peer) -> None:
        super().__init__(client, server)
        self._expected = ExpectedCalls()
        self._asking: dict[frozenset[bytes], bool] = {}  # whether it asked for answers
        self._kept: dict[str, Told] = {}  # answers that cursors and portals need

    def _put_ending(self, turn: Turn, state: bytes) -> None:
        """Have what the door began for a turn end with it."""
        ending = ""
        if turn.is_within_doors:
            ending = "COMMIT" if state != wire.IDLE else ""
        elif state == wire.IN_TRANSACTION:
            if turn.is_bit_by_bit:
                self._kept.update(turn.told)
            forgets = bool(turn.told or (self._kept and turn.saved))
            parts = [_KEEP] * turn.saved + [FORGET] * forgets
            if forgets and self._kept:
                parts.append(telling(self._kept.values(), stays=True))
            ending = "; ".join(parts)
        if ending:
            self._send(wire.query(ending))
            turn.is_ending = turn.has_ended = True

    def _settle(self, turn: Turn) -> None:
        """Wait for the answer to a turn's ending; where the turn failed, nothing was kept."""
        if turn.is_ending:
            turn.is_ending = False
            try:
                self.exchange(b"")
            except ServerError as error:
                if turn.is_within_doors:  # a COMMIT that was canceled leaves it open
                    self.roll_back()
                if turn.need is None and not turn.has_failed:
                    turn.fail(error.answer)

    def _sends_again(self, turn: Turn, answers: Answers) -> bool:
        """Answer a turn and send it again; False where it is to end with what it holds."""
        held, has_begun = turn.held, turn.has_begun
        try:
            return self._repeat(turn, answers)
        except CanceledError as error:
            turn.held = [*held, error.answer]
            self._cancel(turn, has_begun)
            return False

    def _cancel(self, turn: Turn, has_begun: bool = False) -> None:
        """Have a turn end as one that the server canceled: its transaction is gone, or failed."""
        self.abandon()
        if has_begun or not (turn.opened or turn.began == wire.IDLE):
            self.fail()
        else:
            self.roll_back()
        turn.need, turn.opened, turn.hides_begin = None, False, False

    def _repeat(self, turn: Turn, answers: Answers) -> bool:
        """Have answers made by the state before the turn, tell them, and send the turn again.

        What it needs is gathered by a turn that is taken back. An error may come from anybody's
        code, and need more than one answer.
        """
        turn.has_ended, is_asked_for = False, turn.need is not None
        gathered = self._gathered(turn, answers)
        if not (turn.calls or is_asked_for):  # it was only like one that asked
            self._take_back(turn)
            self._send(turn.again())
            return True
        if turn.has_escaped:
            turn.need = None
            turn.held = [wire.refusal("the transaction ended before it had all answers")]
            return False
        if not gathered and is_asked_for:
            turn.problem = "nothing that it could answer asked for it"
        self._begin_again(turn, _SNAPSHOT)
        self._answer(turn, gathered, answers, writes=False)
        if gathered and turn.is_bit_by_bit:  # what those answers ask for cannot be asked later
            return self._repeat(turn, answers)
        self._begin_again(turn)
        self._answer(turn, turn.calls, answers, writes=True)
        if turn.told:
            self.post(telling(turn.told.values(), False, turn.is_bit_by_bit, self.written))
        self.check()
        turn.hides_begin, turn.is_synced = False, not turn.is_asked
        self._send(turn.again())
        if turn.is_asked and turn.is_plain:
            self._put_ending(turn, wire.IN_TRANSACTION)
        return True

    def _answer(self, turn: Turn, calls: list[str], answers: Answers, *, writes: bool) -> None:
        """Have the answers made that write, or those that do not."""
        for call in calls:
            if answers.has_effects(call) == writes:
                turn.told[call] = answers.tell(call)

    def _gathered(self, turn: Turn, answers: Answers) -> list[str]:
        """Return the calls that a turn needs further answers for."""
        if turn.expected and not turn.told:
            turn.calls = [*turn.expected]
            return turn.expected
        is_first = not (turn.calls or turn.need)
        self._begin_again(turn)
        self.post(telling(turn.told.values(), True, turn.is_bit_by_bit, self.written))
        calls = self.gather(turn.again(gathers=True))
        turn.has_escaped = self.state == wire.IDLE
        gathered = [call for call in calls if call not in turn.calls]
        turn.calls += gathered
        if is_first and gathered and not any(map(answers.has_effects, gathered)):
            self._expected.note(turn.whole, gathered)
        elif {*map(answers.routine, turn.expected)} & {*map(answers.routine, gathered)}:
            self._expected.forget(turn.whole)
        if turn.reached:
            keep_value(self._asking, turn.reached, bool(turn.calls), _MOST_KEPT)
        return gathered

    def _begin_again(self, turn: Turn, begin: str = "BEGIN") -> None:
        """Take back all that was done since the turn began; be in a transaction."""
        self._take_back(turn)
        if not turn.saved:
            self.post(begin)
            turn.opened = True

    def _take_back(self, turn: Turn) -> None:
        if turn.saved:
            self.post(_TAKE_BACK)
        elif self.state != wire.IDLE:
            self.post("ROLLBACK")
            turn.opened = False
