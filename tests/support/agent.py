"""An agent's program: the official client of the Model Context Protocol, over both transports."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

# Both of the protocol's ways to begin: a handshake, and none.
MODES = ("legacy", "auto")


class Agent:
    """A connected client, called without async."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self.client = client

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool; return its whole result, which may be an error."""
        return self._portal.call(self.client.call_tool, tool, arguments)

    def said(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed; return its structured answer."""
        result = self.call(tool, **arguments)
        assert not result.is_error, result.content[0].text
        assert result.content[0].text == result.structured_content["text"]
        found: dict[str, Any] = result.structured_content
        return found

    def refused(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must refuse; return what it says."""
        result = self.call(tool, **arguments)
        assert result.is_error
        return str(result.content[0].text)

    def do(self, method: str, *arguments: Any, **named: Any) -> Any:
        """Call any other method of the client."""
        return self._portal.call(lambda: getattr(self.client, method)(*arguments, **named))


@contextmanager
def over_http(url: str, token: str, mode: str = "auto", **more: Any) -> Iterator[Agent]:
    """Connect to /mcp of a door."""
    headers = {"Authorization": f"Bearer {token}"}
    http = httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False, **more)
    with _connected(streamable_http_client(f"{url}/mcp", http_client=http), mode) as agent:
        yield agent


@contextmanager
def over_stdio(database_url: str, *options: str, mode: str = "auto") -> Iterator[Agent]:
    """Start `pgblend mcp` and connect to it."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name in ("PATH", "HOME", "PYTHONPATH") or name.startswith("COVERAGE")
    }
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "pgblend.cli.main", "mcp", *options],
        env={**environment, "PGBLEND_DATABASE_URL": database_url},
    )
    with _connected(server, mode) as agent:
        yield agent


@contextmanager
def _connected(server: Any, mode: str) -> Iterator[Agent]:
    client = Client(server, mode=mode, read_timeout_seconds=60)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client):
        yield Agent(portal, client)
