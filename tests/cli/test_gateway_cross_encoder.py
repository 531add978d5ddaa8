"""Local rerank models: a tiny cross-encoder with weights made here."""

import asyncio
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest

from pgblend.cli.gateway.app import create_app
from pgblend.cli.gateway.policy import Policy
from pgblend.cli.gateway.rerank_scores import sigmoid
from pgblend.cli.gateway.services import Services

pytestmark = [
    pytest.mark.local_model,
    # Not importorskip: importing it takes seconds, in each process that only collects this.
    pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="needs pgblend[torch]"),
]

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "red", "wine", "the", "sea", "ship"]
QUERY = "red wine"
DOCUMENTS = ["the sea", "wine wine red the ship", "red"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models: `tiny`, and `two`, which has two labels and so is no reranker."""
    import torch
    import transformers

    folder = tmp_path_factory.mktemp("models")
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(WORDS))
    for name, labels in (("tiny", 1), ("two", 2)):
        torch.manual_seed(1)
        config = transformers.BertConfig(
            vocab_size=len(WORDS),
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
            initializer_range=1.0,
            num_labels=labels,
        )
        transformers.BertForSequenceClassification(config).save_pretrained(folder / name)
        transformers.BertTokenizer(str(vocabulary)).save_pretrained(folder / name)
    return folder


def rerank(models: Path, *calls: dict[str, Any]) -> list[httpx.Response]:
    services = Services(Policy(timeout_seconds=60), models_folder=models)

    async def run() -> list[httpx.Response]:
        transport = httpx.ASGITransport(create_app(services))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            answers = [await client.post("/v1/rerank", json=call, timeout=60) for call in calls]
            return [*answers, await client.get("/health")]

    try:
        return asyncio.run(run())
    finally:
        services.close()


def call(model: str, **more: Any) -> dict[str, Any]:
    return {"model": model, "query": QUERY, "documents": DOCUMENTS, **more}


def test_one_sigmoid_whatever_the_model_says(models: Path) -> None:
    import sentence_transformers
    import torch

    encoder = sentence_transformers.CrossEncoder(str(models / "tiny"), local_files_only=True)
    pairs = [(QUERY, document) for document in DOCUMENTS]
    logits = encoder.predict(pairs, activation_fn=torch.nn.Identity())
    answer, health = rerank(models, call("local/tiny"))
    scores = {r["index"]: r["relevance_score"] for r in answer.json()["results"]}
    assert len(set(scores.values())) == 3
    for index, logit in enumerate(logits):
        assert scores[index] == pytest.approx(sigmoid(float(logit)), abs=1e-6)
    ranked = [r["relevance_score"] for r in answer.json()["results"]]
    assert ranked == sorted(ranked, reverse=True)
    assert health.json()["models"]["local/tiny"] == "ready"


def test_models_that_are_not_there_or_do_not_load(models: Path) -> None:
    no_model, two_labels, health = rerank(models, call("local/none"), call("local/two"))
    assert no_model.status_code == 404
    assert no_model.json()["error"]["code"] == "model_not_found"
    assert str(models / "none") in no_model.json()["error"]["message"]
    assert two_labels.status_code == 503
    assert two_labels.json()["error"]["code"] == "local_model_failed"
    assert health.json()["models"]["local/two"] == "failed"


def test_a_deadline(models: Path) -> None:
    documents = [f"the sea {number}" for number in range(500)]
    late, _ = rerank(models, call("local/tiny", timeout_ms=1, documents=documents))
    assert late.status_code == 504
    assert json.loads(late.text)["error"]["code"] == "provider_timeout"
