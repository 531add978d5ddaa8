"""Asking again: what is worth it, how long is waited, and the deadline."""

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgblend.cli.models.openai_errors import GatewayError
from pgblend.cli.models.retry import CallDeadline, ask_again, first_answer, seconds_of


def error(code: str, retry_after: str | None = None) -> GatewayError:
    return GatewayError(502, code, code, retry_after=retry_after)


def asked(outcomes: list[GatewayError | str], seconds: float = 60, attempts: int = 3) -> object:
    """Return the answer (or the error's code) and how many outcomes were used."""
    left: Iterator[GatewayError | str] = iter(outcomes)
    used = 0

    async def ask() -> str:
        nonlocal used
        used += 1
        outcome = next(left)
        if isinstance(outcome, GatewayError):
            raise outcome
        return outcome

    async def run() -> str:
        try:
            return await ask_again(ask, CallDeadline(seconds), attempts)
        except GatewayError as raised:
            return raised.code

    return asyncio.run(run()), used


@pytest.fixture
def sleeps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("asyncio.sleep", sleep)
    return waited


@pytest.mark.parametrize(
    "code",
    ["provider_bad_response", "provider_error", "provider_rate_limit", "provider_unreachable"],
)
def test_what_is_asked_again(sleeps: list[float], code: str) -> None:
    assert asked([error(code), error(code), "a"]) == ("a", 3)
    assert asked([error(code)] * 9) == (code, 3)


@pytest.mark.parametrize(
    "code",
    ["provider_timeout", "provider_rejected_request", "model_not_found", "provider_key_missing"],
)
def test_what_is_not(sleeps: list[float], code: str) -> None:
    assert asked([error(code)] * 9) == (code, 1)
    assert sleeps == []


def test_the_back_off_grows_and_is_never_twice_the_same(sleeps: list[float]) -> None:
    asked([error("provider_error")] * 9, attempts=6)
    assert len(set(sleeps)) == 5
    for wait, least in zip(sleeps, (0.1, 0.2, 0.4, 0.8, 1.6), strict=True):
        assert least <= wait <= least + 0.1


def test_retry_after_is_honoured(sleeps: list[float]) -> None:
    assert asked([error("provider_rate_limit", "3"), "a"]) == ("a", 2)
    assert sleeps == [3.0]


def test_no_wait_beyond_the_deadline(sleeps: list[float]) -> None:
    assert asked([error("provider_rate_limit", "3"), "a"], seconds=2) == ("provider_rate_limit", 1)
    assert asked([error("provider_rate_limit", "11"), "a"]) == ("provider_rate_limit", 1)
    assert sleeps == []


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("7", 7),
        ("0.5", 0.5),
        ("-1", 0),
        ("soon", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0),
    ],
)
def test_retry_after_headers(header: str | None, seconds: float | None) -> None:
    assert seconds_of(header) == seconds


@given(st.text(max_size=40))
def test_any_header_can_be_read(header: str) -> None:
    seconds = seconds_of(header)
    assert seconds is None or seconds >= 0


def first_of(outcomes: dict[str, GatewayError | str]) -> tuple[str, list[tuple[str, float]]]:
    tried: list[tuple[str, float]] = []

    async def ask(model: str, deadline: CallDeadline) -> str:
        tried.append((model, round(deadline.remaining)))
        outcome = outcomes[model]
        if isinstance(outcome, GatewayError):
            raise outcome
        return outcome

    async def run() -> str:
        try:
            return await first_answer(list(outcomes), CallDeadline(60), ask)
        except GatewayError as raised:
            return raised.code

    return asyncio.run(run()), tried


def test_the_next_model_is_asked_with_its_share_of_the_time() -> None:
    outcomes = {"a": error("circuit_open"), "b": error("provider_timeout"), "c": "answer"}
    assert first_of(outcomes) == ("answer", [("a", 20), ("b", 30), ("c", 60)])


def test_the_error_is_that_of_the_model_asked_for() -> None:
    outcomes: dict[str, GatewayError | str] = {"a": error("circuit_open"), "b": error("other")}
    assert first_of(outcomes)[0] == "circuit_open"


def test_a_bad_question_goes_to_no_other_model() -> None:
    outcomes = {"a": error("provider_rejected_request"), "b": "answer"}
    assert first_of(outcomes) == ("provider_rejected_request", [("a", 30)])
