"""A call that fails: when to ask again, or another model, and when a model is left alone."""

import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal, TypeVar

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    stop_before_delay,
    wait_exponential_jitter,
)

from pgblend.cli.models.metrics import CallRecord, Metrics
from pgblend.cli.models.openai_errors import GatewayError

# How long a call may still take.


class CallDeadline:
    """A moment on the monotonic clock."""

    def __init__(self, seconds: float, *, at_once: bool = True) -> None:
        self._seconds = seconds
        self._at = time.monotonic() + seconds if at_once else None

    @classmethod
    def of(cls, timeout_ms: int | None, most_seconds: float) -> "CallDeadline":
        """Return the caller's deadline, but never one later than the gateway's own.

        The gateway's own limit is for providers: it counts from when one is asked, not while a
        library is loaded.
        """
        if timeout_ms is None:
            return cls(most_seconds, at_once=False)
        return cls(min(timeout_ms / 1000, most_seconds))

    @property
    def remaining(self) -> float:
        """Seconds left; 0 when it is over."""
        if self._at is None:
            self._at = time.monotonic() + self._seconds
        return max(0.0, self._at - time.monotonic())

    @property
    def callers(self) -> float | None:
        """Seconds left to a caller who has set a deadline, None to one who has not."""
        return None if self._at is None else self.remaining

    def share(self, parts: int) -> "CallDeadline":
        """Return a deadline that leaves as much time to each of so many parts."""
        return self if parts <= 1 else CallDeadline(self.remaining / parts)


# Asking the next model where one gives no answer.

# Not among them: what is wrong with the question, which the next model would be asked in vain.
_NEXT = {
    "circuit_open",
    "local_model_failed",
    "local_model_missing",
    "model_not_found",
    "provider_bad_response",
    "provider_busy",
    "provider_error",
    "provider_key_missing",
    "provider_key_rejected",
    "provider_rate_limit",
    "provider_timeout",
    "provider_unreachable",
}
_Answer = TypeVar("_Answer")


async def first_answer(
    models: Sequence[str],
    deadline: CallDeadline,
    ask: Callable[[str, CallDeadline], Awaitable[_Answer]],
) -> _Answer:
    """Return the answer of the first model that gives one; the first one's error where none does.

    The time that is left is shared out evenly, so that one that hangs leaves some to the others.
    """
    first_error: GatewayError | None = None
    for left, model in zip(range(len(models), 0, -1), models, strict=True):
        try:
            return await ask(model, deadline.share(left))
        except GatewayError as error:
            first_error = first_error or error
            if error.code not in _NEXT:
                break
    assert first_error
    raise first_error


_RETRIED = {
    "provider_bad_response",
    "provider_error",
    "provider_rate_limit",
    "provider_unreachable",
}
_LONGEST_SECONDS = 10.0  # who is told to wait longer is told so
_back_off = wait_exponential_jitter(multiplier=0.1, max=2, jitter=0.1)


async def ask_again(
    ask: Callable[[], Awaitable[_Answer]], deadline: CallDeadline, attempts: int
) -> _Answer:
    """Return what `ask` gives, asking up to so many times while the deadline allows it.

    A provider's Retry-After is waited for, or, where there is no time for that, passed on.
    """
    async for attempt in AsyncRetrying(
        retry=retry_if_exception(_is_worth_it),
        wait=_wait,
        stop=stop_after_attempt(attempts) | stop_before_delay(deadline.remaining),
        reraise=True,
    ):
        with attempt:
            return await ask()
    raise AssertionError("the last attempt raises")


def seconds_of(retry_after: str | None) -> float | None:
    """Return the seconds in a Retry-After header, which may also be a date."""
    if not retry_after:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _is_worth_it(error: BaseException) -> bool:
    if not isinstance(error, GatewayError) or error.code not in _RETRIED:
        return False
    return (seconds_of(error.retry_after) or 0) <= _LONGEST_SECONDS


def _wait(state: RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = seconds_of(error.retry_after) if isinstance(error, GatewayError) else None
    return _back_off(state) if asked is None else max(asked, 0.05)


State = Literal["closed", "open", "half_open"]
_LONGEST_REST_SECONDS = 300.0
# A caller who leaves sooner, or sets a shorter deadline, proves nothing against the model.
_PATIENCE_SECONDS = 1.0
# What says that the model, not the question, is at fault.
_FAILURES = {
    "provider_bad_response",
    "provider_error",
    "provider_timeout",
    "provider_unreachable",
}


class Breaker:
    """One model's breaker; for the event loop only.

    It opens after `failures` calls in a row have failed. After `seconds` one call is let through. A
    success closes it, a failure opens it for twice as long as before, five minutes at most.
    """

    def __init__(
        self,
        model: str,
        failures: int,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._threshold = failures
        self._first_seconds = min(seconds, _LONGEST_REST_SECONDS)
        self._seconds = self._first_seconds
        self._clock = clock
        self._failed = 0
        self._open_until: float | None = None
        self._probing = False

    @property
    def state(self) -> State:
        """Whether calls go through (closed), none do (open), or one is tried (half_open)."""
        if self._open_until is None:
            return "closed"
        return "half_open" if self._clock() >= self._open_until else "open"

    @property
    def untroubled(self) -> bool:
        """Whether there is nothing to remember: it may be forgotten."""
        return self._open_until is None and not self._failed

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Let a call through and learn from how it ends, or raise `circuit_open`."""
        probing = self._enter()
        start = self._clock()
        try:
            yield
        except BaseException as error:
            if _is_failure(error, self._clock() - start):
                self._fail(probing)
            raise
        else:
            self._failed, self._open_until = 0, None
            self._seconds = self._first_seconds
        finally:
            if probing:
                self._probing = False

    def _enter(self) -> bool:
        """Return whether the call is a probe."""
        if self._open_until is None:
            return False
        wait = self._open_until - self._clock()
        if wait > 0 or self._probing:
            message = f"{self._model} has failed {self._failed} times in a row and is left alone"
            seconds = str(max(1, math.ceil(wait)))
            raise GatewayError(503, "circuit_open", message, retry_after=seconds)
        self._probing = True
        return True

    def _fail(self, probing: bool) -> None:
        self._failed += 1
        if probing:
            self._seconds = min(2 * self._seconds, _LONGEST_REST_SECONDS)
        if probing or self._failed >= self._threshold:
            self._open_until = self._clock() + self._seconds


def _is_failure(error: BaseException, seconds: float) -> bool:
    if not isinstance(error, GatewayError):  # the caller left
        return seconds >= _PATIENCE_SECONDS
    if error.code == "provider_timeout":
        return seconds >= _PATIENCE_SECONDS
    return error.code in _FAILURES


# Who is told of each call to a model: the metrics, the log and, where there is one, the ledger.

_log = logging.getLogger(__name__)


class Observer:
    """Tells everyone who wants to know how calls end."""

    def __init__(self, metrics: Metrics, keep: Callable[[CallRecord], None] | None = None) -> None:
        self.metrics = metrics
        self._keep = keep
        self._open: set[str] = set()

    @contextmanager
    def observe(self, record: CallRecord) -> Iterator[None]:
        """Note how long a call takes and how it ends, whatever ends it."""
        try:
            yield
            record.end("ok")
        except GatewayError as error:
            record.end(error.code)
            raise
        except BaseException as error:
            record.end("failed" if isinstance(error, Exception) else "cancelled")
            raise
        finally:
            self._tell(record)

    def breaker_moved(self, model: str, state: State) -> None:
        """Show whether a model is left alone; log when that changes."""
        is_open = state != "closed"
        if is_open == (model in self._open):
            return
        (self._open.add if is_open else self._open.discard)(model)
        self.metrics.set_breaker(model, is_open)
        event = "breaker_opened" if is_open else "breaker_closed"
        _log.warning(event, extra={"fields": {"model": model}})

    def _tell(self, record: CallRecord) -> None:
        if not record.provider:  # there is no such model: callers may name anything
            return
        self.metrics.count_call(record)
        if self._keep and record.attempts:
            self._keep(record)
        level = logging.INFO if record.outcome == "ok" else logging.WARNING
        _log.log(level, "model_call", extra={"fields": record.fields()})
