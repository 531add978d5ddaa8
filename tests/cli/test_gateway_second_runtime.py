"""Embedding models of one's own by sentence-transformers: a tiny one with weights made here."""

import asyncio
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from pgblend.cli.gateway.app import create_app
from pgblend.cli.gateway.policy import Policy
from pgblend.cli.gateway.services import Services

pytestmark = [
    pytest.mark.local_model,
    # Not importorskip: importing it takes seconds, in each process that only collects this.
    pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="needs pgblend[torch]"),
]

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "red", "wine", "the", "sea", "ship"]
TEXTS = ["red wine", "the sea", "wine wine red the ship", "red", "sea ship", "the wine"] * 2


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of models: `tiny`, of 16 dimensions."""
    import torch
    import transformers
    from sentence_transformers import SentenceTransformer

    folder = tmp_path_factory.mktemp("models")
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(WORDS))
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
    )
    transformers.BertModel(config).save_pretrained(folder / "plain")
    transformers.BertTokenizer(str(vocabulary)).save_pretrained(folder / "plain")
    SentenceTransformer(str(folder / "plain")).save(str(folder / "tiny"))  # the tokens' mean
    return folder


def post(models: Path, *calls: dict[str, Any]) -> list[httpx.Response]:
    services = Services(Policy(timeout_seconds=60), models_folder=models)

    async def run() -> list[httpx.Response]:
        transport = httpx.ASGITransport(create_app(services))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            path = "/v1/embeddings"
            answers = await asyncio.gather(
                *(client.post(path, json={"model": "local/tiny", **call}) for call in calls)
            )
            return [*answers, await client.get("/health")]

    try:
        return asyncio.run(run())
    finally:
        services.close()


def test_vectors_in_order_whoever_asks_at_once(models: Path) -> None:
    from sentence_transformers import SentenceTransformer

    expected = SentenceTransformer(str(models / "tiny")).encode(TEXTS, normalize_embeddings=True)
    batch, question, health = post(models, {"input": TEXTS}, {"input": TEXTS[0]})
    rows = np.array([row["embedding"] for row in batch.json()["data"]])
    assert rows == pytest.approx(expected, abs=1e-5)
    assert question.json()["data"][0]["embedding"] == pytest.approx(expected[0], abs=1e-5)
    assert question.json()["usage"]["prompt_tokens"] == 4
    assert health.json()["models"]["local/tiny"] == "ready"


def test_its_dimensions(models: Path) -> None:
    fits, refused, _ = post(
        models, {"input": "red", "dimensions": 16}, {"input": "red", "dimensions": 8}
    )
    assert fits.status_code == 200
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "dimensions_not_supported"


def test_a_folder_without_a_model(models: Path) -> None:
    empty = models / "empty"
    empty.mkdir()
    (empty / "config.json").write_text("{}")
    failed, _ = post(models, {"model": "local/empty", "input": "red"})
    assert failed.status_code == 503
    assert failed.json()["error"]["code"] == "local_model_failed"
