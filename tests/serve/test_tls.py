"""A door with a certificate of its own, and clients that check it."""

import ssl
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.agent import over_http
from support.certificates import certificate
from support.serve_process import ServeProcess


@pytest.mark.slow
def test_a_door_with_a_certificate(door: Any, tmp_path: Path) -> None:
    chain, key = certificate(tmp_path)
    # Off loopback, which it refuses without a certificate.
    options = ("--host", "0.0.0.0", "--tls-cert", str(chain), "--tls-key", str(key))
    trusting = ssl.create_default_context(cafile=str(chain))
    token = door.tokens["open"]
    with ServeProcess(door.login_url, *options) as process:
        assert process.url.startswith("https://")
        process.url = f"https://localhost:{process.url.rpartition(':')[2]}"
        with process.client(token, verify=trusting) as client:
            found = client.post("/v1/search", json={"query": "wine"})
            assert found.json()["results"][0]["title"] == "Wine"
        with over_http(process.url, token, verify=trusting) as agent:
            assert "Wine" in agent.said("search", query="wine")["text"]
        with process.client(token) as stranger, pytest.raises(httpx.ConnectError, match="verify"):
            stranger.get("/health")
        plain = process.url.replace("https:", "http:")
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.get(f"{plain}/health", trust_env=False)
