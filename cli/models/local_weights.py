"""A model of the gateway's own: loaded at first use, in a process of its own."""

import asyncio
import json
import logging
import os
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, ClassVar

from pgblend.cli.base.extras import how_to_install, missing
from pgblend.cli.models.model_process import Given, ModelError, ModelProcess
from pgblend.cli.models.openai_errors import GatewayError

# Where models of one's own are: a folder, else Hugging Face's cache on this machine.

LOCAL_PREFIX = "local/"


def find_model(folder: Path, model: str, known: Iterable[str] = ()) -> Path:
    """Return the folder of `local/<name>`: one in `folder`, or a model of the hub by its name.

    GatewayError where there is none; it names those that are `known` without a folder.
    """
    name = model.removeprefix(LOCAL_PREFIX)
    own = folder / name
    if (own / "config.json").is_file():
        return own
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(name, local_files_only=True))
    except (ImportError, ValueError, OSError):
        there_is = "".join(f", or take {other}" for other in known)
        message = f"there is no local model {name!r}: put its files into {own}{there_is}"
        raise GatewayError(404, "model_not_found", message, param="model") from None


# What a folder with a model in an ONNX file holds: nothing is loaded here.

TOKENIZER = "tokenizer.json"
# Where exporters put the file; one in 8 bits only where there is no other.
_FILES = (
    *("model.onnx", "onnx/model.onnx"),
    *("model_quantized.onnx", "onnx/model_quantized.onnx", "onnx/model_int8.onnx"),
)
_MOST_TOKENS = 512  # where no file says less, and what BERT's positions hold


def onnx_file(folder: Path) -> Path | None:
    """Return the folder's ONNX file, None where it has none or no tokenizer.json beside it."""
    if not (folder / TOKENIZER).is_file():
        return None
    return next((folder / name for name in _FILES if (folder / name).is_file()), None)


def most_tokens(folder: Path) -> int:
    """Return how many tokens the model reads, as its files say."""
    if most := read_json(folder / "sentence_bert_config.json").get("max_seq_length"):
        return int(most)
    said = (
        read_json(folder / "tokenizer_config.json").get("model_max_length"),
        read_json(folder / "config.json").get("max_position_embeddings"),
    )
    return int(min([_MOST_TOKENS, *(most for most in said if most)]))


def read_json(path: Path) -> Any:
    """Return what a file of settings holds, an empty object where there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def unfit(folder: Path, reason: str) -> GatewayError:
    """Return the error for a folder whose model cannot serve."""
    message = f"the model in {folder} cannot be used: {reason}"
    return GatewayError(503, "local_model_failed", message, param="model")


_MOST_THREADS = 4
_log = logging.getLogger(__name__)


class LocalWeights:
    """What local models have in common.

    The gateway's object asks another like it, in a process of its own, which alone has the library.
    There `_read` returns the library's object, and other methods use it. `arguments` makes it.
    """

    extra: ClassVar[str]  # what to install
    dimensions: int | None = None  # of vectors, once it is loaded

    def __init__(self, name: str, threads: int = 1, **arguments: str) -> None:
        self.name = name
        self.arguments = {"name": name} | arguments
        self.threads = threads
        self._process: ModelProcess | None = None
        self._loading: Future[Given] | None = None
        self._starting = threading.Lock()
        self._model: Any = None
        self._state = "not_loaded"

    @property
    def installed(self) -> bool:
        """Whether library and weights are there; imports nothing."""
        return not missing(self.extra)

    @property
    def state(self) -> str:
        """One of missing, not_loaded, loading, ready, failed."""
        return self._state if self.installed else "missing"

    async def load(self) -> None:
        """Load the model, unless that is done already; serving goes on meanwhile."""
        if self._state == "ready" and self._process is not None and self._process.running:
            return
        if not self.installed:
            raise GatewayError(
                424,
                "local_model_missing",
                f"{self.name} is not installed: {how_to_install(self.extra)}",
                param="model",
            )
        loading = await asyncio.to_thread(self._start)
        try:
            await asyncio.wrap_future(loading)
        except ModelError as error:
            message = f"{self.name} does not load ({error.kind}): see the log"
            raise GatewayError(503, "local_model_failed", message, param="model") from error

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()

    async def _ask(self, is_question: bool, method: str, *arguments: object) -> Given:
        """Return what a method of the one that is loaded gives."""
        assert self._process is not None
        try:
            return await asyncio.wrap_future(self._process.call(is_question, method, *arguments))
        except ModelError as error:
            self._log_failure(error)
            message = f"{self.name} failed ({error.kind}): see the log"
            raise GatewayError(503, "local_model_failed", message, param="model") from error

    def _start(self) -> Future[Given]:
        """Start the process and the loading, unless they are under way."""
        with self._starting:
            if self._process is None or not self._process.running:
                self._process = ModelProcess(type(self), self.name, self.arguments, self.threads)
                self._loading = None
            if self._loading is None or self._state == "failed":
                self._state = "loading"
                self._loading = self._process.call(True, "_load")
                self._loading.add_done_callback(self._note)
            return self._loading

    def _load(self) -> Given:
        """Load the model, in its process; give its dimensions."""
        self._model = self._read()
        return Given(self.dimensions)

    def _read(self) -> Any:
        raise NotImplementedError

    def _note(self, loading: Future[Given]) -> None:
        """Keep how loading ended, also where nobody waited for the end."""
        error = loading.exception()
        self._state = "failed" if error else "ready"
        if error is None:
            self.dimensions = loading.result().value
        else:
            self._log_failure(error)

    def _log_failure(self, error: BaseException) -> None:
        fields: dict[str, object] = {"model": self.name, "error": type(error).__name__}
        if isinstance(error, ModelError):
            fields |= {"error": error.kind, "where": error.where}
        _log.error("local_model_failed", extra={"fields": fields})


def thread_count() -> int:
    """Return how many threads a model may use: one a processor, a few at most."""
    return min(os.cpu_count() or 1, _MOST_THREADS)


def batches(order: list[int], size: int) -> Iterable[list[int]]:
    """Return a list in parts of a size."""
    return (order[start : start + size] for start in range(0, len(order), size))
