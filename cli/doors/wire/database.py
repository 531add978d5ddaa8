"""The program's Database over a session of the door."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from typing import Any, LiteralString

from psycopg.sql import SQL, Literal

from pgblend.cli.doors.wire import messages as wire
from pgblend.cli.doors.wire.own_statements import (
    NEEDS_ANSWER,
    CanceledError,
    ServerError,
    Told,
    telling,
)
from pgblend.cli.doors.wire.prepared import Prepared, Warned, read_rows, requests_of
from pgblend.cli.doors.wire.session import Session
from pgblend.cli.search.foreseen import Asked, ForeseeingDatabase
from pgblend.cli.search.outside import SETTINGS, UNTOUCHED, StatementError, Typed, settings_of
from pgblend.plpy.base.session import ProgramError, Rows

_BEGUN: LiteralString = "SAVEPOINT pgblend_begun"
_AS_BEGUN = "ROLLBACK TO SAVEPOINT pgblend_begun"
_BEFORE = "SELECT " + ", ".join(
    f"pg_catalog.current_setting('{name}', true) AS \"{name}\""
    for name in (*SETTINGS, "search_path", "role")
)
_FAILED_BEFORE = "25P02"  # what was sent ahead of it
_MOST_ROUNDS = 10  # of answers that need others


class NotAllowedError(Exception):
    """The session may not be who asks, and `problem` says why."""

    def __init__(self, error: ServerError) -> None:
        self.problem = _statement_error(error.fields)
        super().__init__(str(self.problem))


class SessionDatabase(ForeseeingDatabase):
    """Statements of the program in a client's session, as the client.

    What they call may be stand-ins again, whose answers are made by `answer` and told. `stays`:
    no pooler is behind that may give each transaction to another session.
    """

    Failed = ServerError

    def __init__(
        self,
        session: Session,
        answer: Callable[[str], Told],
        stays: bool,
    ) -> None:
        self._session, self._answer = session, answer
        self._told: list[Told] = []
        self._writes = False
        self._path = ""  # the search_path that the program expects, once it is known
        self._prepared = Prepared(stays)
        self._ahead: Iterator[Rows] = iter(())
        self._coming: deque[Asked] = deque()  # what was sent ahead, and not answered yet
        self._warned: dict[Any, list[Warned]] = {}  # of what was sent ahead, until it is asked
        super().__init__()

    @contextmanager
    def begun(self, settings: dict[str, str], writes: bool) -> Iterator[None]:
        """Set what the caller has and the program expects; what it writes stays.

        The role is the caller's: who may not become it has no answer (NotAllowedError).
        """
        self._told, self._writes = [], writes
        self._ahead = iter(())  # of a call that did not come to its end
        self._coming.clear()
        self._warned.clear()
        before = read_rows(self._session.ask(_BEFORE))[0] if writes else {}
        if self._path and not writes:
            self._session.post(_settings_text((*settings.items(), ("search_path", self._path))))
        else:
            try:
                text = f"{UNTOUCHED}; {settings_of(settings).as_string()}; {_BEGUN}"
                found = self._session.ask(text)
            except ServerError as error:
                raise NotAllowedError(error) from None
            (self._path,) = read_rows(found)[-1].values()
        yield
        if not self._come():
            self._go_back()
        if writes:
            given = (
                SQL("pg_catalog.set_config({}, {}, true)").format(Literal(name), Literal(value))
                for name, value in before.items()
                if value is not None
            )
            self._session.ask(SQL("SELECT {}").format(SQL(", ").join([*given])).as_string())

    def _rows(self, statement: str, given: list[Typed]) -> Rows:
        self._session.check()
        asked = Asked(statement, tuple(given))
        if any(one.key == asked.key for one in self._coming) and not self._come(asked):
            self._go_back()
        if (known := self.foreseen.take(asked)) is not None:
            self.warnings += self._warned.pop(asked.key, ())
            return known
        return self._asked_alone(asked)

    def send_ahead(self) -> None:
        """Have the server begin with what a call will ask, before the program does."""
        if along := self.foreseen.along():
            self._ahead = self._prepared.send(self._session, along, ahead=True)
            self._coming.extend(along)
            self.foreseen.sent(along)

    def _come(self, wanted: Asked | None = None) -> bool:
        """Wait for what was sent ahead, or so far as to one statement; False where it failed."""
        while self._coming:
            if (rows := self._next()) is None:
                return False
            came = self._coming.popleft()
            self.foreseen.came(came, rows)
            self._warned[came.key] = self._prepared.warned()
            if not self._coming:
                next(self._ahead, None)  # its end
            if wanted and came.key == wanted.key:
                break
        return True

    def _next(self) -> Rows | None:
        try:
            return next(self._ahead)
        except ServerError as error:
            self._coming.clear()
            self._raise_what_ends_all(error)
            return None

    def _raise_what_ends_all(self, error: ServerError) -> None:
        if error.is_canceled and not self.foreseen.has_limit:
            raise CanceledError(error.answer) from None
        if error.is_posted and not self._writes:
            raise NotAllowedError(error) from None

    def _asked_alone(self, asked: Asked) -> Rows:
        for _ in range(_MOST_ROUNDS):
            try:
                found = super()._asked_alone(asked)
            except ServerError as error:
                fields = error.fields
            else:
                if self._writes:
                    self._session.post(f"RELEASE {_BEGUN}; {_BEGUN}")
                    self.foreseen.gone_back(kept=True)
                return found
            is_told = fields.get("C") == NEEDS_ANSWER and self._learns(asked)
            is_mended = is_told or fields.get("C") == _FAILED_BEFORE
            if not (is_mended or self._prepared.forgets(fields)):
                break
        raise _statement_error(fields)

    def _post_rollback(self) -> None:
        self._session.post(_AS_BEGUN)

    def _exchange(self, asked: Sequence[Asked]) -> list[Rows]:
        """Send statements at once and return their rows."""
        sent = self._prepared.send(self._session, asked)
        self._come()
        self._prepared.warned()  # of what failed before
        try:
            rows = [*sent]
            self.warnings += self._prepared.warned()
            return rows
        except ServerError as error:
            self._raise_what_ends_all(error)
            raise

    def _learns(self, asked: Asked) -> bool:
        """Have the answers made that a statement needs; say whether there are any."""
        self._session.post(telling(self._told, gathers=True, written=self._session.written))
        calls = self._session.gather(requests_of(asked) + wire.message(wire.SYNC))
        self._go_back()
        told, self._told = self._told, []
        for call in calls:
            told.append(self._answer(call))
        self._told = told
        if told:
            self._session.post(telling(told, written=self._session.written))
        return bool(calls)


@lru_cache
def _settings_text(settings: tuple[tuple[str, str], ...]) -> str:
    return f"{UNTOUCHED}; {settings_of(dict(settings), _BEGUN).as_string()}"


def _statement_error(fields: dict[str, str]) -> StatementError:
    return StatementError(
        fields.get("M", ""),
        fields.get("C"),
        hint=fields.get("H"),
        detail=fields.get("D"),
        table_name=fields.get("t"),
    )


class Plpy:
    """What bodies ask of PL/Python's module itself."""

    def __init__(self, db: SessionDatabase) -> None:
        self._db = db

    def prepare(self, statement: str, types: Sequence[str] = ()) -> tuple[str, list[str]]:
        """Return what `execute` and `cursor` run."""
        return statement, [*types]

    def execute(self, plan: str | tuple[str, list[str]], values: Sequence[Any] = ()) -> Rows:
        """Run a statement and return its rows."""
        statement, types = (plan, []) if isinstance(plan, str) else plan
        return self._db.run(statement, types, *values)

    def cursor(self, plan: tuple[str, list[str]], values: Sequence[Any] = ()) -> "_Cursor":
        """Run a statement whose rows are taken bit by bit."""
        return _Cursor(self.execute(plan, values))

    def error(self, message: str, sqlstate: str, hint: str) -> None:
        """End the call with an error."""
        raise ProgramError(message, hint, sqlstate)


class _Cursor:
    """Rows that are taken bit by bit."""

    def __init__(self, rows: Rows) -> None:
        self._rows = iter(rows)

    def __iter__(self) -> Iterator[Any]:
        return self._rows

    def fetch(self, most: int) -> list[Any]:
        """Return the next rows."""
        return [*islice(self._rows, most)]
