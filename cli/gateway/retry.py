"""When to ask a model again, and how long to wait before."""

from collections.abc import Awaitable, Callable
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

from pgblend.cli.gateway.deadline import Deadline
from pgblend.cli.gateway.errors import GatewayError

_RETRIED = {
    "provider_bad_response",
    "provider_error",
    "provider_rate_limit",
    "provider_unreachable",
}
_LONGEST_SECONDS = 10.0  # who is told to wait longer is told so
_back_off = wait_exponential_jitter(multiplier=0.1, max=2, jitter=0.1)
_Answer = TypeVar("_Answer")


async def ask_again(
    ask: Callable[[], Awaitable[_Answer]], deadline: Deadline, attempts: int
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
