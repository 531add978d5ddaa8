"""What one HTTP connection may take: time for headers and body, bytes, and a number an address."""

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

import h11
from starlette.responses import Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from pgblend.cli.gateway.errors import GatewayError
from pgblend.cli.gateway.policy import ConnectionLimits

MAX_BODY_BYTES = 32 * 1024 * 1024
_LINGER_SECONDS = 1.0  # the reset that a caller gets who still sends could outrun the answer


def limited_protocol(
    limits: ConnectionLimits, refusal: Callable[[GatewayError], Response] = GatewayError.response
) -> type[H11Protocol]:
    """Return uvicorn's protocol with these limits; over them it answers 408 or 429 and closes.

    `refusal` writes that answer.
    """
    members = {"limits": limits, "refusal": staticmethod(refusal)}
    return type("LimitedProtocol", (_LimitedProtocol,), members)


class _LimitedProtocol(H11Protocol):
    limits: ClassVar[ConnectionLimits]
    refusal: Callable[[GatewayError], Response]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._ended = False
        self._received = 0
        self._phase: Any = None  # a state of h11's
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
        if self._received > 2 * MAX_BODY_BYTES and not self.transport.is_closing():
            self._end()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state is not h11.SEND_BODY:
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

    def _watch(self) -> None:
        """Start the clock of what is awaited now; uvicorn has one between two requests."""
        phase = None if self.timeout_keep_alive_task else self.conn.their_state
        if self._ended or phase is self._phase:
            return
        self._phase = phase
        if phase is h11.IDLE:
            self._set_timer(self.limits.header_seconds, "the headers")
        elif phase is h11.SEND_BODY:
            self._set_timer(self.limits.body_seconds, "the body")
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
        if error and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._answer(error)
        if self.cycle:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.flow.pause_reading()
        self.transport.write_eof()
        self.loop.call_later(_LINGER_SECONDS, self.transport.close)

    def _answer(self, error: GatewayError) -> None:
        answer = self.refusal(error)
        headers: list[Any] = [*answer.raw_headers, (b"connection", b"close")]
        for event in (
            h11.Response(status_code=answer.status_code, headers=headers),
            h11.Data(data=bytes(answer.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
