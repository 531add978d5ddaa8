"""Whom TLS trusts, for all clients of the gateway in a process."""

from functools import cache
from ssl import SSLContext

import httpx


@cache
def authorities() -> SSLContext:
    """Return the authorities of `certifi`: reading them for each client takes 40 ms and memory."""
    return httpx.create_ssl_context(trust_env=False)
