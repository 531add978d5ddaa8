"""Embedding models of one's own by sentence-transformers: a tiny one with weights made here."""

from pathlib import Path

import numpy as np
import pytest

from support.tiny_model import NEEDS_TORCH, post, save_model

pytestmark = NEEDS_TORCH

EMBED = "/v1/embeddings"
TEXTS = ["red wine", "the sea", "wine wine red the ship", "red", "sea ship", "the wine"] * 2


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models: `tiny`, of 16 dimensions."""
    from sentence_transformers import SentenceTransformer

    folder = tmp_path_factory.mktemp("models")
    save_model(folder / "plain", "BertModel")
    SentenceTransformer(str(folder / "plain")).save(str(folder / "tiny"))  # the tokens' mean
    return folder


def call(texts: str | list[str], model: str = "local/tiny", **more: int) -> dict[str, object]:
    return {"model": model, "input": texts, **more}


def test_vectors_in_order_whoever_asks_at_once(models: Path) -> None:
    from sentence_transformers import SentenceTransformer

    expected = SentenceTransformer(str(models / "tiny")).encode(TEXTS, normalize_embeddings=True)
    batch, question, health = post(models, EMBED, call(TEXTS), call(TEXTS[0]))
    rows = np.array([row["embedding"] for row in batch.json()["data"]])
    assert rows == pytest.approx(expected, abs=1e-5)
    assert question.json()["data"][0]["embedding"] == pytest.approx(expected[0], abs=1e-5)
    assert question.json()["usage"]["prompt_tokens"] == 4
    assert health.json()["models"]["local/tiny"] == "ready"


def test_its_dimensions(models: Path) -> None:
    fits, refused, _ = post(models, EMBED, call("red", dimensions=16), call("red", dimensions=8))
    assert fits.status_code == 200
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "dimensions_not_supported"


def test_a_folder_without_a_model(models: Path) -> None:
    empty = models / "empty"
    empty.mkdir()
    (empty / "config.json").write_text("{}")
    failed, _ = post(models, EMBED, call("red", "local/empty"))
    assert failed.status_code == 503
    assert failed.json()["error"]["code"] == "local_model_failed"
