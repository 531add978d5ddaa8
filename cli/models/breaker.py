"""A circuit breaker: a model that keeps failing is left alone; and who hears of each call."""

import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from pgblend.cli.models.metrics import CallRecord, Metrics
from pgblend.cli.models.openai_errors import GatewayError

State = Literal["closed", "open", "half_open"]
_LONGEST_SECONDS = 300.0
# A caller who leaves sooner, or sets a shorter deadline, proves nothing against the model.
_PATIENCE_SECONDS = 1.0
# What says that the model, not the question, is at fault.
_FAILURES = {
    "provider_bad_response",
    "provider_error",
    "provider_timeout",
    "provider_unreachable",
}


class Breaker:
    """One model's breaker; for the event loop only.

    It opens after `failures` calls in a row have failed. After `seconds` one call is let through. A
    success closes it, a failure opens it for twice as long as before, five minutes at most.
    """

    def __init__(
        self,
        model: str,
        failures: int,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._threshold = failures
        self._first_seconds = min(seconds, _LONGEST_SECONDS)
        self._seconds = self._first_seconds
        self._clock = clock
        self._failed = 0
        self._open_until: float | None = None
        self._probing = False

    @property
    def state(self) -> State:
        """Whether calls go through (closed), none do (open), or one is tried (half_open)."""
        if self._open_until is None:
            return "closed"
        return "half_open" if self._clock() >= self._open_until else "open"

    @property
    def untroubled(self) -> bool:
        """Whether there is nothing to remember: it may be forgotten."""
        return self._open_until is None and not self._failed

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Let a call through and learn from how it ends, or raise `circuit_open`."""
        probing = self._enter()
        start = self._clock()
        try:
            yield
        except BaseException as error:
            if _is_failure(error, self._clock() - start):
                self._fail(probing)
            raise
        else:
            self._failed, self._open_until = 0, None
            self._seconds = self._first_seconds
        finally:
            if probing:
                self._probing = False

    def _enter(self) -> bool:
        """Return whether the call is a probe."""
        if self._open_until is None:
            return False
        wait = self._open_until - self._clock()
        if wait > 0 or self._probing:
            message = f"{self._model} has failed {self._failed} times in a row and is left alone"
            seconds = str(max(1, math.ceil(wait)))
            raise GatewayError(503, "circuit_open", message, retry_after=seconds)
        self._probing = True
        return True

    def _fail(self, probing: bool) -> None:
        self._failed += 1
        if probing:
            self._seconds = min(2 * self._seconds, _LONGEST_SECONDS)
        if probing or self._failed >= self._threshold:
            self._open_until = self._clock() + self._seconds


def _is_failure(error: BaseException, seconds: float) -> bool:
    if not isinstance(error, GatewayError):  # the caller left
        return seconds >= _PATIENCE_SECONDS
    if error.code == "provider_timeout":
        return seconds >= _PATIENCE_SECONDS
    return error.code in _FAILURES


# Who is told of each call to a model: the metrics, the log and, where there is one, the ledger.

_log = logging.getLogger(__name__)


class Observer:
    """Tells everyone who wants to know how calls end."""

    def __init__(self, metrics: Metrics, keep: Callable[[CallRecord], None] | None = None) -> None:
        self.metrics = metrics
        self._keep = keep
        self._open: set[str] = set()

    @contextmanager
    def observe(self, record: CallRecord) -> Iterator[None]:
        """Note how long a call takes and how it ends, whatever ends it."""
        try:
            yield
            record.end("ok")
        except GatewayError as error:
            record.end(error.code)
            raise
        except BaseException as error:
            record.end("failed" if isinstance(error, Exception) else "cancelled")
            raise
        finally:
            self._tell(record)

    def breaker_moved(self, model: str, state: State) -> None:
        """Show whether a model is left alone; log when that changes."""
        is_open = state != "closed"
        if is_open == (model in self._open):
            return
        (self._open.add if is_open else self._open.discard)(model)
        self.metrics.set_breaker(model, is_open)
        event = "breaker_opened" if is_open else "breaker_closed"
        _log.warning(event, extra={"fields": {"model": model}})

    def _tell(self, record: CallRecord) -> None:
        if not record.provider:  # there is no such model: callers may name anything
            return
        self.metrics.count_call(record)
        if self._keep and record.attempts:
            self._keep(record)
        level = logging.INFO if record.outcome == "ok" else logging.WARNING
        _log.log(level, "model_call", extra={"fields": record.fields()})
