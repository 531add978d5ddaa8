"""When to ask a model again, or another one, within the time that a call has."""

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception,
    stop_after_attempt,
    stop_before_delay,
    wait_exponential_jitter,
)

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
