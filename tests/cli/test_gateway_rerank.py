"""Rerank scores: Cohere's shape, best first, always in [0, 1]."""

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from pgblend.cli.models.cross_encoders import ScoreReader, logit_models, sigmoid
from pgblend.cli.models.openai_errors import GatewayError
from support.model_provider import Behaviour, GatewayProcess, ModelProvider

DOCUMENTS = ["the sea", "red wine and white wine", "red and blue", "the sea"]


@pytest.fixture(scope="module")
def gateway(session_provider: ModelProvider) -> Iterator[GatewayProcess]:
    with GatewayProcess("--provider-timeout", "60", provider=session_provider) as gateway:
        yield gateway


def rerank(gateway: GatewayProcess, **fields: Any) -> httpx.Response:
    body = {
        "model": ModelProvider.rerank_model,
        "query": "red wine",
        "documents": DOCUMENTS,
        **fields,
    }
    return httpx.post(f"{gateway.url}/v1/rerank", json=body, timeout=120)


def test_best_first(gateway: GatewayProcess, model_provider: ModelProvider) -> None:
    answer = rerank(gateway).json()
    assert answer["model"] == ModelProvider.rerank_model
    assert answer["results"] == [
        {"index": 1, "relevance_score": 1.0},
        {"index": 2, "relevance_score": 0.5},
        {"index": 0, "relevance_score": 0.0},
        {"index": 3, "relevance_score": 0.0},
    ]


def test_top_n(gateway: GatewayProcess, model_provider: ModelProvider) -> None:
    results = rerank(gateway, top_n=1).json()["results"]
    assert results == [{"index": 1, "relevance_score": 1.0}]


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"documents": []}, "invalid_documents", "documents"),
        ({"documents": "a"}, "invalid_documents", "documents"),
        ({"documents": ["a", ""]}, "empty_input", "documents[1]"),
        ({"documents": ["a"] * 1001}, "too_many_documents", "documents"),
        ({"query": None}, "invalid_input", "query"),
        ({"top_n": 0}, "invalid_top_n", "top_n"),
        ({"model": "local/none"}, "model_not_found", "model"),
        ({"model": "nobody"}, "model_not_found", "model"),
    ],
)
def test_what_cannot_be_taken(
    gateway: GatewayProcess,
    model_provider: ModelProvider,
    fields: dict[str, Any],
    code: str,
    param: str,
) -> None:
    response = rerank(gateway, **fields)
    error = response.json()["error"]
    assert (error["code"], error["param"]) == (code, param)
    assert model_provider.requests == 0


def test_a_sigmoid_that_does_not_overflow() -> None:
    assert [sigmoid(x) for x in (-1000, 0, 1000)] == [0.0, 0.5, 1.0]
    assert sigmoid(2) == pytest.approx(0.8807970779778823)


def test_scores_are_asked_for_once(gateway: GatewayProcess, model_provider: ModelProvider) -> None:
    first = rerank(gateway, query="white wine")
    assert "x-pgblend-cached" not in first.headers
    again = rerank(gateway, query="white wine")
    assert again.headers["x-pgblend-cached"] == "1"
    assert again.json() == first.json()
    more = rerank(gateway, query="white wine", documents=["white", *DOCUMENTS])
    assert "x-pgblend-cached" not in more.headers
    # A text that is there twice is asked for once.
    assert [body["documents"] for body in model_provider.bodies] == [DOCUMENTS[:3], ["white"]]


def test_a_chat_model_as_reranker(gateway: GatewayProcess, model_provider: ModelProvider) -> None:
    model_provider.reply = lambda body: '{"scores": [10, 100, 55]}'
    answer = rerank(gateway, model=ModelProvider.chat_model).json()
    assert answer["results"] == [
        {"index": 1, "relevance_score": 1.0},
        {"index": 2, "relevance_score": 0.55},
        {"index": 0, "relevance_score": 0.1},
        {"index": 3, "relevance_score": 0.1},
    ]
    (asked,) = model_provider.bodies
    assert asked["response_format"]["type"] == "json_schema"
    passages = json.loads(asked["messages"][1]["content"])["passages"]
    assert passages[0] == {"number": 1, "text": "the sea"}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("I like the first one.", "gave no list of 3 scores"),
        ('{"scores": [1, 2]}', "gave no list of 3 scores"),
        ('{"scores": [1, 2, 101]}', "gave a score that is not a number from 0 to 100"),
        ('{"scores": [1, 2, "3"]}', "gave a score that is not a number from 0 to 100"),
        ('{"scores": [1, 2, true]}', "gave a score that is not a number from 0 to 100"),
    ],
)
def test_scores_of_a_chat_model_that_are_not_taken(
    gateway: GatewayProcess, model_provider: ModelProvider, reply: str, reason: str
) -> None:
    model_provider.reply = lambda body: reply
    response = rerank(gateway, model=ModelProvider.plain_chat_model)
    assert response.status_code == 502
    assert response.json()["error"]["message"].endswith(reason)


def test_an_answer_of_another_shape(gateway: GatewayProcess, model_provider: ModelProvider) -> None:
    """As SGLang's bare list and Voyage's `data` are."""
    model_provider.behaviour = Behaviour(wrong_schema=True)
    answer = rerank(gateway, documents=["of", "another", "shape"])
    assert answer.status_code == 502
    said = answer.json()["error"]["message"]
    assert 'cannot be read (expected {"results": [{"index": 0, "relevance_score": 0.5}' in said


def test_too_many_documents_for_a_chat_model(
    gateway: GatewayProcess, model_provider: ModelProvider
) -> None:
    documents = [f"document {number}" for number in range(51)]
    response = rerank(gateway, model=ModelProvider.chat_model, documents=documents)
    assert response.json()["error"]["code"] == "too_many_documents"
    assert model_provider.requests == 0


def read(reader: ScoreReader, model: str, *scores: object, provider: str = "cohere") -> list[float]:
    results = [{"index": i, "relevance_score": score} for i, score in enumerate(scores)]
    return reader.read(model, provider, len(scores), SimpleNamespace(results=results))


def test_a_scale_is_known_for_good() -> None:
    reader = ScoreReader(logit_models({"PGBLEND_RERANK_LOGITS": "own/b, x/y,"}))
    assert read(reader, "a", 0.9, 0.2) == [0.9, 0.2]
    assert read(reader, "a", 1.0000001, -0.0000001) == [1.0, 0.0]
    for odd in (1.7, -3.0, 90.0):
        with pytest.raises(GatewayError, match=r"expected 0 to 1.*RERANK_LOGITS.*percent"):
            read(reader, "a", odd, 0.2)
        assert read(reader, "a", 0.9, 0.2) == [0.9, 0.2]  # the odd one changed nothing
    assert read(reader, "own/b", 2.0, 0.0) == [sigmoid(2), 0.5]
    assert read(reader, "own/b", 0.9, 0.2) == [sigmoid(0.9), sigmoid(0.2)]
    assert read(reader, "c", 0.5, provider="nvidia_nim") == [sigmoid(0.5)]


@pytest.mark.parametrize("scores", [(float("nan"), 0.5), (float("inf"), 0.5), ("a", 0.5)])
def test_scores_that_are_none(scores: tuple[object, ...]) -> None:
    with pytest.raises(GatewayError, match="gave a"):
        read(ScoreReader(), "a", *scores)


@pytest.mark.parametrize("indexes", [(0, 0), (0, 2), (0,), (0, 1, 2), (-1, 0)])
def test_scores_that_do_not_fit(indexes: tuple[int, ...]) -> None:
    results = [{"index": index, "relevance_score": 0.5} for index in indexes]
    with pytest.raises(GatewayError, match="do not fit 2 documents"):
        ScoreReader().read("a", "cohere", 2, SimpleNamespace(results=results))
