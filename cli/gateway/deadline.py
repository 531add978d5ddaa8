"""How long a call may still take."""

import time


class Deadline:
    """A moment on the monotonic clock."""

    def __init__(self, seconds: float, *, at_once: bool = True) -> None:
        self._seconds = seconds
        self._at = time.monotonic() + seconds if at_once else None

    @classmethod
    def of(cls, timeout_ms: int | None, most_seconds: float) -> "Deadline":
        """Return the caller's deadline, but never one later than the gateway's own.

        The gateway's own limit is for providers: it counts from when one is asked, not while a
        library is loaded.
        """
        if timeout_ms is None:
            return cls(most_seconds, at_once=False)
        return cls(min(timeout_ms / 1000, most_seconds))

    @property
    def remaining(self) -> float:
        """Seconds left; 0 when it is over."""
        if self._at is None:
            self._at = time.monotonic() + self._seconds
        return max(0.0, self._at - time.monotonic())

    @property
    def callers(self) -> float | None:
        """Seconds left to a caller who has set a deadline, None to one who has not."""
        return None if self._at is None else self.remaining

    def share(self, parts: int) -> "Deadline":
        """Return a deadline that leaves as much time to each of so many parts."""
        return self if parts <= 1 else Deadline(self.remaining / parts)
