"""The time limit of the lexical arm."""

import time
from collections.abc import Callable


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
