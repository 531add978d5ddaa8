"""Every fault of a provider at every path of the gateway: a clear error in time, nothing kept."""

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from pgblend.cli.base.http_client import MAX_ANSWER_BYTES
from support.model_provider import DEFAULT_TOKEN, Behaviour, GatewayProcess, ModelProvider

pytestmark = pytest.mark.extended

CHAT = ModelProvider.chat_model
QUERY = "how do I deploy to production"
PATHS: dict[str, tuple[str, dict[str, Any]]] = {
    "embeddings": ("embeddings", {"model": ModelProvider.model, "input": QUERY}),
    "chat": (
        "chat/completions",
        {"model": CHAT, "messages": [{"role": "user", "content": QUERY}]},
    ),
    "stream": (
        "chat/completions",
        {"model": CHAT, "messages": [{"role": "user", "content": QUERY}], "stream": True},
    ),
    "rerank": (
        "rerank",
        {"model": ModelProvider.rerank_model, "query": QUERY, "documents": ["a", "b"]},
    ),
    "rerank by chat": ("rerank", {"model": CHAT, "query": QUERY, "documents": ["a", "b"]}),
    "expand": ("expand", {"model": CHAT, "query": QUERY}),
    "hyde": ("hyde", {"model": CHAT, "query": QUERY}),
}
BAD = {"provider_bad_response", "provider_error"}
FAULTS: dict[str, tuple[Behaviour, int, set[str]]] = {
    "slow": (Behaviour(delay_seconds=1.5), 500, {"provider_timeout"}),
    "hang": (Behaviour(hang=True), 500, {"provider_timeout"}),
    "drop": (Behaviour(drop=True), 20_000, {"provider_unreachable"}),
    "garbage": (Behaviour(garbage=True), 20_000, BAD),
    "wrong schema": (Behaviour(wrong_schema=True), 20_000, BAD),
    "429": (Behaviour(status=429, retry_after=30), 20_000, {"provider_rate_limit"}),
    "500": (Behaviour(status=500), 20_000, {"provider_error"}),
    "invalid UTF-8": (Behaviour(invalid_utf8=True), 20_000, BAD),
}


@pytest.fixture(scope="module")
def gateway(session_provider: ModelProvider) -> Iterator[GatewayProcess]:
    options = ("--attempts", "2", "--breaker-failures", "1000", "--log-level", "info")
    with GatewayProcess(*options, provider=session_provider) as gateway:
        post(gateway, "chat")  # litellm is loaded
        yield gateway


def post(gateway: GatewayProcess, path: str, **more: Any) -> httpx.Response:
    url, body = PATHS[path]
    return httpx.post(f"{gateway.url}/v1/{url}", json={**body, **more}, timeout=120)


@pytest.mark.fault(
    "a provider that fails in each way, behind the gateway",
    "a clear error in time; nothing is kept",
)
@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("path", PATHS)
def test_a_clear_error_in_time_and_nothing_kept(
    gateway: GatewayProcess, model_provider: ModelProvider, path: str, fault: str
) -> None:
    behaviour, timeout_ms, codes = FAULTS[fault]
    model_provider.behaviour = behaviour
    query = f"{QUERY} {path} {fault}"
    more = {"input": query} if path == "embeddings" else {"query": query}
    more = {} if path in ("chat", "stream") else more
    response = post(gateway, path, timeout_ms=timeout_ms, **more)
    assert response.is_error, response.text
    error = response.json()["error"]
    assert error["code"] in codes, error
    assert error["message"]
    assert "\n" not in error["message"]
    for secret in (DEFAULT_TOKEN, QUERY, "Traceback", "litellm."):
        assert secret not in response.text
    if fault == "429":
        assert response.headers["Retry-After"] == "30"
    asked = model_provider.requests
    # What is wrong with a stream is seen when its start has been taken for an answer.
    garbled = path == "stream" and fault in ("garbage", "wrong schema", "invalid UTF-8")
    assert asked == (1 if garbled or fault in ("slow", "hang", "429") else 2)
    model_provider.behaviour = Behaviour()
    answer = post(gateway, path, **more)
    assert answer.status_code == 200, answer.text
    assert "x-pgblend-cached" not in answer.headers
    assert model_provider.requests == asked + 1
    assert DEFAULT_TOKEN not in gateway.stderr
    assert QUERY not in gateway.stderr


@pytest.mark.slow
@pytest.mark.fault("an answer without end", "cut off; memory stays bounded")
@pytest.mark.parametrize("path", ["embeddings", "chat", "rerank"])
def test_an_answer_that_would_fill_the_memory(
    gateway: GatewayProcess, model_provider: ModelProvider, path: str
) -> None:
    model_provider.behaviour = Behaviour(huge_bytes=80 * 1024 * 1024, failures=2)
    more = {"input": "huge"} if path == "embeddings" else {}
    error = post(gateway, path, **more).json()["error"]
    assert error["code"] == "provider_bad_response"
    (most,) = re.findall(r"the answer has more than (\d+) bytes", error["message"])
    assert int(most) <= MAX_ANSWER_BYTES


@pytest.mark.fault("a provider that fails once", "a retry, no error")
@pytest.mark.parametrize("path", ["chat", "rerank", "embeddings"])
def test_one_failure_is_no_failure(
    gateway: GatewayProcess, model_provider: ModelProvider, path: str
) -> None:
    model_provider.behaviour = Behaviour(status=500, failures=1)
    more = {"input": "once"} if path == "embeddings" else {}
    assert post(gateway, path, **more).status_code == 200


@pytest.mark.parametrize("path", ["chat", "rerank", "embeddings"])
def test_calls_share_a_connection_whatever_their_deadlines(
    gateway: GatewayProcess, model_provider: ModelProvider, path: str
) -> None:
    for number in range(4):
        text = f"number {number}"
        more = {"chat": {}, "rerank": {"query": text}, "embeddings": {"input": text}}[path]
        assert post(gateway, path, timeout_ms=20_000 + number, **more).status_code == 200
    assert model_provider.requests == 4
    assert model_provider.connections <= 1  # one may be there from a test before


@pytest.mark.fault("a provider that asks for patience", "its Retry-After is waited for")
def test_retry_after_is_waited_for(gateway: GatewayProcess, model_provider: ModelProvider) -> None:
    model_provider.behaviour = Behaviour(status=429, retry_after=0.2, failures=1)
    assert post(gateway, "chat").status_code == 200
    assert model_provider.requests == 2


@pytest.fixture
def fragile(session_provider: ModelProvider) -> Iterator[GatewayProcess]:
    options = (
        *("--attempts", "1", "--breaker-failures", "2", "--breaker-seconds", "5"),
        *("--concurrency", "1", "--fallback", f"expansion={ModelProvider.plain_chat_model}"),
    )
    with GatewayProcess(*options, provider=session_provider) as gateway:
        yield gateway


@pytest.mark.slow
@pytest.mark.fault("a provider that keeps failing", "the breaker opens, the fallback answers")
def test_breaker_fallbacks_and_places(
    fragile: GatewayProcess, model_provider: ModelProvider
) -> None:
    model_provider.behaviours["chat"] = Behaviour(status=500)
    codes = [post(fragile, "chat").json()["error"]["code"] for _ in range(3)]
    assert codes == ["provider_error", "provider_error", "circuit_open"]
    assert model_provider.requests == 2
    left_alone = post(fragile, "chat")
    assert left_alone.status_code == 503
    assert int(left_alone.headers["Retry-After"]) >= 1
    assert httpx.get(f"{fragile.url}/health").json()["failing"] == {CHAT: "open"}
    opened = f'pgblend_gateway_breaker_open{{model="{CHAT}"}} '
    assert f"{opened}1.0" in httpx.get(f"{fragile.url}/metrics").text

    # Another model is asked in its place, and its answer is kept as its own.
    model_provider.reset()
    answer = post(fragile, "expand")
    assert answer.status_code == 200
    assert [body["model"] for body in model_provider.bodies] == ["test-chat"]

    while httpx.get(f"{fragile.url}/health").json()["failing"] != {CHAT: "half_open"}:
        time.sleep(0.05)
    assert post(fragile, "chat").status_code == 200  # the probe
    assert httpx.get(f"{fragile.url}/health").json()["failing"] == {}
    assert f"{opened}0.0" in httpx.get(f"{fragile.url}/metrics").text

    # One call at a time: who finds no place free in time is told so.
    model_provider.reset()
    model_provider.behaviours["chat"] = Behaviour(hang=True)
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(post, fragile, "chat", timeout_ms=3000)
        while model_provider.requests == 0:
            time.sleep(0.01)
        refused = post(fragile, "chat", timeout_ms=100)
        assert refused.json()["error"]["code"] == "provider_busy"
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
        assert running.result().json()["error"]["code"] == "provider_timeout"
