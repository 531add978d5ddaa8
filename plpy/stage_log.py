"""What the stages of a search did, when each began, and how long it took."""

from collections.abc import Callable
from typing import Any

Stages = list[dict[str, Any]]
Done = Callable[..., dict[str, Any]]


def stage_log(
    clock: Callable[[], float], origin: float, is_first: bool = False
) -> tuple[Stages, Done, Callable[[str, str], None], Callable[[float], None]]:
    """Return the list of stages, and functions: done(stage, rows, …), skip(stage, reason), warm(s).

    A stage that is done has taken the milliseconds since the one before, and its `start_ms` is
    when that was, counted from `origin`; `clock` gives seconds. What else `done` is given (details)
    goes into the stage as it is; it returns the stage. What a session does once is the stage
    warm_up, which goes first: the time before the log of its first search, and so many seconds of
    a stage's time as `warm` is given.
    """
    stages: list[dict[str, Any]] = []
    last = [clock()]

    def done(stage: str, rows: int, **more: Any) -> dict[str, Any]:
        start, now = last[0], clock()
        times = {"start_ms": (start - origin) * 1000, "ms": (now - start) * 1000}
        stages.append({"name": stage, **times, "rows": rows, **more})
        last[0] = now
        return stages[-1]

    def skip(stage: str, reason: str) -> None:
        stages.append({"name": stage, "skipped": reason})

    def warm(seconds: float) -> None:
        if not stages or stages[0]["name"] != "warm_up":
            stages.insert(0, warm_up(last[0], 0.0))
        stages[0]["ms"] += seconds * 1000
        last[0] += seconds

    def warm_up(start: float, seconds: float) -> dict[str, Any]:
        return {"name": "warm_up", "start_ms": (start - origin) * 1000, "ms": seconds * 1000}

    if is_first:
        stages.append(warm_up(origin, last[0] - origin))
    return stages, done, skip, warm
