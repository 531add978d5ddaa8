"""Counts and times for Prometheus."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pgblend.cli.models.cache import MemoryCache

# What is known of a call to a model: for ledger, metrics and log, so never its contents.


@dataclass
class CallRecord:
    """One call to a model, with all its attempts."""

    task: str
    model: str
    provider: str = ""
    outcome: str = "cancelled"  # ok, or the code of the error
    attempts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None  # None: litellm has no price for the model
    milliseconds: float = 0
    called_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat())
    _start: float = field(default_factory=time.perf_counter, repr=False)

    def count(self, answer: Any) -> None:
        """Add what an answer of litellm says about tokens and cost."""
        usage = getattr(answer, "usage", None)
        self.input_tokens = int(getattr(usage, "prompt_tokens", 0) or 0)
        self.output_tokens = int(getattr(usage, "completion_tokens", 0) or 0)
        hidden = getattr(answer, "_hidden_params", None) or {}
        cost = hidden.get("response_cost")
        self.cost_usd = float(cost) if isinstance(cost, int | float) else None

    def end(self, outcome: str) -> None:
        """Note how it ended, and how long it took."""
        self.outcome = outcome
        self.milliseconds = (time.perf_counter() - self._start) * 1000

    def fields(self) -> dict[str, Any]:
        """Return what the log and the ledger keep of it."""
        return {
            "task": self.task,
            "model": self.model,
            "provider": self.provider,
            "outcome": self.outcome,
            "attempts": self.attempts,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": self.cost_usd,
            "milliseconds": round(self.milliseconds, 3),
        }


_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
# Callers choose the names of models: so many of them get time series of their own.
_MOST_MODELS = 100
_OTHER = "other"


class Metrics:
    """What /metrics shows of one gateway: numbers, names of models and of providers."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._models: set[str] = set()
        self._requests = Counter(
            "pgblend_gateway_requests",
            "Requests by path and status",
            ["path", "status"],
            registry=self.registry,
        )
        self._request_seconds = Histogram(
            "pgblend_gateway_request_seconds",
            "Time of requests",
            ["path"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._calls = Counter(
            "pgblend_gateway_model_calls",
            "Calls to models by outcome: ok, or the code of the error",
            ["task", "model", "outcome"],
            registry=self.registry,
        )
        self._call_seconds = Histogram(
            "pgblend_gateway_model_call_seconds",
            "Time of calls to models, with all attempts",
            ["task", "model"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._attempts = Counter(
            "pgblend_gateway_model_attempts",
            "Attempts of calls to models",
            ["task", "model"],
            registry=self.registry,
        )
        self._tokens = Counter(
            "pgblend_gateway_tokens",
            "Tokens that models read and wrote",
            ["task", "model", "direction"],
            registry=self.registry,
        )
        self._cost = Counter(
            "pgblend_gateway_cost_usd",
            "Cost of calls by litellm's price list",
            ["task", "model"],
            registry=self.registry,
        )
        self._log_datagrams = Counter(
            "pgblend_gateway_log_datagrams",
            "Datagrams of the search log: accepted, malformed, dropped",
            ["result"],
            registry=self.registry,
        )
        self._rows = Counter(
            "pgblend_gateway_written_rows",
            "Rows for the database: written, dropped",
            ["table", "result"],
            registry=self.registry,
        )
        self._breakers = Gauge(
            "pgblend_gateway_breaker_open",
            "1 while a model that failed is left alone",
            ["model"],
            registry=self.registry,
        )

    def count_request(self, path: str, status: int, seconds: float) -> None:
        """Count a request of a known path."""
        self._requests.labels(path, status).inc()
        self._request_seconds.labels(path).observe(seconds)

    def count_call(self, record: CallRecord) -> None:
        """Count a call to a model."""
        model = self._known(record.model)
        self._calls.labels(record.task, model, record.outcome).inc()
        self._call_seconds.labels(record.task, model).observe(record.milliseconds / 1000)
        self._attempts.labels(record.task, model).inc(record.attempts)
        self._tokens.labels(record.task, model, "input").inc(record.input_tokens)
        self._tokens.labels(record.task, model, "output").inc(record.output_tokens)
        self._cost.labels(record.task, model).inc(record.cost_usd or 0)

    def watch_cache(self, name: str, cache: MemoryCache) -> None:
        """Show a cache's size and lookups."""
        self.registry.register(_CacheCollector(name, cache))

    def count_datagram(self, result: str) -> None:
        """Count a datagram of the search log."""
        self._log_datagrams.labels(result).inc()

    def count_rows(self, table: str, result: str, number: int) -> None:
        """Count rows that were written to the database, or given up."""
        self._rows.labels(table, result).inc(number)

    def set_breaker(self, model: str, is_open: bool) -> None:
        """Show whether a model is left alone."""
        self._breakers.labels(self._known(model)).set(is_open)

    def text(self) -> bytes:
        """Return all in Prometheus's text format."""
        return generate_latest(self.registry)

    def _known(self, model: str) -> str:
        if model not in self._models:
            if len(self._models) >= _MOST_MODELS:
                return _OTHER
            self._models.add(model)
        return model


class _CacheCollector(Collector):
    """Reads a cache's own counts when somebody asks."""

    def __init__(self, name: str, cache: MemoryCache) -> None:
        self._name = name
        self._cache = cache

    def collect(self) -> Iterator[Metric]:
        """Yield the cache's metrics."""
        counts = self._cache.statistics()
        prefix = f"pgblend_gateway_cache_{self._name}"
        yield GaugeMetricFamily(f"{prefix}_entries", "Entries", counts["entries"])
        yield GaugeMetricFamily(f"{prefix}_bytes", "Size", counts["bytes"])
        yield CounterMetricFamily(f"{prefix}_hits", "Lookups that found", counts["hits"])
        yield CounterMetricFamily(f"{prefix}_misses", "Lookups in vain", counts["misses"])
