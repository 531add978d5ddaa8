"""One call of the model gateway: sent first, received later, in a place of its own."""

import os
import stat
import time
from collections.abc import Callable, Mapping
from typing import Any

from pgblend.plpy.models.answer import gateway_answer
from pgblend.plpy.models.http import HttpExchange
from pgblend.plpy.models.limits import LateGateway, take_place
from pgblend.plpy.models.stages import problem
from pgblend.plpy.session import Database


def gateway_token(data_directory: str) -> str | None:
    """Return the token, None where the gateway needs none.

    It comes from the server's environment (PGBLEND_GATEWAY_TOKEN) or from the file
    pgblend_gateway_token in the data directory, which nobody but its owner may read:
    PermissionError otherwise. ValueError where a header cannot carry it; the token itself is never
    in a message.
    """
    token = os.environ.get("PGBLEND_GATEWAY_TOKEN", "").strip()
    path = os.path.join(data_directory, "pgblend_gateway_token")
    if not token:
        try:
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            return None
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise PermissionError(f"{path} may be read by others: chmod 600 it")
        with open(path, encoding="utf-8") as file:
            token = file.read().strip()
    if not (token.isascii() and token.isprintable()):
        raise ValueError("the gateway token holds characters that a header cannot carry")
    return token or None


_MORE_PLACES = "Raise the setting model_calls: most, or wait_ms to wait for a place."
_ROOM_FOR_FILES = "Its account needs a folder pgblend_model_calls in the data directory, and room."


class GatewayCall:
    """A call under way, its request sent; `answer` or `abandon` ends it and gives its place back.

    `request` has url, path, body (JSON text), timeout_ms, most_bytes (of the answer),
    data_directory (where the token may be), role (who asks), database (a number) and places (the
    setting model_calls). The session keeps connections and late (see LateGateway).
    """

    def __init__(self, db: Database, request: Mapping[str, Any]) -> None:
        self.db, self.request = db, request
        self.gateway = LateGateway(db.kept("late"), request, time.monotonic)
        self.refusal = self.gateway.rest()
        self.exchange: HttpExchange | None = None
        self.error: Exception | None = None
        self.token: str | None = None
        self.give_back: Callable[[], None] | None = None
        if self.refusal is None:
            self.refusal = self.take_place()
        if self.refusal:
            return
        try:
            self.token = gateway_token(request["data_directory"])
            self.exchange = HttpExchange(request, self.token, db.kept("connections"))
            self.exchange.wait_until_sent(self.check_interrupts)
        except (OSError, ValueError) as error:
            self.error = error
        except BaseException:
            self.abandon()
            raise

    def take_place(self) -> dict[str, str] | None:
        """Take a place; return the problem where there is none."""
        try:
            self.give_back = take_place(self.db.run, self.request)
        except OSError as error:
            told = f"the server cannot count its model calls: {error.strerror}"
            return problem(told, _ROOM_FOR_FILES)
        if self.give_back is None:
            most = int(self.request["places"]["most"])
            told = f"the server has no place left for a model call: {most} run already"
            return problem(told, _MORE_PLACES)
        return None

    def check_interrupts(self) -> None:
        """Run an empty statement: a cancel or a timeout that is pending is raised there."""
        self.db.run("SELECT", [])

    def answer(self) -> dict[str, Any]:
        """Wait for the answer: {"answer"} or {"problem", "hint"}; a cancel passes through."""
        if self.refusal:
            return self.refusal
        try:
            return gateway_answer(
                self.request["url"], self.request["timeout_ms"], self.receive, [self.token]
            )
        finally:
            self.abandon()

    def receive(self) -> tuple[int, str]:
        """Return status and text."""
        if self.exchange is None:
            raise self.error or OSError("nothing was sent")
        try:
            received = self.exchange.receive(self.check_interrupts)
        except TimeoutError:
            self.gateway.learn(is_late=True)
            raise
        self.gateway.learn(is_late=False)
        return received

    def abandon(self) -> None:
        """Leave the answer, where there is none yet, and give the place back."""
        give_back, self.give_back = self.give_back, None
        try:
            if self.exchange is not None:
                self.exchange.abandon()
        finally:
            if give_back is not None:
                give_back()
