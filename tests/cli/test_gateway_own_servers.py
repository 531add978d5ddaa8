"""Servers of one's own that speak OpenAI's API, over real HTTP."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import psycopg
import pytest
from click.testing import Result

from pgblend.cli.base.errors import UserError
from pgblend.cli.models.own_servers import OwnServer, own_servers
from support.model_provider import Behaviour, GatewayProcess, ModelProvider, embed

ADDRESS = "http://127.0.0.1:11434/v1"
SECRET = "a-key-of-ones-own"


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[ModelProvider, ModelProvider]]:
    """Two servers; the second one wants a key."""
    with ModelProvider() as ollama, ModelProvider() as tei:
        yield ollama, tei


@pytest.fixture(scope="module")
def gateway(
    session_provider: ModelProvider, servers: tuple[ModelProvider, ModelProvider]
) -> Iterator[GatewayProcess]:
    """A gateway that also knows OpenAI, with a key that no other server may see."""
    ollama, tei = servers
    environment = {
        "PGBLEND_MODEL_SERVER_OLLAMA": f"{ollama.url}/v1/",
        "PGBLEND_MODEL_SERVER_MY_TEI": f"{tei.url}/v1",
        "PGBLEND_MODEL_SERVER_MY_TEI_KEY": SECRET,
    }
    options = ("--attempts", "1", "--breaker-failures", "1000")
    with GatewayProcess(*options, provider=session_provider, environment=environment) as process:
        yield process


@pytest.fixture
def ollama(servers: tuple[ModelProvider, ModelProvider]) -> ModelProvider:
    servers[0].reset()
    return servers[0]


@pytest.fixture
def tei(servers: tuple[ModelProvider, ModelProvider]) -> ModelProvider:
    servers[1].reset()
    return servers[1]


def post(gateway: GatewayProcess, path: str, **body: Any) -> httpx.Response:
    return httpx.post(f"{gateway.url}{path}", json=body, timeout=120)


@pytest.mark.slow
def test_embeddings_go_to_the_server_that_the_name_says(
    gateway: GatewayProcess,
    ollama: ModelProvider,
    tei: ModelProvider,
    model_provider: ModelProvider,
) -> None:
    answers = [
        post(gateway, "/v1/embeddings", model=model, input="a text", dimensions=dimensions)
        for model, dimensions in (
            ("ollama/nomic-embed-text", None),
            ("my-tei/BAAI/bge-m3", 16),
            (model_provider.model, None),
        )
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert answers[0].json()["data"][0]["embedding"] == pytest.approx(embed("a text"), abs=1e-6)
    assert len(answers[1].json()["data"][0]["embedding"]) == 16
    assert [body["model"] for body in ollama.bodies] == ["nomic-embed-text"]
    assert [body["model"] for body in tei.bodies] == ["BAAI/bge-m3"]
    assert model_provider.requests == 1
    assert ollama.headers[0][":path"] == "/v1/embeddings"
    assert tei.headers[0]["authorization"] == f"Bearer {SECRET}"
    assert "test-provider-key" not in str(ollama.headers + tei.headers)


@pytest.mark.slow
def test_chat_expansion_and_rerank(gateway: GatewayProcess, ollama: ModelProvider) -> None:
    model = "ollama/qwen3:4b"
    said = post(
        gateway, "/v1/chat/completions", model=model, messages=[{"role": "user", "content": "hi"}]
    )
    assert said.status_code == 200, said.text
    ollama.reply = lambda _: '{"lexicalQueries": ["go live"], "vectorQueries": [], "hyde": ""}'
    expanded = post(gateway, "/v1/expand", model=model, query="deploy it")
    assert expanded.json()["lexicalQueries"] == ["go live"]
    ollama.behaviours["rerank"] = Behaviour(status=404)  # Ollama has none
    ollama.reply = lambda _: '{"scores": [1, 9]}'
    ranked = post(gateway, "/v1/rerank", model=model, query="wine", documents=["sea", "wine"])
    assert [row["index"] for row in ranked.json()["results"]] == [1, 0]
    models = {body["model"] for body in ollama.bodies if "texts" not in body}
    assert models == {"qwen3:4b"}
    post(gateway, "/v1/rerank", model=model, query="wine", documents=["land", "beer"])
    paths = [headers[":path"] for headers in ollama.headers]
    assert paths.count("/v1/rerank") == 1  # it is asked once
    assert {*paths} == {"/v1/chat/completions", "/v1/rerank", "/rerank"}


@pytest.mark.slow
def test_a_reranker_of_ones_own(gateway: GatewayProcess, tei: ModelProvider) -> None:
    """As vLLM, Infinity and llama.cpp have it, in Cohere's and Jina's shape."""
    tei.behaviours["chat"] = Behaviour(status=404)
    asked = {"model": "my-tei/BAAI/bge-reranker-v2-m3", "query": "red wine"}
    ranked = post(gateway, "/v1/rerank", **asked, documents=["sea", "red wine"])
    assert ranked.status_code == 200, ranked.text
    assert [(row["index"], row["relevance_score"]) for row in ranked.json()["results"]] == [
        (1, 1.0),
        (0, 0.0),
    ]
    assert [headers[":path"] for headers in tei.headers] == ["/v1/rerank"]
    assert tei.headers[0]["authorization"] == f"Bearer {SECRET}"
    assert [body["model"] for body in tei.bodies] == ["BAAI/bge-reranker-v2-m3"]
    tei.behaviours["rerank"] = Behaviour(status=500)
    failed = post(gateway, "/v1/rerank", **asked, documents=["sand"])
    assert failed.json()["error"]["code"] == "provider_error"
    tei.behaviours["rerank"] = Behaviour(status=404)
    failed = post(gateway, "/v1/rerank", **asked, documents=["snow"])
    assert "has no rerank model 'my-tei/BAAI/bge-reranker-v2-m3'" in failed.text
    assert {headers[":path"] for headers in tei.headers} == {"/v1/rerank"}  # it is known by then


@pytest.mark.slow
def test_a_reranker_of_text_embeddings_inference(
    gateway: GatewayProcess, tei: ModelProvider
) -> None:
    """It takes `texts` at the server's root, 32 at once, and knows no other shape."""
    tei.behaviours["rerank"] = Behaviour(status=404, failures=1)
    asked = {"model": "my-tei/BAAI/bge-reranker-base", "query": "red wine"}
    documents = [f"sea {number}" for number in range(33)] + ["red wine"]
    ranked = post(gateway, "/v1/rerank", **asked, documents=documents)
    assert ranked.status_code == 200, ranked.text
    assert ranked.json()["results"][0] == {"index": 33, "relevance_score": 1.0}
    assert len(ranked.json()["results"]) == 34
    post(gateway, "/v1/rerank", **asked, documents=["red sea"])
    sent = [
        (headers[":path"], len(body.get("texts", ())))
        for headers, body in zip(tei.headers, tei.bodies, strict=True)
    ]
    assert sent == [("/v1/rerank", 0), ("/rerank", 32), ("/rerank", 2), ("/rerank", 1)]
    assert {headers["authorization"] for headers in tei.headers} == {f"Bearer {SECRET}"}


@pytest.mark.parametrize(
    ("behaviour", "status", "code"),
    [
        (Behaviour(status=401), 401, "provider_key_rejected"),
        (Behaviour(status=404), 404, "model_not_found"),
        (Behaviour(status=500), 502, "provider_error"),
        (Behaviour(drop=True), 502, "provider_unreachable"),
        (Behaviour(garbage=True), 502, "provider_bad_response"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_goes_wrong_there_names_it(
    gateway: GatewayProcess, tei: ModelProvider, behaviour: Behaviour, status: int, code: str
) -> None:
    tei.behaviour = behaviour
    answer = post(gateway, "/v1/embeddings", model="my-tei/BAAI/bge-m3", input=f"a text for {code}")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code), error
    assert "my-tei" in error["message"]
    assert "openai" not in error["message"].lower()
    assert SECRET not in answer.text


def test_it_serves_a_database(
    pgblend: Callable[..., Result],
    connection: psycopg.Connection,
    gateway: GatewayProcess,
    ollama: ModelProvider,
) -> None:
    connection.execute("SELECT blend.set_setting('gateway_url', to_jsonb(%s::text))", [gateway.url])
    result = pgblend("models", "set", "embedding", "ollama/nomic-embed-text")
    assert result.exit_code == 0, result.output
    row = connection.execute("SELECT vector_dims((blend.embed_text('{x}'))[1])").fetchone()
    assert row == (384,)
    assert ollama.requests == 2


def test_what_the_environment_may_hold() -> None:
    given = {
        "PGBLEND_MODEL_SERVER_VLLM": f" {ADDRESS}/ ",
        "PGBLEND_MODEL_SERVER_MY_TEI": "https://tei.example",
        "PGBLEND_MODEL_SERVER_MY_TEI_KEY": SECRET,
        "PATH": "/bin",
    }
    found = own_servers(given)
    assert found == {
        "vllm": OwnServer(ADDRESS),
        "my-tei": OwnServer("https://tei.example", SECRET),
    }
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    ("variable", "value", "part"),
    [
        ("OLLAMA", "127.0.0.1:11434", "expected an address"),
        ("OLLAMA", "", "expected an address"),
        ("OLLAMA", "http://[::1", "expected an address"),
        ("OLLAMA", "ftp://server/v1", "expected an address"),
        ("ollama", ADDRESS, "a name of capitals"),
        ("LOCAL", ADDRESS, "would never be asked"),
        ("OLLAMA_KEY", SECRET, "PGBLEND_MODEL_SERVER_OLLAMA is not"),
    ],
)
def test_what_it_may_not(variable: str, value: str, part: str) -> None:
    with pytest.raises(UserError, match=part) as raised:
        own_servers({f"PGBLEND_MODEL_SERVER_{variable}": value})
    assert raised.value.hint
    assert SECRET not in raised.value.message
