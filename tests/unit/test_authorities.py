"""Clients of the gateway in one process share what TLS trusts."""

import gc
from contextlib import ExitStack
from ssl import SSLContext

import httpx
import pytest

from pgblend.cli.authorities import authorities
from pgblend.cli.ingest.gateway_client import GatewayClient
from pgblend.cli.search_models import gateway_settings


def contexts() -> int:
    gc.collect()
    return sum(isinstance(one, SSLContext) for one in gc.get_objects())


@pytest.mark.parametrize("url", ["http://localhost:1", "unix:/nowhere"])
def test_clients_read_the_authorities_once(url: str) -> None:
    """A worker makes a client for each batch, a program one for each search."""
    with ExitStack() as stack:
        stack.enter_context(GatewayClient(url))
        authorities()
        before = contexts()
        for _ in range(3):
            stack.enter_context(GatewayClient(url))
            stack.enter_context(httpx.Client(**gateway_settings(url)))
        assert contexts() == before
