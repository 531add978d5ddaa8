"""Who is told of each call to a model: the metrics, the log and, where there is one, the ledger."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pgblend.cli.gateway.breaker import State
from pgblend.cli.gateway.call_record import CallRecord
from pgblend.cli.gateway.errors import GatewayError
from pgblend.cli.gateway.metrics import Metrics

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
