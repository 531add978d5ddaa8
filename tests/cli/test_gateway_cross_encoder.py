"""Local rerank models: a tiny cross-encoder with weights made here."""

import json
from pathlib import Path
from typing import Any

import pytest

from pgblend.cli.models.cross_encoders import sigmoid
from support.tiny_model import NEEDS_TORCH, post, save_model

pytestmark = NEEDS_TORCH

RERANK = "/v1/rerank"
QUERY = "red wine"
DOCUMENTS = ["the sea", "wine wine red the ship", "red"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models: `tiny`, and `two`, which has two labels and so is no reranker."""
    folder = tmp_path_factory.mktemp("models")
    for name, labels in (("tiny", 1), ("two", 2)):
        kind = "BertForSequenceClassification"
        save_model(folder / name, kind, initializer_range=1.0, num_labels=labels)
    return folder


def call(model: str, **more: Any) -> dict[str, Any]:
    return {"model": model, "query": QUERY, "documents": DOCUMENTS, **more}


def test_one_sigmoid_whatever_the_model_says(models: Path) -> None:
    import sentence_transformers
    import torch

    encoder = sentence_transformers.CrossEncoder(str(models / "tiny"), local_files_only=True)
    pairs = [(QUERY, document) for document in DOCUMENTS]
    logits = encoder.predict(pairs, activation_fn=torch.nn.Identity())
    answer, health = post(models, RERANK, call("local/tiny"))
    scores = {r["index"]: r["relevance_score"] for r in answer.json()["results"]}
    assert len(set(scores.values())) == 3
    for index, logit in enumerate(logits):
        assert scores[index] == pytest.approx(sigmoid(float(logit)), abs=1e-6)
    ranked = [r["relevance_score"] for r in answer.json()["results"]]
    assert ranked == sorted(ranked, reverse=True)
    assert health.json()["models"]["local/tiny"] == "ready"


def test_models_that_are_not_there_or_do_not_load(models: Path) -> None:
    no_model, two_labels, health = post(models, RERANK, call("local/none"), call("local/two"))
    assert no_model.status_code == 404
    assert no_model.json()["error"]["code"] == "model_not_found"
    assert str(models / "none") in no_model.json()["error"]["message"]
    assert two_labels.status_code == 503
    assert two_labels.json()["error"]["code"] == "local_model_failed"
    assert health.json()["models"]["local/two"] == "failed"


def test_a_deadline(models: Path) -> None:
    documents = [f"the sea {number}" for number in range(500)]
    late, _ = post(models, RERANK, call("local/tiny", timeout_ms=1, documents=documents))
    assert late.status_code == 504
    assert json.loads(late.text)["error"]["code"] == "provider_timeout"
