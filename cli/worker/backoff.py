"""How long to leave a model alone that does not answer."""

import random
import time

FIRST_SECONDS = 1.0
LONGEST_SECONDS = 300.0


class Backoff:
    """Waits grow twofold, each by up to half at random, so that workers do not come all at once."""

    def __init__(self) -> None:
        self._failures = 0
        self._until = 0.0

    def is_over(self) -> bool:
        """Whether the model may be asked (again)."""
        return time.monotonic() >= self._until

    def fail(self, retry_after: float | None = None) -> float:
        """Note a failure; return the seconds to wait: what the gateway asked for, or more."""
        seconds: float = min(FIRST_SECONDS * 2**self._failures, LONGEST_SECONDS)
        seconds = max(seconds, retry_after or 0.0) * random.uniform(1.0, 1.5)
        self._failures = min(self._failures + 1, 30)
        self._until = time.monotonic() + seconds
        return seconds

    def succeed(self) -> None:
        """Forget the failures."""
        self._failures = 0
