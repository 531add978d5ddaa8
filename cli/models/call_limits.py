"""How much a token, or an address, may ask for: calls at a time, and calls a second."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pgblend.cli.models.gateway_options import CallLimits
from pgblend.cli.models.openai_errors import GatewayError

_MOST_CALLERS = 10_000  # that are kept in mind; idle ones are forgotten


@dataclass
class _Use:
    running: int
    left: float  # calls, of the burst
    at: float


class Limiter:
    """Counts the calls of each; a bucket that refills at the rate, from 0 to the burst."""

    def __init__(
        self,
        limits: CallLimits,
        clock: Callable[[], float] = time.monotonic,
        who: str = "the token",
    ) -> None:
        self._limits = limits
        self._who = who
        self._clock = clock
        self._uses: dict[str, _Use] = {}

    @contextmanager
    def call(self, token: str) -> Iterator[None]:
        """Count a call while it runs; a GatewayError with status 429 where it is one too many."""
        use = self._use(token)
        if use.running >= self._limits.concurrency:
            detail = f"{self._who} has {use.running} calls running, which is its limit"
            raise GatewayError(429, "too_many_calls", detail, retry_after="1")
        if use.left < 1:
            wait = (1 - use.left) / self._limits.rate
            detail = f"{self._who} may call {self._limits.rate:g} times a second"
            raise GatewayError(429, "rate_limit", detail, retry_after=str(max(1, round(wait))))
        use.left -= 1
        use.running += 1
        try:
            yield
        finally:
            use.running -= 1

    def _use(self, token: str) -> _Use:
        now = self._clock()
        if token not in self._uses:
            self._forget(now)
        use = self._uses.setdefault(token, _Use(0, self._limits.burst, now))
        use.left, use.at = self._refilled(use, now), now
        return use

    def _refilled(self, use: _Use, now: float) -> float:
        return min(self._limits.burst, use.left + (now - use.at) * self._limits.rate)

    def _forget(self, now: float) -> None:
        """Forget tokens that are as good as new."""
        if len(self._uses) >= _MOST_CALLERS:
            self._uses = {
                token: use
                for token, use in self._uses.items()
                if use.running or self._refilled(use, now) < self._limits.burst
            }
