"""How much the door lets a caller take."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CallLimits:
    """Calls of one token: at a time, a second, at once after a pause; bytes of a body."""

    concurrency: int = 16
    rate: float = 50
    burst: int = 100
    body_bytes: int = 1024 * 1024
