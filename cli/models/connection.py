"""What one HTTP connection may take: time for headers and body, bytes, and a number an address."""

import asyncio
from collections.abc import Callable
from typing import ClassVar, Literal

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from pgblend.cli.models.gateway_options import ConnectionLimits
from pgblend.cli.models.openai_errors import GatewayError

MAX_BODY_BYTES = 32 * 1024 * 1024
_MOST_HEADER_BYTES = 64 * 1024
_LINGER_SECONDS = 1.0  # the reset that a caller gets who still sends could outrun the answer
_Part = Literal["the headers", "the body"]


def limited_protocol(
    limits: ConnectionLimits, refusal: Callable[[GatewayError], Response] = GatewayError.response
) -> type[HttpToolsProtocol]:
    """Return uvicorn's protocol with these limits; over them it answers 408, 429 or 431 and closes.

    `refusal` writes that answer.
    """
    members = {"limits": limits, "refusal": staticmethod(refusal)}
    return type("LimitedProtocol", (_LimitedProtocol,), members)


class _LimitedProtocol(HttpToolsProtocol):
    limits: ClassVar[ConnectionLimits]
    refusal: Callable[[GatewayError], Response]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._ended = False
        self._received = 0
        self._arriving: _Part | None = "the headers"  # None: the request is here
        self._timed: _Part | None = None
        self._timer: asyncio.TimerHandle | None = None
        others = [each for each in self._open_connections() if each is not self]
        if len(others) < self.limits.connections:
            self._watch()
        elif idle := next((each for each in others if each.timeout_keep_alive_task), None):
            idle.timeout_keep_alive_handler()
            self._watch()
        else:
            message = f"one address may have {self.limits.connections} connections at a time"
            self._end(GatewayError(429, "too_many_connections", message, retry_after="1"))

    def data_received(self, data: bytes) -> None:
        if self._ended:
            return
        self._received += len(data)
        super().data_received(data)
        self._watch()
        if self.transport.is_closing():
            return
        if self._timed == "the headers" and self._received > _MOST_HEADER_BYTES:
            message = f"the headers have more than {_MOST_HEADER_BYTES} bytes"
            self._end(GatewayError(431, "headers_too_large", message))
        elif self._received > 2 * MAX_BODY_BYTES:
            self._end()

    def on_headers_complete(self) -> None:
        self._arriving = "the body"
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._arriving = None
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._arriving is None:
            self._arriving = "the headers"
        if self._arriving == "the headers":
            self._received = 0
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._set_timer(None)
        super().connection_lost(exc)

    def _open_connections(self) -> list["_LimitedProtocol"]:
        """Return the connections of this one's address; all of a Unix socket have the same."""
        address = self.client and self.client[0]
        return [
            each
            for each in self.connections
            if isinstance(each, _LimitedProtocol)
            and (each.client and each.client[0]) == address
            and not (each._ended or each.transport.is_closing())
        ]

    def _awaited(self) -> _Part | None:
        """Return what the caller is to send now; uvicorn has a clock between two requests."""
        answering = self.cycle is not None and not self.cycle.response_complete
        if self.timeout_keep_alive_task or self.pipeline:
            return None
        return None if answering and self._arriving == "the headers" else self._arriving

    def _watch(self) -> None:
        """Start the clock of what is awaited now."""
        awaited = self._awaited()
        if self._ended or awaited is self._timed:
            return
        self._timed = awaited
        if awaited == "the headers":
            self._set_timer(self.limits.header_seconds, awaited)
        elif awaited == "the body":
            self._set_timer(self.limits.body_seconds, awaited)
        else:
            self._set_timer(None)

    def _set_timer(self, seconds: float | None, what: str = "") -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None
        if seconds is not None:
            message = f"{what} did not arrive within {seconds:g} seconds"
            late = GatewayError(408, "request_timeout", message)
            self._timer = self.loop.call_later(seconds, self._end, late)

    def _end(self, error: GatewayError | None = None) -> None:
        """Answer, where nothing has been answered yet, and close once that can be read."""
        self._ended = True
        self._set_timer(None)
        self._unset_keepalive_if_required()
        if self.transport.is_closing():
            return
        if error and not self._is_answered():
            self._answer(error)
        for cycle in (self.cycle, *(waiting for waiting, _ in self.pipeline)):
            if cycle:
                cycle.disconnected = True
                cycle.message_event.set()
        self.flow.pause_reading()
        self.transport.write_eof()
        self.loop.call_later(_LINGER_SECONDS, self.transport.close)

    def _is_answered(self) -> bool:
        """Whether an answer has begun to what is arriving, or has just arrived."""
        if self.cycle is None or not self.cycle.response_started:
            return False
        return self._arriving == "the body" or not self.cycle.response_complete

    def _answer(self, error: GatewayError) -> None:
        answer = self.refusal(error)
        headers = (*answer.raw_headers, (b"connection", b"close"))
        lines = (name + b": " + value + b"\r\n" for name, value in headers)
        head = STATUS_LINE[answer.status_code] + b"".join(lines)
        self.transport.write(head + b"\r\n" + bytes(answer.body))
