"""What a provider or a gateway answers fills no memory, leads nowhere, and is what was asked."""

import asyncio
import json
import resource
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from typing import Any

import httpx
import psutil
import pytest

from pgblend.cli.base.http_client import MAX_ANSWER_BYTES
from pgblend.cli.doors.door import ModelGateway
from pgblend.cli.embed.embedding_client import GatewayClient, GatewayUnavailableError
from pgblend.cli.search.asked_models import ModelCall
from pgblend.plpy.models.outcome import checked_vectors
from support.gateway_process import GatewayProcess
from support.raw_server import RawServer, http_answer
from support.sampled import sampled

pytestmark = pytest.mark.extended

MEBIBYTE = 1 << 20
JSON = "Content-Type: application/json"
_texts = count()


@cache  # seconds each
def bomb(kind: int = 31) -> bytes:
    """Return a JSON text of a gibibyte, packed: kind 31 is gzip, 15 deflate."""
    pack = zlib.compressobj(9, wbits=kind)
    parts = [pack.compress(b'{"object": "')]
    parts += [pack.compress(b"a" * MEBIBYTE) for _ in range(1024)]
    return b"".join([*parts, pack.compress(b'"}'), pack.flush()])


def packed(body: bytes, encoding: str = "gzip") -> bytes:
    return http_answer(body, "200 OK", JSON, f"Content-Encoding: {encoding}")


def embedded(*vectors: Any, indexes: Any = None) -> bytes:
    numbers = range(len(vectors)) if indexes is None else indexes
    data = [
        {"object": "embedding", "index": index, "embedding": vector}
        for index, vector in zip(numbers, vectors, strict=True)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    body = {"object": "list", "model": "m", "data": data, "usage": usage}
    return http_answer(json.dumps(body).encode(), "200 OK", JSON)


class Provider(RawServer):
    """Answers as told, and counts what it was asked."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.says: Callable[[], bytes] = lambda: embedded([1.0])
        self.asked = 0

    def _answer(self, body: bytes) -> bytes:
        self.asked += 1
        return self.says()


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as server:
        yield server


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Provider]:
    with Provider() as server:
        yield server


@pytest.fixture(scope="module")
def gateway(provider: Provider) -> Iterator[GatewayProcess]:
    environment = {"PGBLEND_MODEL_SERVER_OWN": f"{provider.url}/v1"}
    with GatewayProcess("--provider-timeout", "60", environment=environment) as process:
        yield process


def embed(gateway: GatewayProcess, texts: int = 1) -> httpx.Response:
    said = [f"text {next(_texts)}" for _ in range(texts)]
    body = {"model": f"own/m{next(_texts)}", "input": said}  # a model that fails is left alone
    return httpx.post(f"{gateway.url}/v1/embeddings", json=body, timeout=120)


def refusal(answer: httpx.Response) -> str:
    assert answer.status_code == 502, answer.text
    error = answer.json()["error"]
    return f"{error['code']}: {error['message']}"


@pytest.mark.parametrize("encoding", sampled(["gzip, gzip", "deflate", "br", "zstd", "gzip"], 5))
def test_a_packed_answer_does_not_fill_the_gateway(
    gateway: GatewayProcess, provider: Provider, encoding: str
) -> None:
    body = bomb(15 if encoding == "deflate" else 31)
    provider.says = lambda: packed(body, encoding)
    assert refusal(embed(gateway)).startswith("provider_")
    assert psutil.Process(gateway.pid).memory_info().rss < 900 * MEBIBYTE
    status = f"/proc/{gateway.pid}/status"
    with open(status) as lines:
        peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    assert peak < 900 * 1024, f"{peak} kB"


def test_one_that_is_packed_though_nobody_asked_is_read(
    gateway: GatewayProcess, provider: Provider
) -> None:
    plain = embedded([0.6, 0.8]).partition(b"\r\n\r\n")[2]
    pack = zlib.compressobj(wbits=31)
    provider.says = lambda: packed(pack.copy().compress(plain) + _rest(plain))
    assert embed(gateway).json()["data"][0]["embedding"] == pytest.approx([0.6, 0.8])


def _rest(plain: bytes) -> bytes:
    pack = zlib.compressobj(wbits=31)
    pack.compress(plain)
    return pack.flush()


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
def test_the_gateway_follows_no_redirect(
    gateway: GatewayProcess, provider: Provider, elsewhere: Provider, status: str
) -> None:
    asked, before = elsewhere.asked, provider.asked
    provider.says = lambda: http_answer(b"", status, f"Location: {elsewhere.url}/v1/embeddings")
    assert "provider_redirects" in refusal(embed(gateway))
    assert (elsewhere.asked, provider.asked) == (asked, before + 1)


@pytest.mark.parametrize(
    ("vectors", "indexes"),
    [
        ([["1.0", "2.0"]], None),
        ([[True, 0.5]], None),
        ([[0.5] * 7_000 + [False] + [0.5] * 7_000], None),
        ([[None, 1.0]], None),
        ([[10**400]], None),
        ([[1.0], [2.0]], [0, 0]),
        ([[1.0], [2.0]], [0, True]),
        ([[1.0], [2.0]], ["0", "1"]),
        ([[1.0], [2.0]], [1, 2]),
        ([[0.5] * 100_000], None),
    ],
    ids=[
        "texts",
        "truth",
        "far truth",
        "none",
        "digits",
        "one index",
        "true",
        "text",
        "from 1",
        "long",
    ],
)
def test_what_is_no_vector_is_refused(
    gateway: GatewayProcess, provider: Provider, vectors: list[Any], indexes: list[Any] | None
) -> None:
    provider.says = lambda: embedded(*vectors, indexes=indexes)
    assert "provider_bad_response" in refusal(embed(gateway, len(vectors)))


@pytest.mark.parametrize(
    ("vectors", "indexes"),
    [([["1.0"]], None), ([[True]], None), ([[1.0], [2.0]], [0, 0]), ([[1.0], [2.0]], [0, True])],
    ids=["texts", "truth", "one index", "true"],
)
def test_nor_by_commands_and_the_database(
    provider: Provider, vectors: list[Any], indexes: list[Any] | None
) -> None:
    provider.says = lambda: embedded(*vectors, indexes=indexes)
    with GatewayClient(provider.url, attempts=1) as client, pytest.raises(GatewayUnavailableError):
        client.embed("m", ["text"] * len(vectors))
    answer = json.loads(provider.says().partition(b"\r\n\r\n")[2])
    assert "problem" in checked_vectors(answer, len(vectors), None)


def endless() -> bytes:
    return http_answer(b'"' + b"a" * (MAX_ANSWER_BYTES + MEBIBYTE) + b'"', "200 OK", JSON)


def bombed() -> bytes:
    return packed(bomb())


@pytest.mark.parametrize("says", [bombed, endless], ids=["packed", "endless"])
def test_serve_reads_no_gateway_s_answer_without_end(
    provider: Provider, says: Callable[[], bytes]
) -> None:
    provider.says = says

    async def ask() -> dict[str, Any]:
        gateway = ModelGateway()
        try:
            return await gateway.post(ModelCall(provider.url, "/v1/rerank", {}, 60_000))
        finally:
            await gateway.close()

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "answered too much" in asyncio.run(ask())["problem"]
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 400 * 1024, f"{grown} kB"


@pytest.mark.slow
def test_nor_do_commands(provider: Provider, database_url: str) -> None:
    provider.says = bombed
    with GatewayClient(provider.url, attempts=1) as client:
        with pytest.raises(GatewayUnavailableError, match="more than"):
            client.embed("m", ["text"])
        for deep in (b"[" * 100_000, b'{"a":' * 100_000):
            provider.says = lambda deep=deep: http_answer(deep, "200 OK", JSON)  # type: ignore[misc]
            with pytest.raises(GatewayUnavailableError):
                client.embed("m", ["text"])
    provider.says = bombed
    command = [sys.executable, "-m", "pgblend.cli.main", "--database-url", database_url]
    set_url = [*command, "config", "set", "gateway_url", provider.url]
    subprocess.run(set_url, check=True, capture_output=True)
    said = subprocess.run([*command, "doctor"], capture_output=True, text=True, timeout=300)
    assert f"{provider.url} does not answer from here (the answer has more than" in said.stdout
