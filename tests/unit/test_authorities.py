"""Clients of the gateway in one process share what TLS trusts."""

from contextlib import ExitStack

import pytest

from pgblend.cli.base.http_client import authorities, gateway_client
from pgblend.cli.embed.embedding_client import GatewayClient


@pytest.mark.parametrize("url", ["http://localhost:1", "unix:/nowhere"])
def test_clients_read_the_authorities_once(url: str) -> None:
    """A worker makes a client for each batch, a program one for each search."""
    clients = [GatewayClient(url)._client for _ in range(2)]
    clients += [gateway_client(url, None, 1) for _ in range(2)]
    with ExitStack() as stack:
        for client in clients:
            stack.enter_context(client)
        pools = [client._transport._pool for client in clients]  # type: ignore[attr-defined]
        assert {id(pool._ssl_context) for pool in pools} == {id(authorities())}
