"""Counts and times for Prometheus."""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """What /metrics shows of one door: numbers and paths."""

    def __init__(self, pool_statistics: Callable[[], dict[str, int]]) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "pgblend_serve_requests",
            "Requests by path and status",
            ["path", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "pgblend_serve_request_seconds",
            "Time of requests",
            ["path"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._kinds: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        self.registry.register(_PoolCollector(pool_statistics))

    def count_request(self, path: str, status: int, seconds: float) -> None:
        """Count a request of a known path."""
        kind = path, status
        if kind not in self._kinds:  # to find them by their labels takes longer than to count
            self._kinds[kind] = self._requests.labels(path, status), self._seconds.labels(path)
        requests, durations = self._kinds[kind]
        requests.inc()
        durations.observe(seconds)

    def text(self) -> bytes:
        """Return all in Prometheus's text format."""
        return generate_latest(self.registry)


class _PoolCollector(Collector):
    """Reads the pool's own counts when somebody asks."""

    def __init__(self, statistics: Callable[[], dict[str, int]]) -> None:
        self._statistics = statistics

    def collect(self) -> Iterator[Metric]:
        """Yield the pool's metrics."""
        for name, value in sorted(self._statistics().items()):
            yield GaugeMetricFamily(f"pgblend_serve_{name}", "psycopg_pool's count", value)
