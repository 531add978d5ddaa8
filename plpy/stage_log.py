"""What the stages of a search did, when each began, and how long it took."""

from collections.abc import Callable
from typing import Any


def stage_log(
    clock: Callable[[], float], origin: float
) -> tuple[list[dict[str, Any]], Callable[..., dict[str, Any]], Callable[[str, str], None]]:
    """Return the list of stages, and the functions done(stage, rows, …) and skip(stage, reason).

    A stage that is done has taken the milliseconds since the one before, and its `start_ms` is
    when that was, counted from `origin`; `clock` gives seconds. What else `done` is given (details)
    goes into the stage as it is; it returns the stage.
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

    return stages, done, skip
