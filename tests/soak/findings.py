"""What a run notes: what was done, what clients met beside faults, and what is wrong."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Findings:
    """Counts and problems of all threads; `started` is on the monotonic clock."""

    started: float = field(default_factory=time.monotonic)
    done: Counter[str] = field(default_factory=Counter)  # by action
    excused: Counter[str] = field(default_factory=Counter)  # errors beside a fault, by kind
    degraded: Counter[str] = field(default_factory=Counter)
    retried: list[str] = field(default_factory=list)  # what clients have to try again, and why
    problems: list[str] = field(default_factory=list)
    faults: list[tuple[str, float, float]] = field(default_factory=list)  # seconds of the run
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _breaking: int = 0
    _broken_at: float = -1e9  # the last moment at which something was broken

    @property
    def now(self) -> float:
        """Seconds of the run."""
        return time.monotonic() - self.started

    def count(self, action: str) -> None:
        """Note that something was done."""
        with self._lock:
            self.done[action] += 1

    def note_retried(self, text: str) -> None:
        """Note an error after which a client tries again."""
        with self._lock:
            self.retried.append(f"{self.now:.0f} s: {text}")

    def restart(self) -> None:
        """Begin the time, and the counts, anew."""
        with self._lock:
            self.started = time.monotonic()
            self.done.clear()

    def note_degraded(self, notes: list[str]) -> None:
        """Note what a search that no fault excuses went without."""
        with self._lock:
            self.degraded.update(notes)

    def excuse(self, kind: str) -> None:
        """Note an error that a fault explains."""
        with self._lock:
            self.excused[kind] += 1

    def problem(self, text: str) -> None:
        """Note that something is wrong; the first hundred are kept, and shown at once."""
        with self._lock:
            if len(self.problems) < 100:
                self.problems.append(f"{self.now:.0f} s: {text}")
                print(f"PROBLEM {self.problems[-1]}", flush=True)

    @contextmanager
    def breaking(self, name: str) -> Iterator[None]:
        """Hold errors of connections for excused while the block runs."""
        begin = self.now
        with self._lock:
            self._breaking += 1
        try:
            yield
        finally:
            with self._lock:
                self._breaking -= 1
                self._broken_at = self.now
                self.faults.append((name, begin, self.now))

    def was_broken_since(self, begin: float) -> bool:
        """Tell whether something was broken at any moment since then."""
        with self._lock:
            return self._breaking > 0 or self._broken_at >= begin
