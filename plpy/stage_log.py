"""What the stages of a search did, and how long each took."""

from collections.abc import Callable
from typing import Any


def stage_log(
    clock: Callable[[], float],
) -> tuple[list[dict[str, Any]], Callable[..., dict[str, Any]], Callable[[str, str], None]]:
    """Return the list of stages, and the functions done(stage, rows, …) and skip(stage, reason).

    A stage that is done has taken the milliseconds since the one before; `clock` gives seconds.
    What else `done` is given (details) goes into the stage as it is; it returns the stage.
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

    return stages, done, skip
