"""Rerank scores: Cohere's shape, best first, always in [0, 1]."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from pgblend.cli.gateway.rerank_scores import sigmoid
from support.model_provider import GatewayProcess, ModelProvider

DOCUMENTS = ["the sea", "red wine and white wine", "red and blue", "the sea"]


@pytest.fixture(scope="module")
def shared_provider() -> Iterator[ModelProvider]:
    with ModelProvider() as provider:
        yield provider


@pytest.fixture(scope="module")
def gateway(shared_provider: ModelProvider) -> Iterator[GatewayProcess]:
    with GatewayProcess("--provider-timeout", "3", provider=shared_provider) as gateway:
        yield gateway


@pytest.fixture
def provider(shared_provider: ModelProvider) -> Iterator[ModelProvider]:
    shared_provider.reset()
    yield shared_provider
    shared_provider.reset()


def rerank(gateway: GatewayProcess, **fields: Any) -> httpx.Response:
    body = {
        "model": ModelProvider.rerank_model,
        "query": "red wine",
        "documents": DOCUMENTS,
        **fields,
    }
    return httpx.post(f"{gateway.url}/v1/rerank", json=body, timeout=120)


def test_best_first(gateway: GatewayProcess, provider: ModelProvider) -> None:
    answer = rerank(gateway).json()
    assert answer["model"] == ModelProvider.rerank_model
    assert answer["results"] == [
        {"index": 1, "relevance_score": 1.0},
        {"index": 2, "relevance_score": 0.5},
        {"index": 0, "relevance_score": 0.0},
        {"index": 3, "relevance_score": 0.0},
    ]


def test_top_n(gateway: GatewayProcess, provider: ModelProvider) -> None:
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
    provider: ModelProvider,
    fields: dict[str, Any],
    code: str,
    param: str,
) -> None:
    response = rerank(gateway, **fields)
    error = response.json()["error"]
    assert (error["code"], error["param"]) == (code, param)
    assert provider.requests == 0


def test_a_sigmoid_that_does_not_overflow() -> None:
    assert [sigmoid(x) for x in (-1000, 0, 1000)] == [0.0, 0.5, 1.0]
    assert sigmoid(2) == pytest.approx(0.8807970779778823)
