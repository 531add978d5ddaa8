"""The time that the lexical arm has: it reads no table."""

import time
from typing import NamedTuple

from pgblend.plpy.base.session import ProgramError


class Deadline(NamedTuple):
    """When the lexical arm has to be done, in seconds of the monotonic clock."""

    at: float

    def check(self) -> None:
        """End with PB009 once the time is over.

        To be called between steps: a statement_timeout that is set inside a function has no effect.
        """
        if time.monotonic() > self.at:
            raise ProgramError(
                "the time limit of the lexical arm is over",
                "Raise timeouts_ms, key lexical.",
                "PB009",
            )

    def left_ms(self) -> float:
        """Return how many milliseconds are left."""
        return (self.at - time.monotonic()) * 1000


def arm_deadline(timeout_ms: float, whole: float) -> Deadline:
    """Start the clock of an arm whose session is ready; PB009 where the whole search is over.

    `whole` is when that has to be done.
    """
    now = time.monotonic()
    if now > whole:
        raise ProgramError(
            "the time limit of the whole search is over", "Raise timeouts_ms, key total.", "PB009"
        )
    return Deadline(min(now + timeout_ms / 1000, whole))
