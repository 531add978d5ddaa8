"""The circuit breaker: when it opens, what it lets through, when it closes."""

import asyncio

import pytest

from pgblend.cli.models.openai_errors import GatewayError
from pgblend.cli.models.retry import Breaker

FAILED = GatewayError(502, "provider_error", "it failed")
TIMEOUT = GatewayError(504, "provider_timeout", "no answer")
REFUSED = GatewayError(400, "provider_rejected_request", "a bad question")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker("m", 3, 30, clock)


def call(breaker: Breaker, error: BaseException | None = None) -> str:
    """Make one call that ends as told, and return the code that its caller sees."""
    try:
        with breaker.watch():
            if error:
                raise error
    except GatewayError as raised:
        return raised.code
    except asyncio.CancelledError:
        return "cancelled"
    return "ok"


def test_it_opens_after_failures_in_a_row(breaker: Breaker, clock: Clock) -> None:
    assert [call(breaker, FAILED) for _ in range(2)] == ["provider_error"] * 2
    assert call(breaker) == "ok"  # and they are counted anew
    assert [call(breaker, FAILED) for _ in range(3)] == ["provider_error"] * 3
    assert breaker.state == "open"
    assert call(breaker) == "circuit_open"
    clock.now += 12.5
    with pytest.raises(GatewayError, match="m has failed 3 times in a row") as raised, \
            breaker.watch():  # fmt: skip
        pass
    assert (raised.value.status, raised.value.retry_after) == (503, "18")


def test_a_probe_closes_it(breaker: Breaker, clock: Clock) -> None:
    for _ in range(3):
        call(breaker, FAILED)
    clock.now += 30
    assert breaker.state == "half_open"
    with breaker.watch():
        assert call(breaker) == "circuit_open"  # one probe at a time
    assert breaker.state == "closed"
    assert call(breaker) == "ok"


def test_a_probe_that_fails_waits_twice_as_long_five_minutes_at_most(
    breaker: Breaker, clock: Clock
) -> None:
    for _ in range(3):
        call(breaker, FAILED)
    for seconds in (30, 60, 120, 240, 300, 300):
        clock.now += seconds - 0.1
        assert breaker.state == "open"
        clock.now += 0.1
        assert call(breaker, FAILED) == "provider_error"
    clock.now += 300
    assert call(breaker) == "ok"
    for _ in range(3):
        call(breaker, FAILED)
    clock.now += 30
    assert breaker.state == "half_open"


def test_a_bad_question_is_no_failure(breaker: Breaker, clock: Clock) -> None:
    for _ in range(9):
        assert call(breaker, REFUSED) == "provider_rejected_request"
    assert breaker.state == "closed"
    for _ in range(3):
        call(breaker, FAILED)
    clock.now += 30
    assert call(breaker, REFUSED) == "provider_rejected_request"
    assert breaker.state == "half_open"  # it told nothing: the next call is the probe
    assert call(breaker) == "ok"


@pytest.mark.parametrize("error", [TIMEOUT, asyncio.CancelledError()])
def test_impatient_callers_prove_nothing(
    breaker: Breaker, clock: Clock, error: BaseException
) -> None:
    def wait(seconds: float) -> None:
        watched = breaker.watch()
        watched.__enter__()
        clock.now += seconds
        assert not watched.__exit__(type(error), error, None)

    for _ in range(9):
        wait(0.9)
    assert breaker.state == "closed"
    for _ in range(3):
        wait(1.0)
    assert breaker.state == "open"
