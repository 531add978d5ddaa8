"""The time limit of the lexical arm."""

import time
from collections.abc import Callable, MutableMapping
from math import inf
from typing import Any


def arm_deadline(
    timeout_ms: float, handed: MutableMapping[str, Any], fail: Callable[..., object]
) -> float:
    """Start the clock of an arm whose session is ready; return when `timeout_ms` are over.

    Times are seconds of the monotonic clock. `handed` is what the search's own Python laid down: it
    may have the `deadline` of the whole search, at which the arm has to be done as well, and takes
    `ready_at`. `fail` is called where that deadline is over already.
    """
    now = handed["ready_at"] = time.monotonic()
    whole: float = handed.get("deadline", inf)
    if now > whole:
        fail(
            "the time limit of the whole search is over",
            sqlstate="PB009",
            hint="Raise timeouts_ms, key total.",
        )
    return min(now + timeout_ms / 1000, whole)


def deadline_check(deadline: float, fail: Callable[..., object]) -> Callable[[], None]:
    """Return a function that calls `fail` once the monotonic clock is past `deadline`.

    To be called between steps: a statement_timeout that is set inside a function has no effect.
    """

    def check() -> None:
        if time.monotonic() > deadline:
            fail(
                "the time limit of the lexical arm is over",
                sqlstate="PB009",
                hint="Raise timeouts_ms, key lexical.",
            )

    return check
