"""The server as the program sees it, and what a session keeps."""

import json
import re
from collections.abc import Callable, Hashable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from functools import cache
from time import monotonic
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"


class ProgramError(Exception):
    """A mistake of the caller, or what is missing, as the server is to raise it.

    The state is that of a wrong value, unless another is given.
    """

    def __init__(
        self,
        message: str,
        hint: str,
        sqlstate: str = "22023",
        detail: str | None = None,
        table_name: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.hint, self.sqlstate = message, hint, sqlstate
        self.detail, self.table_name = detail, table_name


def keep_value(kept: MutableMapping[Key, Value], key: Key, value: Value, most: int) -> Value:
    """Keep a value and return it; where `most` are kept, those are forgotten first."""
    if len(kept) >= most:
        kept.clear()
    kept[key] = value
    return value


Row = Mapping[str, Any]
Rows = Sequence[Row]
MOST_PLANS = 100
CANCELLED = "57014"
LOCK_TIMEOUT = 2  # of TimeoutId in utils/timeout.h, the same in all versions


def error_state(error: Any) -> str:
    """Return the SQLSTATE of a plpy.SPIError or plpy.Error, "" where it has none.

    A statement's exception has an attribute `sqlstate` where PostgreSQL names the state. Of ours
    (PB001 …) it has the number that the server holds: five characters of six bits each.
    """
    known: str | None = getattr(error, "sqlstate", None)
    if known or getattr(error, "spidata", None) is None:
        return known or ""
    number = error.spidata[0]
    return "".join(chr((number >> shift & 0x3F) + ord("0")) for shift in range(0, 30, 6))


def error_message(error: Exception) -> str:
    """Return an error's message without the classes that PL/Python puts in front."""
    return re.sub(r"^((plpy|spiexceptions)\.\w+: )+", "", str(error))


def error_fields(error: Any) -> tuple[str, str]:
    """Return hint and table name of a plpy.SPIError or plpy.Error, "" where it has none."""
    found = tuple(getattr(error, "spidata", None) or ()) + (None,) * 7
    hint = found[2] or getattr(error, "hint", None)
    return hint or "", found[6] or getattr(error, "table_name", None) or ""


@cache
def server_itself() -> Any:
    """Return the functions of the server's program."""
    from ctypes import PyDLL  # few need it

    return PyDLL(None)


_REQUEST = "SELECT pgblend._request_model($1, $2, $3, $4) AS sent"
_REQUEST_TYPES = ["text", "jsonb", "text", "integer"]
# Where a session notes that a request is a stage's, whose answer is taken later. SQL cannot.
BEGUN = "begun"


def sent_by_server(
    db: "Database", task: str, question: str, space: str | None, ms: int
) -> Mapping[str, Any]:
    """Have the server's session send a question (Database.send_model)."""
    begun = db.kept(BEGUN)
    begun[BEGUN] = True
    try:
        row = db.run(_REQUEST, _REQUEST_TYPES, task, question, space, ms)[0]
    finally:
        begun.clear()
    sent: Mapping[str, Any] = json.loads(row["sent"])
    return sent


class Database(Protocol):
    """What the program asks of the server."""

    Problem: tuple[type[Exception], ...]  # what statements raise, and ProgramError

    @property
    def session(self) -> MutableMapping[str, Any]:
        """What routines of one session share."""

    def kept(self, name: str) -> dict[Any, Any]:
        """Return what the session keeps under a name, at first empty."""

    def run(self, statement: str, types: list[str], *values: object) -> Rows:
        """Run a statement, prepared once a session, and return its rows."""

    def send_model(self, task: str, question: str, space: str | None, ms: int) -> Mapping[str, Any]:
        """Send a question, as JSON, to the model gateway.

        {"call": key} has an object under that key of what is kept as "calls". Its `answer` waits,
        its `abandon` does not. Else {"problem", "hint"} says why nothing was sent.
        """

    def run_within(self, ms: float, statement: str, types: list[str], *values: object) -> Rows:
        """Run a statement that waits for others; it ends with 55P03 once its time is over."""

    def warn(self, message: str, hint: str | None = None) -> None:
        """Send a WARNING to the client."""


class Backend:
    """The Database of a PL/Python body, which has its modules plpy and GD."""

    def __init__(self, server: Any, session: MutableMapping[str, Any]) -> None:
        self.server = server
        self.session = session
        self.Problem: tuple[type[Exception], ...] = (server.SPIError, server.Error, ProgramError)
        self.plans = self.kept("statements")

    def kept(self, name: str) -> dict[Any, Any]:
        """Return what the session keeps under a name, at first empty."""
        kept: dict[Any, Any] = self.session.setdefault(f"pgblend_{name}", {})
        return kept

    def run(self, statement: str, types: list[str], *values: object) -> Rows:
        """Run a statement and return its rows.

        A hundred plans are kept at most, since filters make statements of their own.
        """
        plan = self.plans.get(statement)
        if plan is None:
            prepared = self.server.prepare(statement, types)
            plan = keep_value(self.plans, statement, prepared, MOST_PLANS)
        rows: Rows = plan.execute(list(values))
        return rows

    def run_within(self, ms: float, statement: str, types: list[str], *values: object) -> Rows:
        """Run a statement that waits for others; it ends with 55P03 once its time is over.

        The server's own timer ends it, that of lock_timeout. A statement_timeout that is set inside
        a function has no effect. It would also have PL/Proxy wait for a cancel.
        """
        timers, began = server_itself(), monotonic()
        timers.enable_timeout_after(LOCK_TIMEOUT, max(1, int(ms)))
        try:
            return self.run(statement, types, *values)
        finally:
            timers.disable_timeout(LOCK_TIMEOUT, False)
            if (monotonic() - began) * 1000 >= ms:
                self._let_pass()

    def _let_pass(self) -> None:
        """End a trivial statement in the place of the next one, if the timer has just run out."""
        with suppress(*self.Problem):
            self.run("SELECT pg_sleep(0)", [])

    def send_model(self, task: str, question: str, space: str | None, ms: int) -> Mapping[str, Any]:
        """Have this session send a question to the model gateway."""
        return sent_by_server(self, task, question, space, ms)

    def warn(self, message: str, hint: str | None = None) -> None:
        """Send a WARNING to the client."""
        self.server.warning(message, **({} if hint is None else {"hint": hint}))

    def answer(
        self,
        function: Callable[Concatenate["Backend", Arguments], Value],
        *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> Value:
        """Call a function of the program with this and its arguments; raise its errors."""
        try:
            return function(self, *arguments, **named)
        except ProgramError as error:
            more = {"hint": error.hint, "detail": error.detail, "table_name": error.table_name}
            told = {name: text for name, text in more.items() if text}
            self.server.error(error.message, sqlstate=error.sqlstate, **told)
        raise AssertionError("plpy.error came back")
