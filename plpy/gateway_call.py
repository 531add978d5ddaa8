"""One call of the model gateway: sent first, received later, always with a place of its own."""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Any

from pgblend.plpy.gateway_answer import gateway_answer
from pgblend.plpy.gateway_token import gateway_token
from pgblend.plpy.http_exchange import http_exchange
from pgblend.plpy.model_places import model_places

_ALL_TAKEN = "the server has no place left for a model call: {most} run already"


class GatewayCall:
    """A call under way; `answer` or `abandon` ends it and gives its place back."""

    def __init__(
        self,
        run: Callable[..., Sequence[Mapping[str, Any]]],
        request: Mapping[str, Any],
        connections: MutableMapping[str, Any],
    ) -> None:
        self.run = run
        self.request = request
        take, self.give_back = model_places(run, request["places"])
        self.exchange: Any = None
        self.error: Exception | None = None
        self.place = take(request["timeout_ms"])
        if self.place is None:
            return
        try:
            self.exchange = http_exchange(
                request["url"],
                request["path"],
                request["body"],
                gateway_token(request["data_directory"]),
                request["timeout_ms"],
                connections,
            )
            self.exchange.wait_until_sent(self.check_interrupts)
        except (OSError, ValueError) as error:
            self.error = error
        except BaseException:
            self.abandon()
            raise

    def check_interrupts(self) -> None:
        """Run an empty statement: a cancel or a timeout that is pending is raised there."""
        self.run("SELECT", [])

    def answer(self) -> dict[str, Any]:
        """Wait for the answer: {"answer"} or {"problem", "hint"}; a cancel passes through."""
        if self.place is None:
            return {
                "problem": _ALL_TAKEN.format(most=int(self.request["places"]["most"])),
                "hint": "Raise the setting model_calls: most, or wait_ms to wait for a place.",
            }
        try:
            return gateway_answer(self.request["url"], self.request["timeout_ms"], self.receive)
        finally:
            self.abandon()

    def receive(self) -> tuple[int, str]:
        """Return status and text."""
        if self.exchange is None:
            raise self.error or OSError("nothing was sent")
        received: tuple[int, str] = self.exchange.receive(self.check_interrupts)
        return received

    def abandon(self) -> None:
        """Leave the answer, where there is none yet, and give the place back."""
        if self.exchange is not None:
            self.exchange.abandon()
        place, self.place = self.place, 0
        self.give_back(place)


def gateway_call(
    run: Callable[..., Sequence[Mapping[str, Any]]],
    request: Mapping[str, Any],
    connections: MutableMapping[str, Any],
) -> GatewayCall:
    """Send a request and return the call, whose answer() waits for it.

    `run` executes (statement, types, *values). `request` has url, path, body (JSON text),
    timeout_ms, data_directory (where the token may be) and places (the setting model_calls).
    """
    return GatewayCall(run, request, connections)
