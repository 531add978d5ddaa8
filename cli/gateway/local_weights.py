"""A model that runs inside the gateway: loaded at first use, by the one thread that uses it."""

import asyncio
import importlib
import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from pgblend.cli.gateway.errors import GatewayError

_MAX_THREADS = 4
_Result = TypeVar("_Result")
_log = logging.getLogger(__name__)


class LocalWeights:
    """What local models have in common; `_read` returns the library's object."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._model: Any = None
        self._state = "not_loaded"

    @property
    def installed(self) -> bool:
        """Whether library and weights are there; imports nothing."""
        raise NotImplementedError

    @property
    def state(self) -> str:
        """One of missing, not_loaded, loading, ready, failed."""
        return self._state if self.installed else "missing"

    async def load(self) -> None:
        """Load the model, unless that is done already; serving goes on meanwhile."""
        self._require_installed()
        await self._in_thread(self._load)

    def close(self) -> None:
        """Let a running batch finish and drop those that wait."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _require_installed(self) -> None:
        if not self.installed:
            raise GatewayError(
                424,
                "local_model_missing",
                f"{self.name} is not installed: pip install 'pgblend[local]'",
                param="model",
            )

    async def _in_thread(self, function: Callable[..., _Result], *arguments: object) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    def _read(self) -> Any:
        raise NotImplementedError

    def _load(self) -> None:
        if self._model is not None:
            return
        self._state = "loading"
        try:
            _prepare_libraries()
            self._model = self._read()
            self._state = "ready"
        except Exception as error:
            self._state = "failed"
            _log.exception("local_model_failed", extra={"fields": {"model": self.name}})
            message = f"{self.name} does not load ({type(error).__name__}); see the gateway's log"
            raise GatewayError(503, "local_model_failed", message, param="model") from error


def _prepare_libraries() -> None:
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one text after another; threads are torch's
    import torch

    transformers_logging: Any = importlib.import_module("transformers.utils.logging")
    transformers_logging.disable_progress_bar()
    torch.set_num_threads(min(torch.get_num_threads(), _MAX_THREADS))
