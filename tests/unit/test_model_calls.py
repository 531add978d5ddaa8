"""Model calls of a search: sent first, received later, ended whatever happens."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from pgblend.plpy.base.stages import StageLog
from pgblend.plpy.models.gateway import GatewayCall
from pgblend.plpy.models.outcome import Outcome
from support.raw_server import http_answer
from support.stage_gateway import StageGateway, stage_gateway

REQUEST = {
    "role": "ann",
    "url": "http://127.0.0.1:9",
    "path": "/",
    "body": "{}",
    "timeout_ms": 500,
    "most_bytes": 16_000_000,
    "data_directory": "",
    "places": {"most": 0, "wait_ms": 0},
}


@pytest.fixture
def gateway() -> Iterator[StageGateway]:
    with stage_gateway() as opened:
        yield opened


def told(log: StageLog) -> list[dict[str, Any]]:
    return [stage.told() for stage in log.stages]


def test_a_stage_takes_the_time_since_the_one_before() -> None:
    ticks = iter([10.0, 10.5, 10.75])
    log = StageLog(lambda: next(ticks), 9.75)
    log.skip("expand", "no model")
    log.done("lexical", 3)
    log.skip("vector", "its weight is 0")
    log.done("fuse", 0, {"x": 1})
    assert [*log.ran()] == ["lexical", "fuse"]
    assert told(log) == [
        {"name": "expand", "skipped": "no model"},
        {"name": "lexical", "start_ms": 250.0, "ms": 500.0, "rows": 3},
        {"name": "vector", "skipped": "its weight is 0"},
        {"name": "fuse", "start_ms": 750.0, "ms": 250.0, "rows": 0, "details": {"x": 1}},
    ]


def test_what_a_session_does_once_is_a_stage_of_its_own() -> None:
    ticks = iter([10.0, 10.5, 11.0])
    log = StageLog(lambda: next(ticks), 8.0, is_first=True)
    log.warm(0.25)
    log.done("lexical", 3)
    log.warm(0.125)
    log.done("fuzzy", 1)
    assert told(log) == [
        {"name": "warm_up", "start_ms": 0.0, "ms": 2375.0},
        {"name": "lexical", "start_ms": 2250.0, "ms": 250.0, "rows": 3},
        {"name": "fuzzy", "start_ms": 2625.0, "ms": 375.0, "rows": 1},
    ]
    log = StageLog(lambda: 10.0, 9.0)
    assert log.stages == []
    log.warm(0.5)
    assert told(log) == [{"name": "warm_up", "start_ms": 1000.0, "ms": 500.0}]


def test_calls_are_sent_first_and_ended_whatever_happens(gateway: StageGateway) -> None:
    with pytest.raises(KeyboardInterrupt), gateway.models() as models:  # noqa: PT012
        models.begin("expand", {"query": "wine"})
        models.begin("embed", {"input": ["wine"]}, "space")
        assert models.answer("embed") == Outcome(0.0, {"vectors": ["[1]"]})
        models.leave("rerank")  # nobody asked for it
        assert len(gateway.calls) == 1
        raise KeyboardInterrupt
    assert not gateway.calls


def test_after_the_deadline_nothing_is_sent(gateway: StageGateway) -> None:
    with gateway.models(deadline=1.0) as models:
        models.begin("hyde", {"query": "wine"})
        found = models.answer("hyde")
    assert found.problem == "the time of the whole search is over"
    assert "timeouts_ms" in (found.hint or "")
    assert gateway.asked == []


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (http_answer(b"no JSON"), "is not JSON"),
        (http_answer(b"[1]"), "is not JSON"),
        (http_answer(b'{"score": NaN}'), "is not JSON"),
        (http_answer(b"a\0 \n b", "500 Error"), "answered 500: a b"),
        (http_answer(b'{"error": {"message": "no key"}}', "401 Unauthorized"), "401: no key"),
    ],
)
def test_a_failed_call_says_why(gateway: StageGateway, answer: bytes, problem: str) -> None:
    gateway.says["rerank"] = answer
    with gateway.models() as models:
        models.begin("rerank", {})
        assert problem in (models.answer("rerank").problem or "")


def test_a_gateway_that_is_not_there(gateway: StageGateway) -> None:
    found = GatewayCall(gateway.db, REQUEST).answer()
    assert "http://127.0.0.1:9 cannot be reached" in found["problem"]
    found = GatewayCall(gateway.db, REQUEST | {"url": "ftp://x"}).answer()
    assert "cannot be reached" in found["problem"]


def test_an_answer_has_nothing_that_the_database_cannot_hold(gateway: StageGateway) -> None:
    gateway.says["embed"] = http_answer(b'{"a\\u0000": ["\\ud800x", {"b": 1}], "c": "\\u00e4"}')
    with gateway.models() as models:
        models.begin("embed", {})
        assert models.answer("embed").answer == {"a": ["\ufffdx", {"b": 1}], "c": "ä"}


@pytest.mark.parametrize("steps", [0, 2])
def test_a_cancel_ends_a_call(gateway: StageGateway, steps: int) -> None:
    """The server raises a cancel out of the empty statement that waiting runs."""
    answer = threading.Event()
    request = REQUEST | {"url": gateway.server.url, "timeout_ms": 9000}
    gateway.server.respond = lambda _: b"" if answer.wait(9) else None
    db = gateway.db

    def answer_nothing() -> list[Any]:
        if len(db.asked) > steps:
            raise KeyboardInterrupt
        return []

    db.answers["SELECT"] = answer_nothing
    call = GatewayCall(db, request)
    try:
        with pytest.raises(KeyboardInterrupt):
            call.answer()
    finally:
        answer.set()
    assert db.asked == ["SELECT"] * (steps + 1)
    assert not gateway.connections  # it is closed, not kept for the next call


def test_a_late_answer_is_none(gateway: StageGateway) -> None:
    answer = threading.Event()
    request = REQUEST | {"url": gateway.server.url, "timeout_ms": 30}
    gateway.server.respond = lambda _: b"" if answer.wait(9) else None
    found = GatewayCall(gateway.db, request).answer()
    answer.set()
    assert "gave no answer within 30 ms" in found["problem"]
