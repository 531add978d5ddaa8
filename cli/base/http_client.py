"""HTTP clients of the model gateway: no proxy, no redirect, no packed answer, none without end."""

import re
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from ssl import SSLContext
from typing import Any

import httpx

# Whom TLS trusts, for all clients of the gateway in a process.


@cache
def authorities() -> SSLContext:
    """Return the authorities of `certifi`: reading them for each client takes 40 ms and memory."""
    return httpx.create_ssl_context(trust_env=False)


# Answers from elsewhere, counted as they are unpacked: they may not fill the memory.
#
# A packed answer of 12 MB unpacks to 12 GB. So it is unpacked here, up to the limit, and never
# there.

MAX_ANSWER_BYTES = 64 * 1024 * 1024  # 2,048 vectors of 3,072 numbers, in base64, are 33
# What a call at hand may be answered, where that is known to be less.
_most_bytes: ContextVar[int] = ContextVar("most_bytes", default=MAX_ANSWER_BYTES)
# Whether lists of the answer to a call at hand have numbers alone. A provider's library makes 1.0
# of `true`: only here it can be seen.
_only_numbers: ContextVar[bool] = ContextVar("only_numbers", default=False)
_TRUTH = re.compile(rb"[\[,]\s*(?:true|false)\s*[,\]]")
_TRUTH_BYTES = 64  # so many of one part are looked at together with the next
_ENCODING = "content-encoding"
_PACKED = ("gzip", "x-gzip", "deflate")
_ANY_HEADER = zlib.MAX_WBITS | 32  # of gzip or zlib


class AnswerTooLargeError(httpx.DecodingError):
    """The other side sent more than is taken."""


class TruthValueError(httpx.DecodingError):
    """A truth value stands in a list where numbers are to be."""


class RedirectedError(httpx.DecodingError):
    """The other side names another address, where nobody asked."""


class _Count:
    """Unpacks an answer part by part, and counts what comes out."""

    def __init__(self, encoding: str) -> None:
        self._most = self._left = _most_bytes.get()
        self._packed = zlib.decompressobj(_ANY_HEADER) if encoding in _PACKED else None
        self._checks = _only_numbers.get()
        self._end = b""  # of the parts before

    def take(self, part: bytes) -> bytes:
        if self._packed is not None:
            try:
                part = self._packed.decompress(part, self._left + 1)
            except zlib.error as error:
                raise httpx.DecodingError(f"the answer cannot be unpacked: {error}") from None
        self._left -= len(part)
        if self._left < 0:
            raise AnswerTooLargeError(f"the answer has more than {self._most} bytes")
        if self._checks:
            self._check_numbers(part)
        return part

    def _check_numbers(self, part: bytes) -> None:
        seen = self._end + part
        if (b"true" in seen or b"false" in seen) and _TRUTH.search(seen):
            raise TruthValueError("the answer has a truth value in a list of numbers")
        self._end = seen[-_TRUTH_BYTES:]


class _Stream(httpx.SyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream, count: _Count) -> None:
        self._stream = stream
        self._count = count

    def __iter__(self) -> Iterator[bytes]:
        for part in self._stream:
            yield self._count.take(part)

    def close(self) -> None:
        self._stream.close()


class _AsyncStream(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, count: _Count) -> None:
        self._stream = stream
        self._count = count

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            yield self._count.take(part)

    async def aclose(self) -> None:
        await self._stream.aclose()


def ask_unpacked(request: httpx.Request) -> None:
    """Ask for an answer that is not packed; who packs it nevertheless is read by `bounded`."""
    request.headers["accept-encoding"] = "identity"


def bounded(response: httpx.Response) -> httpx.Response:
    """Count what a response holds as it is read; it is none that leads elsewhere."""
    if response.has_redirect_location:
        raise RedirectedError("the answer names another address, which is not followed")
    encoding = response.headers.get(_ENCODING, "identity").strip().lower()
    if encoding not in (*_PACKED, "identity", ""):
        raise httpx.DecodingError(f"the answer is packed as {encoding[:40]!r}: nobody asked for it")
    count = _Count(encoding)
    response.headers.pop(_ENCODING, None)
    if isinstance(response.stream, httpx.AsyncByteStream):
        response.stream = _AsyncStream(response.stream, count)
    else:
        assert isinstance(response.stream, httpx.SyncByteStream)
        response.stream = _Stream(response.stream, count)
    return response


@contextmanager
def at_most(size: int) -> Iterator[None]:
    """Take no larger answer meanwhile, where that is less than what is taken anyway."""
    before = _most_bytes.set(min(size, MAX_ANSWER_BYTES))
    try:
        yield
    finally:
        _most_bytes.reset(before)


@contextmanager
def only_numbers() -> Iterator[None]:
    """Take no answer meanwhile that has a truth value in a list."""
    before = _only_numbers.set(True)
    try:
        yield
    finally:
        _only_numbers.reset(before)


class BoundedTransport(httpx.HTTPTransport):
    """HTTP that asks for plain answers, and counts them."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the answer's size is counted while it is read."""
        ask_unpacked(request)
        return bounded(super().handle_request(request))


class AsyncBoundedTransport(httpx.AsyncHTTPTransport):
    """The same for clients that wait without blocking."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the answer's size is counted while it is read."""
        ask_unpacked(request)
        return bounded(await super().handle_async_request(request))


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
