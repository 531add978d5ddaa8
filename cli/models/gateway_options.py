"""Options of `pgblend gateway` on how it treats providers and callers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import click

# How patient the gateway is with providers.

# Not embeddings: vectors of two models cannot be compared.
FALLBACK_TASKS = (
    "answer",
    "chat",
    "entity",
    "expansion",
    "hyde",
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
class CallLimits:
    """Calls of one token: at a time, a second, at once after a pause; bytes of a body."""

    concurrency: int = 16
    rate: float = 50
    burst: int = 100
    body_bytes: int = 1024 * 1024


@dataclass(frozen=True)
class ConnectionLimits:
    """Seconds for the headers and for the body of a request, connections of one address."""

    header_seconds: float = 10
    body_seconds: float = 60
    connections: int = 100


_DEFAULT = Policy()
_LIMITS = ConnectionLimits()
_OPTIONS = [
    click.option(
        "--provider-timeout",
        type=click.FloatRange(0.1, 600),
        default=_DEFAULT.timeout_seconds,
        show_default=True,
        help="Seconds a provider has for one call, with all its attempts.",
    ),
    click.option(
        "--attempts",
        type=click.IntRange(1, 10),
        default=_DEFAULT.attempts,
        show_default=True,
        help="How often a call that fails is tried, while its caller's deadline allows it.",
    ),
    click.option(
        "--concurrency",
        type=click.IntRange(1, 1000),
        default=_DEFAULT.concurrency,
        show_default=True,
        help="Calls to one provider at a time; the others wait.",
    ),
    click.option(
        "--breaker-failures",
        type=click.IntRange(1, 1000),
        default=_DEFAULT.breaker_failures,
        show_default=True,
        help="After so many failures in a row a model is left alone.",
    ),
    click.option(
        "--breaker-seconds",
        type=click.FloatRange(0.1, 300),
        default=_DEFAULT.breaker_seconds,
        show_default=True,
        help="After so long it is tried with one call.",
    ),
    click.option(
        "--fallback",
        "fallbacks",
        metavar="TASK=MODEL[,MODEL...]",
        multiple=True,
        help="Models to ask, in this order, where the one asked for gives no answer. Tasks: "
        f"{', '.join(FALLBACK_TASKS)}.",
    ),
    click.option(
        "--header-timeout",
        type=click.FloatRange(0.1, 600),
        default=_LIMITS.header_seconds,
        show_default=True,
        help="Seconds that the headers of a request may take; then 408.",
    ),
    click.option(
        "--body-timeout",
        type=click.FloatRange(0.1, 600),
        default=_LIMITS.body_seconds,
        show_default=True,
        help="Seconds that its body, of 32 MB at most, may take; then 408.",
    ),
    click.option(
        "--connections",
        type=click.IntRange(1, 100_000),
        default=_LIMITS.connections,
        show_default=True,
        help="Connections of one address at a time; more get 429.",
    ),
]


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that `read_policy` and `read_connection_limits` read."""
    return reduce(lambda decorated, option: option(decorated), reversed(_OPTIONS), command)


def read_policy(
    *,
    provider_timeout: float,
    attempts: int,
    concurrency: int,
    breaker_failures: int,
    breaker_seconds: float,
    fallbacks: tuple[str, ...],
    **_: object,
) -> Policy:
    """Return how providers are treated, as the options say."""
    return Policy(
        timeout_seconds=provider_timeout,
        attempts=attempts,
        concurrency=concurrency,
        breaker_failures=breaker_failures,
        breaker_seconds=breaker_seconds,
        fallbacks=dict(_fallback(given) for given in fallbacks),
    )


def read_connection_limits(
    *, header_timeout: float, body_timeout: float, connections: int, **_: object
) -> ConnectionLimits:
    """Return what a caller may take, as the options say."""
    return ConnectionLimits(header_timeout, body_timeout, connections)


def _fallback(given: str) -> tuple[str, tuple[str, ...]]:
    task, equals, models = given.partition("=")
    names = tuple(name.strip() for name in models.split(","))
    if not equals or not all(names) or task not in FALLBACK_TASKS:
        raise click.BadParameter(
            f"{given!r} is not TASK=MODEL[,MODEL...] with a task of {', '.join(FALLBACK_TASKS)}",
            param_hint="--fallback",
        )
    return task, names
