"""What the stages of a search did, and how long each took."""

from collections.abc import Callable
from typing import Any

Stages = list[dict[str, Any]]
Done = Callable[..., dict[str, Any]]


def stage_log(
    clock: Callable[[], float], before: float = 0
) -> tuple[Stages, Done, Callable[[str, str], None], Callable[[float], None]]:
    """Return the list of stages, and functions: done(stage, rows, …), skip(stage, reason), warm(s).

    A stage that is done has taken the milliseconds since the one before; `clock` gives seconds.
    What else `done` is given (details) goes into the stage as it is; it returns the stage. So many
    seconds of that time that `warm` is given count for the stage warm_up, which goes first: what a
    session does once. `before` are seconds of it that passed before the log began.
    """
    stages: list[dict[str, Any]] = []
    last = [clock()]

    def done(stage: str, rows: int, **more: Any) -> dict[str, Any]:
        now = clock()
        stages.append({"name": stage, "ms": (now - last[0]) * 1000, "rows": rows, **more})
        last[0] = now
        return stages[-1]

    def skip(stage: str, reason: str) -> None:
        stages.append({"name": stage, "skipped": reason})

    def warm(seconds: float) -> None:
        if not stages or stages[0]["name"] != "warm_up":
            stages.insert(0, {"name": "warm_up", "ms": 0.0})
        stages[0]["ms"] += seconds * 1000
        last[0] += seconds

    if before > 0:
        stages.append({"name": "warm_up", "ms": before * 1000})
    return stages, done, skip, warm
