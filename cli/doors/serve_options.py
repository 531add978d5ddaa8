"""Options of `pgblend serve` on what a caller may take."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import click

from pgblend.cli.models.gateway_options import CallLimits, ConnectionLimits

# How much the door lets a caller take.


_CALLS = CallLimits()
_CONNECTIONS = ConnectionLimits()
_OPTIONS = [
    click.option(
        "--concurrency",
        type=click.IntRange(1, 10_000),
        default=_CALLS.concurrency,
        show_default=True,
        help="Calls of one token at a time, or of one address without; more get 429.",
    ),
    click.option(
        "--rate",
        type=click.FloatRange(0.01, 1_000_000),
        default=_CALLS.rate,
        show_default=True,
        help="Calls of one token a second, or of one address without; more get 429.",
    ),
    click.option(
        "--burst",
        type=click.IntRange(1, 1_000_000),
        default=_CALLS.burst,
        show_default=True,
        help="Calls that a token, or an address without, may save up.",
    ),
    click.option(
        "--body-bytes",
        type=click.IntRange(1024, 32 * 1024 * 1024),
        default=_CALLS.body_bytes,
        show_default=True,
        help="Most bytes of a body; more get 413.",
    ),
    click.option(
        "--header-timeout",
        type=click.FloatRange(0.1, 600),
        default=_CONNECTIONS.header_seconds,
        show_default=True,
        help="Seconds that the headers of a request may take; then 408.",
    ),
    click.option(
        "--body-timeout",
        type=click.FloatRange(0.1, 600),
        default=_CONNECTIONS.body_seconds,
        show_default=True,
        help="Seconds that its body may take; then 408.",
    ),
    click.option(
        "--connections",
        type=click.IntRange(1, 100_000),
        default=_CONNECTIONS.connections,
        show_default=True,
        help="Connections of one address at a time; more get 429.",
    ),
]


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that `read_call_limits` and `read_connection_limits` read."""
    return reduce(lambda decorated, option: option(decorated), reversed(_OPTIONS), command)


def read_call_limits(
    *, concurrency: int, rate: float, burst: int, body_bytes: int, **_: object
) -> CallLimits:
    """Return what a token may take, as the options say."""
    return CallLimits(concurrency, rate, burst, body_bytes)


def read_connection_limits(
    *, header_timeout: float, body_timeout: float, connections: int, **_: object
) -> ConnectionLimits:
    """Return what an address may take, as the options say."""
    return ConnectionLimits(header_timeout, body_timeout, connections)
