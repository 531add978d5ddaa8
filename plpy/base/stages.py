"""The log of a search's stages."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from pgblend.plpy.base.session import Json


@dataclass(slots=True, eq=False, repr=False)
class Stage:
    """A stage that is done, times in milliseconds; or why it was `skipped`."""

    name: str
    start_ms: float = 0.0
    ms: float = 0.0
    rows: int | None = None
    details: Mapping[str, Json] | None = None
    skipped: str | None = None

    def told(self) -> dict[str, Json]:
        """Return what is known, by name."""
        if self.skipped is not None:
            return {"name": self.name, "skipped": self.skipped}
        told: dict[str, Json] = {"name": self.name, "start_ms": self.start_ms, "ms": self.ms}
        if self.rows is not None:
            told["rows"] = self.rows
        if self.details is not None:
            told["details"] = self.details
        return told


def rows_of(stage: Stage | None) -> int:
    """Return the rows of a stage; 0 where it did not run."""
    return (stage and stage.rows) or 0


def since(started_at: float) -> float:
    """Return the milliseconds since a time."""
    return (time.time() - started_at) * 1000


class StageLog:
    """The stages of a search in their order.

    A stage that is done has taken the time since the one before. Its `start_ms` is when that was,
    counted from `origin`; `clock` gives seconds. What a session does once is the stage warm_up,
    which goes first. It has the time before the log of its first search. Then it has so many
    seconds of a stage's time as `warm` is given.
    """

    def __init__(self, clock: Callable[[], float], origin: float, is_first: bool = False) -> None:
        self.clock, self.origin = clock, origin
        self.stages: list[Stage] = []
        self._last = clock()
        if is_first:
            self.stages.append(self._stage("warm_up", origin, self._last))

    def _stage(self, name: str, start: float, end: float) -> Stage:
        return Stage(name, (start - self.origin) * 1000, (end - start) * 1000)

    def done(self, stage: str, rows: int, details: Mapping[str, Json] | None = None) -> None:
        """Log a stage that gave so many rows."""
        start, self._last = self._last, self.clock()
        of_stage = self._stage(stage, start, self._last)
        of_stage.rows, of_stage.details = rows, details
        self.stages.append(of_stage)

    def skip(self, stage: str, reason: str) -> None:
        """Log why a stage did not run."""
        self.stages.append(Stage(stage, skipped=reason))

    def warm(self, seconds: float) -> None:
        """Count seconds of the stage under way as warm_up."""
        if not self.stages or self.stages[0].name != "warm_up":
            self.stages.insert(0, self._stage("warm_up", self._last, self._last))
        self.stages[0].ms += seconds * 1000
        self._last += seconds

    def ran(self) -> dict[str, Stage]:
        """Return the stages that ran, by name."""
        return {stage.name: stage for stage in self.stages if stage.skipped is None}


class Progress(Protocol):
    """Where a stage says what it did."""

    def done(self, stage: str, rows: int, details: Mapping[str, Json] | None = None) -> None:
        """Log a stage that gave so many rows."""

    def skip(self, stage: str, reason: str) -> None:
        """Log why a stage did not run."""

    def warn(self, message: str, hint: str | None = None) -> None:
        """Send a WARNING to the client."""

    def degrade(self, stage: str, problem: str, hint: str | None) -> None:
        """Name what a model failed to give; fail where rows need it."""
