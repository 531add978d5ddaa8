"""Chat completions: OpenAI's shape, whole and streamed, and what a caller may send."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from support.model_provider import DEFAULT_TOKEN, Behaviour, GatewayProcess, ModelProvider

MODEL = ModelProvider.chat_model
ASKED = [{"role": "user", "content": "Where is the wine?"}]
REPLY = "The test model's answer to: Where is the wine?"


@pytest.fixture(scope="module")
def gateway(session_provider: ModelProvider) -> Iterator[GatewayProcess]:
    with GatewayProcess("--provider-timeout", "3", provider=session_provider) as gateway:
        chat(gateway, stream=True)  # what streams is imported at the first call, which takes long
        yield gateway


def chat(gateway: GatewayProcess, **fields: Any) -> httpx.Response:
    body = {"model": MODEL, "messages": ASKED, **fields}
    return httpx.post(f"{gateway.url}/v1/chat/completions", json=body, timeout=120)


def events(response: httpx.Response) -> list[Any]:
    assert response.headers["content-type"].startswith("text/event-stream")
    lines = [line.removeprefix("data: ") for line in response.text.split("\n\n") if line]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


def test_a_whole_answer(gateway: GatewayProcess, model_provider: ModelProvider) -> None:
    answer = chat(gateway, max_tokens=20, temperature=0.5).json()
    assert answer["object"] == "chat.completion"
    assert answer["model"] == MODEL
    message = {"role": "assistant", "content": REPLY}
    assert answer["choices"] == [{"index": 0, "message": message, "finish_reason": "stop"}]
    assert answer["usage"] == {"prompt_tokens": 4, "completion_tokens": 9, "total_tokens": 13}
    assert model_provider.bodies[0]["max_tokens"] == 20
    assert model_provider.bodies[0]["temperature"] == 0.5
    assert model_provider.headers[0]["authorization"] == f"Bearer {DEFAULT_TOKEN}"


@pytest.mark.parametrize(
    ("behaviour", "told"),
    [
        (
            Behaviour(refusal="I can't help with that."),
            "refused to answer: I can't help with that.",
        ),
        (Behaviour(refusal="no", finish_reason="content_filter"), "refused to answer: no"),
        (Behaviour(garbage=True), "an answer that cannot be read"),
    ],
)
def test_what_a_model_gave_instead_of_an_answer_is_said(
    gateway: GatewayProcess, model_provider: ModelProvider, behaviour: Behaviour, told: str
) -> None:
    model_provider.behaviour = behaviour
    answer = chat(gateway)
    assert answer.status_code == 502
    assert told in answer.json()["error"]["message"]


def test_a_streamed_answer(gateway: GatewayProcess, model_provider: ModelProvider) -> None:
    *pieces, done = events(chat(gateway, stream=True))
    assert done == "[DONE]"
    assert {piece["object"] for piece in pieces} == {"chat.completion.chunk"}
    told = [c["delta"].get("content", "") for piece in pieces for c in piece["choices"]]
    assert "".join(told) == REPLY
    assert len([part for part in told if part]) > 3
    assert [c["finish_reason"] for piece in pieces for c in piece["choices"]][-1] == "stop"
    assert pieces[-1]["usage"]["completion_tokens"] == 9


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("from \ud83c France", "from \ufffd France"),
        ("from \udf77", "from \ufffd"),
        ("France \ud83c", "France \ufffd"),
        ("\ud83c\ud83c France \U0001f377", "\ufffd\ufffd France \U0001f377"),
    ],
)
def test_half_a_letter_is_the_replacement_character(
    gateway: GatewayProcess, model_provider: ModelProvider, reply: str, said: str
) -> None:
    model_provider.reply = lambda _: reply
    assert chat(gateway).json()["choices"][0]["message"]["content"] == said
    *pieces, _ = events(chat(gateway, stream=True))
    told = [c["delta"].get("content", "") for piece in pieces for c in piece["choices"]]
    assert "".join(told) == said


def test_a_letter_in_two_pieces_is_whole(
    gateway: GatewayProcess, model_provider: ModelProvider
) -> None:
    model_provider.pieces = ["from ", "\ud83c", "\udf77 ", "France"]
    *pieces, _ = events(chat(gateway, stream=True))
    told = [c["delta"].get("content", "") for piece in pieces for c in piece["choices"]]
    assert "".join(told) == "from \U0001f377 France"


def test_half_a_letter_in_an_error(gateway: GatewayProcess, model_provider: ModelProvider) -> None:
    model_provider.behaviours["chat"] = Behaviour(status=400, error_message="not \ud83c this")
    error = chat(gateway).json()["error"]
    assert error["code"] == "provider_rejected_request"
    assert "not \ufffd this" in error["message"]


def test_what_fails_before_the_first_word_has_a_status(
    gateway: GatewayProcess, model_provider: ModelProvider
) -> None:
    model_provider.behaviours["chat"] = Behaviour(status=400)
    response = chat(gateway, stream=True)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "provider_rejected_request"


def test_what_fails_halfway_is_the_last_event(
    gateway: GatewayProcess, model_provider: ModelProvider
) -> None:
    model_provider.behaviours["chat"] = Behaviour(drop_halfway=True)
    *pieces, last = events(chat(gateway, stream=True))
    assert pieces
    assert last["error"]["code"] in ("provider_unreachable", "provider_error")


def test_a_picture(gateway: GatewayProcess, model_provider: ModelProvider) -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    content = [{"type": "text", "text": "What is it?"}, picture]
    answer = chat(gateway, messages=[{"role": "user", "content": content}])
    assert "It saw picture " in answer.json()["choices"][0]["message"]["content"]


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"model": "../secrets"}, "invalid_model", "model"),
        ({"model": "local/all-minilm-l6-v2"}, "model_not_found", "model"),
        ({"messages": []}, "invalid_messages", "messages"),
        ({"messages": "hello"}, "invalid_messages", "messages"),
        ({"messages": [{"role": "tool", "content": "a"}]}, "invalid_messages", "messages[0]"),
        ({"messages": [{"role": "user"}]}, "invalid_input", "messages[0].content"),
        ({"messages": ASKED * 201}, "too_many_messages", "messages"),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {"type": "image_url", "image_url": {"url": "http://elsewhere.example"}}
                        ],
                    }
                ]
            },
            "invalid_messages",
            "messages[0].content[0]",
        ),
        ({"max_tokens": 0}, "invalid_max_tokens", "max_tokens"),
        ({"temperature": "hot"}, "invalid_temperature", "temperature"),
        ({"temperature": True}, "invalid_temperature", "temperature"),
        ({"response_format": "json"}, "invalid_response_format", "response_format"),
        ({"stream": "yes"}, "invalid_stream", "stream"),
        ({"timeout_ms": 0}, "invalid_timeout_ms", "timeout_ms"),
        ({"api_base": "http://elsewhere.example"}, "unknown_parameter", "api_base"),
    ],
)
def test_what_cannot_be_taken(
    gateway: GatewayProcess,
    model_provider: ModelProvider,
    fields: dict[str, Any],
    code: str,
    param: str,
) -> None:
    response = chat(gateway, **fields)
    assert response.status_code in (400, 404)
    error = response.json()["error"]
    assert (error["code"], error["param"]) == (code, param)
    assert model_provider.requests == 0
