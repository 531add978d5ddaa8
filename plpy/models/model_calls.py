"""The model calls of one search: sent, received, and ended whatever happens."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pgblend.plpy.base.session import Database

IS_IT = "Is gateway_url the address of a model gateway?"


def problem(told: str, hint: str) -> dict[str, str]:
    """Return what stands in an answer's place, where there is none."""
    return {"problem": told, "hint": hint}


_TOO_LATE = problem(
    "the time of the whole search is over", "Raise the option timeouts_ms, key total."
)


class Outcome(NamedTuple):
    """A gateway's answer; or the problem that there is none, with a hint.

    `ms` are those from sending on.
    """

    ms: float
    answer: Any = None
    problem: str | None = None
    hint: str | None = None


@dataclass(slots=True, eq=False, repr=False)
class ModelStages:
    """Begin calls, take their answers; leaving the `with` block ends what is still under way.

    The session keeps calls under way. The search must be over at `deadline` by `clock`, in seconds.
    """

    db: Database
    timeouts_ms: Mapping[str, float]
    deadline: float
    clock: Callable[[], float]
    under_way: dict[str, tuple[Mapping[str, Any], float]] = field(default_factory=dict)

    def __enter__(self) -> "ModelStages":
        return self

    def __exit__(self, *_: object) -> None:
        for task in list(self.under_way):
            self.leave(task)

    def begin(self, task: str, question: Mapping[str, Any], space: str | None = None) -> None:
        """Send a request for a task: embed, expand, hyde or rerank."""
        limit = self.timeouts_ms["expand" if task == "hyde" else task]
        left = int(min(limit, (self.deadline - self.clock()) * 1000))
        sent: Mapping[str, Any] = _TOO_LATE
        if left > 0:
            sent = self.db.send_model(task, json.dumps(question), space, left)
        self.under_way[task] = (sent, self.clock())

    def answer(self, task: str) -> Outcome:
        """Return what became of a call."""
        sent, began = self.under_way.pop(task)
        outcome = sent
        if "call" in sent:
            outcome = self.db.kept("calls").pop(sent["call"]).answer()
        ms = (self.clock() - began) * 1000
        return Outcome(ms, *map(outcome.get, ("answer", "problem", "hint")))

    def leave(self, task: str) -> None:
        """Do without the answer, where one was asked for."""
        sent, _ = self.under_way.pop(task, ({}, 0.0))
        if "call" in sent:
            self.db.kept("calls").pop(sent["call"]).abandon()
