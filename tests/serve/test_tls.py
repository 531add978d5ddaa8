"""A door with a certificate of its own, and clients that check it."""

import datetime
import ssl
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from support.agent import over_http
from support.serve_process import ServeProcess


def certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate for localhost, and return its file and its key's."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "door.pem", folder / "door.key"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return paths


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
