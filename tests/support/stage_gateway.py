"""A gateway and a log for stages of a search that run as plain Python."""

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pgblend.plpy.base.stages import StageLog
from pgblend.plpy.models.gateway import GatewayCall
from pgblend.plpy.models.outcome import ModelStages
from support.fake_database import FakeDatabase
from support.raw_server import RawServer, http_answer

EXPANSION = {"lexicalQueries": ["vin"], "vectorQueries": ["a drink"], "hyde": "It is wine."}
SUB_QUESTIONS = ["who makes it", "who drinks it"]
VECTOR = {
    "wine": "[1]",
    "a drink": "[2]",
    "It is wine.": "[3]",
    "wine\n\nIt is wine.": "[4]",
    "who makes it": "[5]",
    "who drinks it": "[6]",
}


class StageGateway:
    """A gateway that answers as told (`says`, by task), how to ask it, and what it was asked."""

    def __init__(self) -> None:
        self.says: dict[str, Any] = {"expand": EXPANSION, "hyde": EXPANSION}
        self.asked: list[tuple[str, Any]] = []
        self.db = FakeDatabase({"_request_model": self.send, "SELECT": lambda: []})
        self.calls = self.db.kept("calls")
        self.connections = self.db.kept("connections")
        self.numbers = itertools.count()
        self.server = RawServer(self.respond)
        self.timeouts = dict.fromkeys(("embed", "expand", "rerank"), 5000.0)

    def respond(self, body: bytes) -> bytes:
        """Answer as told; vectors as VECTOR has them."""
        asked = json.loads(body)
        task, question = asked["task"], asked["question"]
        self.asked.append((task, question))
        if task == "embed" and task not in self.says:
            vectors = list(map(VECTOR.get, question["input"]))
            return http_answer(json.dumps({"vectors": vectors}).encode())
        answer = self.says[task]
        return answer if isinstance(answer, bytes) else http_answer(json.dumps(answer).encode())

    def send(
        self, task: str, question: str, _: str | None, timeout_ms: int
    ) -> list[dict[str, Any]]:
        """Send a request, as the database does."""
        request = {
            "role": "ann",
            "url": self.server.url,
            "path": "/",
            "body": json.dumps({"task": task, "question": json.loads(question)}),
            "timeout_ms": timeout_ms,
            "most_bytes": 16_000_000,
            "data_directory": "",
            "places": {"most": 0, "wait_ms": 0},
        }
        key = f"call {next(self.numbers)}"
        self.calls[key] = GatewayCall(self.db, request)
        return [{"sent": json.dumps({"call": key})}]

    def models(self, deadline: float = 9.0) -> ModelStages:
        """Return what asks it, in a search that begins at 1.0."""
        return ModelStages(self.db, self.timeouts, deadline, lambda: 1.0)


@contextmanager
def stage_gateway() -> Iterator[StageGateway]:
    """A gateway over real HTTP, of which no call may be left behind."""
    opened = StageGateway()
    with opened.server:
        yield opened
        for connection in opened.connections.values():
            connection.close()
    assert not opened.calls, "a call is left behind"


class FakeProgress(StageLog):
    """A log of stages, and what a search went on without."""

    def __init__(self) -> None:
        ticks = itertools.count()
        super().__init__(lambda: next(ticks) / 1000, 0.0)
        self.degraded: list[tuple[str, str]] = []
        self.warnings: list[str] = []

    def degrade(self, stage: str, problem: str, hint: str | None) -> None:
        """Note what a model failed to give."""
        self.degraded.append((stage, problem))

    def warn(self, message: str, hint: str | None = None) -> None:
        """Note a warning."""
        self.warnings.append(message)

    def told(self) -> list[tuple[str, Any]]:
        """Return names with rows, or with why they were skipped."""
        return [(one.name, one.skipped or one.rows) for one in self.stages]
