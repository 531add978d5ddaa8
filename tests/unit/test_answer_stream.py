"""A streamed answer: every way in which a gateway may answer, over TCP and a unix socket."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from pgblend.cli.answers.ask import AnswerError, UnreachableGatewayError, stream_answer
from support.raw_server import RawServer, http_answer

BODY = {"model": "m", "messages": []}


def event(text: str | None = None, reason: str | None = None) -> bytes:
    delta = {} if text is None else {"content": text}
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"
WHOLE = event("Yes") + b": a comment\n\n" + event(", no.") + event(None, "stop") + DONE


def ask(url: str, timeout_s: float = 5) -> tuple[Any, list[str]]:
    seen: list[str] = []
    return stream_answer(url, BODY, timeout_s, seen.append), seen


def test_pieces_are_shown_as_they_come(tmp_path: Path) -> None:
    for path in (None, str(tmp_path / "gateway.sock")):
        with RawServer(lambda _: http_answer(WHOLE), path) as server:
            found, seen = ask(server.url)
        assert found == {"model": "m", "text": "Yes, no.", "finish_reason": "stop"}
        assert seen == ["Yes", "Yes, no."]


def test_half_a_letter_and_a_character_0() -> None:
    with RawServer(lambda _: http_answer(event("a\ud83cb\0", "stop") + DONE)) as server:
        assert ask(server.url)[0]["text"] == "a\ufffdb"


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (http_answer(event("Yes")), "broke off"),
        (http_answer(event("Yes", "stop")), None),
        (http_answer(event(" ", "stop") + DONE), "the model said nothing"),
        (http_answer(b"data: {nonsense\n\n"), "is no chat completion"),
        (http_answer(b"data: [1]\n\n"), "is no chat completion"),
        (http_answer(b'data: {"choices": [{"delta": 5}]}\n\n'), "is no chat completion"),
        (http_answer(b'data: {"usage": {}}\n\n'), "is no chat completion"),
        (http_answer(b'data: {"choices": []}\n\n' + event("x", "length")), None),
        (http_answer(event("Y") + b'data: {"error": {"message": "too\\n much"}}\n\n'), "too much"),
        (http_answer(b'data: {"error": 5}\n\n'), "an error without a message"),
        (http_answer(b'{"error": {"message": "too long"}}', "400 Bad Request"), "too long"),
        (http_answer(b"<html>", "502 Bad Gateway"), "status 502"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + event("Y"), "broke off"),
    ],
)
def test_what_is_no_answer_says_why(answer: bytes, problem: str | None) -> None:
    with RawServer(lambda _: answer, keep_alive=False) as server:
        if problem is None:
            assert ask(server.url)[0]["text"]
        else:
            with pytest.raises(AnswerError, match=problem):
                ask(server.url)


def test_an_answer_that_never_ends_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(0, 3)  # three seconds between any two looks at it
    monkeypatch.setattr("pgblend.cli.answers.ask.time.monotonic", lambda: next(clock))
    with (
        RawServer(lambda _: http_answer(event("on and on ") * 50)) as server,
        pytest.raises(AnswerError, match="not complete within 5 seconds"),
    ):
        ask(server.url)


@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        ("401 Unauthorized", "invalid_token", UnreachableGatewayError),
        ("403 Forbidden", "host_not_allowed", UnreachableGatewayError),
        ("401 Unauthorized", "provider_key_missing", AnswerError),
    ],
)
def test_a_gateway_that_refuses_who_asks(status: str, code: str, error: type[Exception]) -> None:
    body = json.dumps({"error": {"message": "no key", "code": code}}).encode()
    with (
        RawServer(lambda _: http_answer(body, status), keep_alive=False) as server,
        pytest.raises(error, match="no key"),
    ):
        ask(server.url)


def test_an_address_where_nobody_listens(tmp_path: Path) -> None:
    for url in ("http://127.0.0.1:9", f"unix:{tmp_path / 'nobody.sock'}"):
        with pytest.raises(UnreachableGatewayError):
            ask(url)
