"""HTTP clients of the model gateway: no proxy, no redirect, no packed answer, none without end."""

from typing import Any

import httpx

from pgblend.cli.authorities import authorities
from pgblend.cli.bounded_answer import AsyncBoundedTransport, BoundedTransport

_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=32)


def gateway_client(url: str, token: str | None, timeout: Any) -> httpx.Client:
    """Return a client of the gateway at http://host:port or unix:/path, which shows the token."""
    return httpx.Client(
        transport=BoundedTransport(**_way_to(url)), timeout=timeout, **_settings(url, token)
    )


def async_gateway_client(url: str) -> httpx.AsyncClient:
    """Return a client for many callers, each of whom shows a token and has a time of his own."""
    return httpx.AsyncClient(
        transport=AsyncBoundedTransport(**_way_to(url)), timeout=None, **_settings(url, None)
    )


def gateway_headers(token: str | None) -> dict[str, str]:
    """Return what shows the gateway its token."""
    return {"Authorization": f"Bearer {token}"} if token else {}


def answer_json(response: httpx.Response) -> Any:
    """Return what a gateway answered; a ValueError where that is no JSON, or nested too deeply."""
    try:
        return response.json()
    except RecursionError:
        raise ValueError("the answer is nested too deeply") from None


def _settings(url: str, token: str | None) -> dict[str, Any]:
    return {
        "base_url": "http://localhost" if url.startswith("unix:") else url,
        "headers": gateway_headers(token),
        "follow_redirects": False,
        "trust_env": False,
    }


def _way_to(url: str) -> dict[str, Any]:
    path = url.removeprefix("unix:") if url.startswith("unix:") else None
    return {"verify": authorities(), "uds": path, "limits": _LIMITS, "trust_env": False}
