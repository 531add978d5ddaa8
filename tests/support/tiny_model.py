"""Tiny models of sentence-transformers, with weights made here, in a gateway of the process."""

import asyncio
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest

from pgblend.cli.models.app import Services, create_app
from pgblend.cli.models.gateway_options import Policy

NEEDS_TORCH = [
    pytest.mark.local_model,
    # Not importorskip: importing it takes seconds, in each process that only collects this.
    pytest.mark.skipif(find_spec("sentence_transformers") is None, reason="needs pgblend[torch]"),
]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "red", "wine", "the", "sea", "ship"]


def save_model(folder: Path, kind: str, **config: Any) -> None:
    """Write a model of transformers, which knows WORDS and has 16 dimensions, into a folder."""
    import torch
    import transformers

    folder.mkdir()
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(WORDS))
    torch.manual_seed(1)
    small = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        **config,
    )
    getattr(transformers, kind)(small).save_pretrained(folder)
    transformers.BertTokenizer(str(vocabulary)).save_pretrained(folder)


def post(models: Path, path: str, *calls: dict[str, Any]) -> list[httpx.Response]:
    """Post all at once to a gateway with a folder of models; return the answers and /health."""
    services = Services(Policy(timeout_seconds=60), models_folder=models)

    async def run() -> list[httpx.Response]:
        transport = httpx.ASGITransport(create_app(services))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            answers = await asyncio.gather(*(client.post(path, json=call) for call in calls))
            return [*answers, await client.get("/health")]

    try:
        return asyncio.run(run())
    finally:
        services.close()
