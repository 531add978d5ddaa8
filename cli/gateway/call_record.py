"""What is known of a call to a model: for ledger, metrics and log, so never its contents."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


@dataclass
class CallRecord:
    """One call to a model, with all its attempts."""

    task: str
    model: str
    provider: str = ""
    outcome: str = "cancelled"  # ok, or the code of the error
    attempts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None  # None: litellm has no price for the model
    milliseconds: float = 0
    called_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat())
    _start: float = field(default_factory=time.perf_counter, repr=False)

    def count(self, answer: Any) -> None:
        """Add what an answer of litellm says about tokens and cost."""
        usage = getattr(answer, "usage", None)
        self.input_tokens = int(getattr(usage, "prompt_tokens", 0) or 0)
        self.output_tokens = int(getattr(usage, "completion_tokens", 0) or 0)
        hidden = getattr(answer, "_hidden_params", None) or {}
        cost = hidden.get("response_cost")
        self.cost_usd = float(cost) if isinstance(cost, int | float) else None

    def end(self, outcome: str) -> None:
        """Note how it ended, and how long it took."""
        self.outcome = outcome
        self.milliseconds = (time.perf_counter() - self._start) * 1000

    def fields(self) -> dict[str, Any]:
        """Return what the log and the ledger keep of it."""
        return {
            "task": self.task,
            "model": self.model,
            "provider": self.provider,
            "outcome": self.outcome,
            "attempts": self.attempts,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost_usd": self.cost_usd,
            "milliseconds": round(self.milliseconds, 3),
        }
