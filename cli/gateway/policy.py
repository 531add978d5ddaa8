"""How patient the gateway is with providers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# Not embeddings: vectors of two models cannot be compared.
FALLBACK_TASKS = (
    "answer",
    "chat",
    "entity",
    "expansion",
    "hyde",
    "prefix",
    "rerank",
    "summary",
    "vision",
)


@dataclass(frozen=True)
class Policy:
    """Limits of calls to providers."""

    timeout_seconds: float = 60  # of one call, with all its attempts
    attempts: int = 3
    concurrency: int = 16  # calls to one provider at a time
    breaker_failures: int = 5  # in a row
    breaker_seconds: float = 30  # until a model that failed is tried again
    fallbacks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # models by task


@dataclass(frozen=True)
class ConnectionLimits:
    """Seconds for the headers and for the body of a request, connections of one address."""

    header_seconds: float = 10
    body_seconds: float = 60
    connections: int = 100
