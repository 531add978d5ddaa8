"""A turn: what a client asks until the server is ready again, and the answer as far as it came.

The answer is held back while it is short, so that the turn can be taken back and sent again.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from pgblend.cli.doors.wire import messages as wire
from pgblend.cli.doors.wire.own_statements import Told
from pgblend.cli.doors.wire.requests import (
    before_end,
    bound_name,
    controls,
    copies,
    ends,
    in_full,
    is_bit_by_bit,
    named_statement,
    names_savepoints,
    sets_before,
    takes_unnamed,
    used_statement,
)

_MOST_HELD = 1 << 20  # bytes; an answer that is longer begins to flow
_MOST_ASKED = 16 << 20  # bytes of a turn that can be sent again
_SHOWS = frozenset((wire.ROW, wire.COMPLETE, wire.ERROR, wire.COPIED))
_BEGINS = frozenset((b"BEGIN", b"START TRANSACTION"))
# After these a turn has done what cannot be taken back; a procedure may have ended a transaction.
_ENDS = frozenset((b"COMMIT", b"ROLLBACK", b"PREPARE TRANSACTION"))
_LASTS = _ENDS | {b"CALL", b"DO", b"PREPARE", b"DEALLOCATE", b"DEALLOCATE ALL", b"DISCARD ALL"}
PLAIN = frozenset(
    (wire.QUERY, wire.PARSE, wire.BIND, wire.DESCRIBE, wire.EXECUTE, wire.CLOSE, wire.SYNC)
)
# To each of these messages there is one answer of these kinds.
_OWING = frozenset((wire.PARSE, wire.BIND, wire.DESCRIBE, wire.EXECUTE, wire.CLOSE))
_OWED = frozenset((b"1", b"2", b"3", b"T", b"n", b"C", b"I", b"s"))
_STATEMENT_ENDS = frozenset((wire.COMPLETE, b"I", b"s"))  # done, empty, and so many of its rows
_IN_TRANSACTION_ALREADY = "25001"
_AGAIN = b"pgblend_again"  # a statement that is parsed once more


@dataclass
class Turn:
    """What is kept of a turn."""

    began: bytes  # the session's state before it
    ending: Collection[bytes] = ()  # names of statements that end a transaction
    saved: bool = False  # a savepoint of the door's stands before it
    opened: bool = False  # a transaction of the door's is around it
    is_asked: bool = False  # the client has sent all of it
    is_synced: bool = False  # the door itself has the server say that it is ready
    wants_now: bool = False  # the client sent Flush, and waits for what there is
    is_copying: bool = False
    has_copied: bool = False
    hides_begin: bool = False  # a BEGIN of the door's comes last
    has_escaped: bool = False  # what was to be taken back ended its transaction
    skips: bool = False  # it failed, and the client's Sync is still to come
    is_ending: bool = False  # its COMMIT or the like is sent, and not answered
    has_ended: bool = False
    count: int = 0  # of its messages
    reached: frozenset[bytes] = frozenset()  # names in it that may call a stand-in
    problem: str = ""  # why it cannot be sent again
    need: bytes | None = None  # the error of a stand-in that nobody had told its answer
    failed_before: bytes = b""  # the error of a statement of the door's before it
    expected: list[str] = field(default_factory=list)  # calls that it was begun with
    calls: list[str] = field(default_factory=list)  # of stand-ins that need an answer
    told: dict[str, Told] = field(default_factory=dict)  # their answers
    tags: list[bytes] = field(default_factory=list)  # of its statements that ended well
    held: list[bytes] = field(default_factory=list)
    begun: list[bytes] = field(default_factory=list)  # the answer to the door's BEGIN
    requests: list[bytes] = field(default_factory=list)
    unnamed: bytes = b""  # the Parse of an earlier turn that it relies on
    _had_begun: bool = False  # in an earlier part
    _owed: int = 0  # answers to its messages
    _asked_size: int = 0
    _held_size: int = 0
    _has_shown_error: bool = False
    _shown: list[bytes] = field(default_factory=list)
    _expected: deque[bytes] = field(default_factory=deque)
    # Of each Parse and Close the name of the client's statement, None where it is the door's.
    _parses: deque[bytes | None] = field(default_factory=deque)
    _closes: deque[bytes | None] = field(default_factory=deque)
    # How many of the messages that make or close named statements are done, and were this time.
    _done: int = 0
    _done_now: int = 0
    _used: set[bytes] = field(default_factory=set)  # statements that it has run
    _closed_after_use: set[bytes] = field(default_factory=set)
    _notices: Counter[bytes] = field(default_factory=Counter)

    @property
    def has_begun(self) -> bool:
        """Whether the client began a transaction in it."""
        return self._had_begun or not _BEGINS.isdisjoint(self.tags)

    @property
    def is_within_doors(self) -> bool:
        """Whether it is whole, and its transaction the door's to end."""
        return self.opened and self.is_asked and not self.has_begun

    @property
    def has_failed(self) -> bool:
        """Whether an error ended what is answered of it: the server skips the rest."""
        return self._has_shown_error or any(part[:1] == wire.ERROR for part in self.held)

    @property
    def is_long(self) -> bool:
        """Whether more is held than should be."""
        return self._held_size > _MOST_HELD

    @property
    def is_plain(self) -> bool:
        """Whether it neither controls transactions nor sets or names anything that stays."""
        return not self.problem and not any(
            request[:1] not in PLAIN
            or controls(request)
            or copies(request)
            or sets_before(request)
            or (request[:1] == wire.PARSE and request[5:6] != b"\0")
            or (request[:1] == wire.BIND and bound_name(request) in self.ending)
            for request in self.requests
        )

    @property
    def takes_savepoints(self) -> bool:
        """Whether a savepoint of the door's would stand in its way."""
        return any(map(names_savepoints, self.requests))

    def ask(self, request: bytes) -> None:
        """Keep a request."""
        kind = request[:1]
        self.count += 1
        self._owed += kind in _OWING
        if kind == wire.PARSE:
            self._parses.append(named_statement(request))
        elif kind == wire.CLOSE:
            closed = named_statement(request)
            self._closes.append(closed)
            if closed in self._used:
                self._closed_after_use.add(closed)
        elif name := used_statement(request):
            self._used.add(name)
        self.is_asked = kind in (wire.QUERY, wire.SYNC, wire.CALL)
        self.wants_now = self.wants_now or kind == wire.FLUSH
        self._asked_size += len(request)
        if self._asked_size > _MOST_ASKED:
            self.problem = "the statement is too long to be sent again"
            self.requests.clear()
        elif kind != wire.SYNC:
            self.requests.append(request)

    def hold(self, part: bytes) -> None:
        """Keep a part of the answer, unless the client has it."""
        kind = part[:1]
        if self.hides_begin and not self._owed:
            self.begun.append(part)
            return
        if kind == wire.NOTICE and self._is_known(part):
            return
        if kind in (wire.PARSED, wire.CLOSED):
            names = self._parses if kind == wire.PARSED else self._closes
            if names and not self._is_the_client_s(names.popleft(), kind):
                return
        self._owed -= kind in _OWED
        if kind == wire.COMPLETE:
            tag = part[5:-1]
            self.tags.append(tag)
            self.saved = self.saved and tag not in _ENDS
            if tag in _LASTS:
                self.problem = f"{tag.decode()} cannot be taken back"
        if self._expected:
            if self._expected.popleft() != part:
                self.problem = "the answer had begun to flow, and comes otherwise now"
                self.held.append(wire.refusal(self.problem))
            return
        self.held.append(part)
        self._held_size += len(part)

    def _is_the_client_s(self, name: bytes | None, kind: bytes) -> bool:
        """Whether a Parse or Close is of the client; note that it is done."""
        self._done_now += bool(name)
        self._done = max(self._done, self._done_now)
        if name and kind == wire.CLOSED and name in self._closed_after_use:
            self.problem = "it has closed a statement that it had run"
        return name is not None

    def fail(self, error: bytes) -> None:
        """Have its last statement end with an error: what the door does after it failed."""
        ends = [place for place, part in enumerate(self.held) if part[:1] in _STATEMENT_ENDS]
        self.held[ends[-1] if ends else len(self.held) :] = [error]

    def shown(self) -> bytes:
        """Return what is held, since the client gets it now."""
        if any(part[:1] in _SHOWS for part in self.held):
            self.problem = self.problem or "the answer had begun to flow"
        if self.problem:  # it is not sent again, so nobody compares
            self._shown.clear()
        else:
            self._shown += [part for part in self.held if part[:1] != wire.NOTICE]
            self._notices.update(part for part in self.held if part[:1] == wire.NOTICE)
        self._has_shown_error = self.has_failed
        now, self.held, self._held_size = b"".join(self.held), [], 0
        return now

    @property
    def whole(self) -> list[bytes]:
        """Its requests, with the statement that it relies on."""
        return [self.unnamed, *self.requests]

    @property
    def is_bit_by_bit(self) -> bool:
        """Whether its answers are needed until the transaction ends."""
        return any(map(is_bit_by_bit, self.requests))

    def again(self, gathers: bool = False) -> bytes:
        """Return the requests once more; what the client has already is not shown again.

        Named statements that were made are there, and closed ones are not, whatever ends this:
        another name stands in, for the answer.
        What `gathers` brings in full what is asked for bit by bit, and ends before a COMMIT.
        """
        self.need, self.failed_before = None, b""
        self.held, self._held_size, self.tags = [], 0, []
        self._expected, self._closes, self._parses = deque(self._shown), deque(), deque()
        self._done_now, done = 0, self._done
        parts = [self.restored()] if self.unnamed else []
        for request in self._gathering() if gathers else self.requests:
            kind, name = request[:1], named_statement(request)
            if name:
                known = name if done <= 0 else _AGAIN
                done -= 1
                if kind == wire.CLOSE and gathers:  # what is closed now would be missed then
                    continue
                parts.append(wire.message(wire.CLOSE, b"S" + known + b"\0"))
                self._closes.append(None if kind == wire.PARSE else name)
                if kind == wire.CLOSE:
                    continue
                request = wire.message(wire.PARSE, known + request[5 + len(name) :])
            if kind == wire.PARSE:
                self._parses.append(name)
            elif kind == wire.CLOSE:
                self._closes.append(name)
            parts.append(request)
        if parts and parts[-1][:1] not in (wire.QUERY, wire.CALL):
            parts.append(wire.message(wire.SYNC))
        return b"".join(parts)

    def _gathering(self) -> Iterator[bytes]:
        """Yield the requests that can be taken back, in full."""
        ending = {*self.ending}
        for request in map(in_full, self.requests):
            match request[:1]:
                case wire.PARSE:
                    name = named_statement(request)
                    (ending.add if ends(request) else ending.discard)(name)
                case wire.BIND if bound_name(request) in ending:
                    return
                case wire.QUERY:
                    request = before_end(request)
            yield request

    def restored(self) -> bytes:
        """Return the Parse of the unnamed statement that it relies on; its answer is not shown."""
        self._parses.append(None)
        return self.unnamed

    def relies_on_unnamed(self, request: bytes) -> bool:
        """Whether a request takes an unnamed statement that was parsed before."""
        return takes_unnamed(request) and not any(
            one[:1] == wire.PARSE and one[5:6] == b"\0" for one in self.requests
        )

    def has_executed(self) -> bool:
        """Whether something of its present part is executed."""
        return any(request[:1] == wire.EXECUTE for request in self.requests)

    def next_part(self) -> None:
        """Begin with the next part: all before is answered, and in a transaction."""
        self.began = wire.IN_TRANSACTION
        self._had_begun, self.tags = self.has_begun, []
        self.saved = self.wants_now = self.has_ended = False
        self.problem = ""
        self.calls, self.told, self.requests, self._shown = [], {}, [], []
        self.expected, self.begun, self._owed = [], [], 0
        self._done = self._done_now = 0
        self._used.clear()
        self._closed_after_use.clear()
        self.unnamed = b""

    def _is_known(self, notice: bytes) -> bool:
        """Whether the client has a notice, or it tells that the door's transaction is there."""
        if self._notices[notice]:
            self._notices[notice] -= 1
            return True
        return self.opened and wire.fields_of(notice).get("C") == _IN_TRANSACTION_ALREADY
