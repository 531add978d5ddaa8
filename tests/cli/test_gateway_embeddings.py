"""/v1/embeddings, /v1/models and /health of a real gateway process before a real provider."""

import base64
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import numpy as np
import pytest

from support.model_provider import Behaviour, GatewayProcess, ModelProvider, embed
from support.waiting import wait_until


@pytest.fixture(scope="module")
def shared_gateway(session_provider: ModelProvider) -> Iterator[GatewayProcess]:
    with GatewayProcess(provider=session_provider) as gateway:
        yield gateway


@pytest.fixture
def client(shared_gateway: GatewayProcess, model_provider: ModelProvider) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=shared_gateway.url, timeout=30) as client:
        yield client


def call(client: httpx.Client, texts: object, **fields: object) -> dict[str, Any]:
    body = {"model": ModelProvider.model, "input": texts, **fields}
    response = client.post("/v1/embeddings", json=body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def test_one_text(client: httpx.Client) -> None:
    answer = call(client, "one text alone")
    assert answer["object"] == "list"
    assert answer["model"] == ModelProvider.model
    assert [(row["object"], row["index"]) for row in answer["data"]] == [("embedding", 0)]
    assert answer["data"][0]["embedding"] == embed("one text alone")
    assert answer["usage"] == {"prompt_tokens": 3, "total_tokens": 3}


def test_vectors_come_in_the_order_of_the_texts(client: httpx.Client) -> None:
    texts = [f"text number {number}" for number in range(100)]
    answer = call(client, texts)
    assert [row["index"] for row in answer["data"]] == list(range(100))
    assert [row["embedding"] for row in answer["data"]] == [embed(text) for text in texts]


def test_base64_is_little_endian_float32(client: httpx.Client) -> None:
    answer = call(client, "as base64", encoding_format="base64")
    vector = np.frombuffer(base64.b64decode(answer["data"][0]["embedding"]), "<f4")
    assert vector.tolist() == embed("as base64")


def test_dimensions_reach_a_model_that_litellm_does_not_know(
    client: httpx.Client, model_provider: ModelProvider
) -> None:
    answer = call(client, "short vector", dimensions=12)
    assert answer["data"][0]["embedding"] == embed("short vector", 12)
    assert model_provider.bodies[0]["dimensions"] == 12


def test_dimensions_are_left_out_for_a_model_that_refuses_them(
    client: httpx.Client, model_provider: ModelProvider
) -> None:
    call(client, "fixed size", model="openai/text-embedding-ada-002", dimensions=384)
    assert "dimensions" not in model_provider.bodies[0]


def test_any_text_arrives_as_it_was_sent(
    client: httpx.Client, model_provider: ModelProvider
) -> None:
    texts = ["naïve 🙂 \u202e", "a\x00b", " ", "<|endoftext|>", "'; DROP TABLE x; --"]
    call(client, texts)
    assert model_provider.bodies[0]["input"] == texts


def test_the_second_call_is_answered_from_the_cache(
    client: httpx.Client, model_provider: ModelProvider
) -> None:
    before = client.get("/health").json()["cache"]
    first = call(client, "ask me twice")
    second = call(client, "ask me twice")
    after = client.get("/health").json()["cache"]
    assert model_provider.requests == 1
    assert second["data"] == first["data"]
    assert second["usage"]["total_tokens"] == 0
    assert after["hits"] - before["hits"] == 1
    assert after["misses"] - before["misses"] == 1
    assert after["entries"] - before["entries"] == 1


def test_only_what_is_not_cached_goes_to_the_provider(
    client: httpx.Client, model_provider: ModelProvider
) -> None:
    call(client, ["known one"])
    answer = call(client, ["new one", "known one", "new one", "other one"])
    assert model_provider.bodies[1]["input"] == ["new one", "other one"]
    expected = ["new one", "known one", "new one", "other one"]
    assert [row["embedding"] for row in answer["data"]] == [embed(text) for text in expected]


def test_model_and_dimensions_are_part_of_the_cache_key(
    client: httpx.Client, model_provider: ModelProvider
) -> None:
    call(client, "same text")
    call(client, "same text", dimensions=24)
    call(client, "same text", model="openai/another-model")
    assert model_provider.requests == 3


def test_a_failure_is_not_cached(client: httpx.Client, model_provider: ModelProvider) -> None:
    model_provider.behaviour = Behaviour(status=500)
    body = {"model": model_provider.model, "input": "fails at first"}
    assert client.post("/v1/embeddings", json=body).status_code == 502
    model_provider.behaviour = Behaviour()
    assert call(client, "fails at first")["data"][0]["embedding"] == embed("fails at first")


def test_calls_run_side_by_side(client: httpx.Client, model_provider: ModelProvider) -> None:
    model_provider.behaviour = Behaviour(together=8)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: call(client, f"parallel {number}"), range(8)))
    assert model_provider.requests == 8


def test_a_client_that_leaves_ends_the_providers_call(
    client: httpx.Client, model_provider: ModelProvider, shared_gateway: GatewayProcess
) -> None:
    call(client, "so that litellm is loaded")
    model_provider.behaviour = Behaviour(hang=True)
    body = {"model": model_provider.model, "input": "nobody waits for this"}
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{shared_gateway.url}/v1/embeddings", json=body, timeout=0.5)
    wait_until(lambda: model_provider.abandoned == 1, 5)
    assert client.get("/health").json()["status"] == "ok"
    assert "Traceback" not in shared_gateway.stderr


def test_health_answers_while_a_call_hangs(
    client: httpx.Client, model_provider: ModelProvider
) -> None:
    model_provider.behaviour = Behaviour(hang=True)
    body = {"model": model_provider.model, "input": "hangs"}

    def hang() -> None:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{client.base_url}/v1/embeddings", json=body, timeout=2)

    caller = threading.Thread(target=hang)
    caller.start()
    while model_provider.requests == 0:
        time.sleep(0.01)
    assert client.get("/health").json()["status"] == "ok"
    caller.join()


def test_health_says_who_answers(client: httpx.Client, shared_gateway: GatewayProcess) -> None:
    health = client.get("/health").json()
    assert health["pid"] == shared_gateway.pid == shared_gateway.process.pid
    assert health["version"]
    assert "local/all-minilm-l6-v2" in health["models"]


def test_models_lists_only_what_is_installed(client: httpx.Client) -> None:
    states = client.get("/health").json()["models"]
    listed = [model["id"] for model in client.get("/v1/models").json()["data"]]
    packaged = ["local/all-minilm-l6-v2", "local/multilingual-e5-small"]
    assert listed == [name for name in packaged if states[name] != "missing"]


def test_one_model_by_name(client: httpx.Client) -> None:
    for model in client.get("/v1/models").json()["data"]:
        assert client.get(f"/v1/models/{model['id']}").json() == model
        assert client.get(f"/v1/models/{model['id'].replace('/', '%2F')}").json() == model
    missing = client.get("/v1/models/local/none")
    assert missing.status_code == 404
    assert missing.json()["error"]["code"] == "model_not_found"


@pytest.mark.parametrize("missing", [0, 1])
def test_vectors_without_numbers_are_in_the_order_of_the_texts(
    client: httpx.Client, model_provider: ModelProvider, missing: int
) -> None:
    texts = [f"unnumbered {missing} {word}" for word in ("wine", "ships", "cats")]
    model_provider.behaviour = Behaviour(without_index=True, missing_vectors=missing)
    response = client.post("/v1/embeddings", json={"model": ModelProvider.model, "input": texts})
    if missing:
        assert response.status_code == 502
        assert "2 vectors for 3 texts" in response.json()["error"]["message"]
        return
    found = [item["embedding"] for item in response.json()["data"]]
    assert found == [pytest.approx(embed(text)) for text in texts]


def test_texts_that_share_words_are_closer_in_the_test_provider() -> None:
    query, near, far = (
        np.array(embed(text)) for text in ("deploy to production", "deploy it", "cook rice")
    )
    assert query @ near > query @ far + 0.2
