"""Models of one's own as ONNX files: embedding models and rerankers, tiny ones made here."""

from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from pgblend.cli.base.extras import how_to_install, missing
from pgblend.cli.models.cross_encoders import sigmoid
from support.tiny_model import post
from support.tiny_onnx import (
    FIRST,
    SIZE,
    WEIGHTS,
    save_cross_encoder,
    save_embedding_model,
    tokens_of,
)

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.skipif(bool(missing("local")), reason=f"needs {how_to_install('local')}"),
]
EMBED, RERANK = "/v1/embeddings", "/v1/rerank"
TEXTS = ["red wine", "the sea", "wine wine red the ship", "red"]
PROMPTS = {"prompts": {"query": "ask : ", "document": "tell : "}}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models."""
    folder = tmp_path_factory.mktemp("models")
    save_embedding_model(folder / "mean")
    save_embedding_model(folder / "first", "model.onnx", **{"1_Pooling__config": FIRST})
    save_embedding_model(folder / "short", sentence_bert_config={"max_seq_length": 3})
    save_embedding_model(folder / "asks", config_sentence_transformers=PROMPTS)
    save_embedding_model(folder / "quantized", "onnx/model_quantized.onnx")
    save_embedding_model(folder / "unpooled", **{"1_Pooling__config": {}})
    dense = [{"type": "sentence_transformers.models.Dense"}]
    save_embedding_model(folder / "dense", modules=dense)
    save_cross_encoder(folder / "ranks")
    save_cross_encoder(folder / "two", labels=2)
    return folder


def embed(model: str, texts: str | list[str] = "red wine", **more: str) -> dict[str, Any]:
    return {"model": f"local/{model}", "input": texts, **more}


def vectors(answer: httpx.Response) -> NDArray[np.float64]:
    assert answer.status_code == 200, answer.text
    return np.array([row["embedding"] for row in answer.json()["data"]])


def mean_of(text: str) -> NDArray[np.float32]:
    mean = WEIGHTS[tokens_of(text)].mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean))


def test_the_mean_of_the_tokens_is_the_text_s_vector(models: Path) -> None:
    answer, one, health = post(models, EMBED, embed("mean", TEXTS), embed("quantized"))
    assert vectors(answer) == pytest.approx(np.array([mean_of(text) for text in TEXTS]), abs=1e-6)
    assert answer.json()["usage"]["prompt_tokens"] == sum(len(tokens_of(t)) for t in TEXTS)
    assert vectors(one)[0] == pytest.approx(mean_of("red wine"), abs=1e-6)
    assert health.json()["models"]["local/mean"] == "ready"


def test_the_first_token_s_vector_where_the_folder_says_so(models: Path) -> None:
    first, _ = post(models, EMBED, embed("first"))
    expected = WEIGHTS[1] / np.linalg.norm(WEIGHTS[1])
    assert vectors(first)[0] == pytest.approx(expected, abs=1e-6)


def test_no_more_tokens_than_the_folder_says(models: Path) -> None:
    short, one, _ = post(models, EMBED, embed("short", "red wine the sea"), embed("mean", "red"))
    assert vectors(short)[0] == pytest.approx(vectors(one)[0], abs=1e-6)
    assert short.json()["usage"]["prompt_tokens"] == 3


def test_prompts_of_questions_and_passages(models: Path) -> None:
    plain, question, passage, other, _ = post(
        models,
        EMBED,
        embed("asks"),
        embed("asks", input_type="query"),
        embed("asks", input_type="passage"),
        embed("asks", input_type="document"),
    )
    assert vectors(question)[0] == pytest.approx(mean_of("ask : red wine"), abs=1e-6)
    assert vectors(passage)[0] == pytest.approx(mean_of("tell : red wine"), abs=1e-6)
    assert vectors(plain).tolist() == vectors(question).tolist()
    assert other.status_code == 400
    assert other.json()["error"]["code"] == "invalid_input_type"


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (embed("unpooled"), "pooling_mode_mean_tokens or pooling_mode_cls_token"),
        (embed("dense"), "its module Dense is not in the ONNX file"),
        (embed("ranks"), "it gives logits: that is no embedding model"),
        ({"query": "red", "documents": ["sea"], "model": "local/mean"}, "that is no reranker"),
        ({"query": "red", "documents": ["sea"], "model": "local/two"}, "2 labels where"),
    ],
)
def test_a_folder_that_cannot_serve_says_why(
    call: dict[str, Any], reason: str, models: Path
) -> None:
    failed, _ = post(models, EMBED if "input" in call else RERANK, call)
    assert failed.status_code == 503
    assert failed.json()["error"]["code"] == "local_model_failed"
    assert reason in failed.json()["error"]["message"]


def test_dimensions(models: Path) -> None:
    fits, refused, _ = post(
        models, EMBED, embed("mean") | {"dimensions": SIZE}, embed("mean") | {"dimensions": 8}
    )
    assert fits.status_code == 200
    assert refused.json()["error"]["code"] == "dimensions_not_supported"


def test_a_reranker_s_scores_are_the_sigmoids_of_its_logits(models: Path) -> None:
    call = {"model": "local/ranks", "query": "red wine", "documents": TEXTS}
    answer, health = post(models, RERANK, call)
    scores = {r["index"]: r["relevance_score"] for r in answer.json()["results"]}
    for index, text in enumerate(TEXTS):
        logit = float(WEIGHTS[tokens_of("red wine", text), 0].sum())
        assert scores[index] == pytest.approx(sigmoid(logit), abs=1e-6)
    assert len(set(scores.values())) == len(TEXTS)
    assert health.json()["models"]["local/ranks"] == "ready"
