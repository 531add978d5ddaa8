"""Counts and times for Prometheus."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from pgblend.cli.gateway.call_record import CallRecord
from pgblend.cli.gateway.memory_cache import MemoryCache

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
