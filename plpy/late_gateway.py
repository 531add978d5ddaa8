"""What a session remembers of a gateway that answers late: it is left alone for a moment."""

from collections.abc import Callable, MutableMapping
from typing import Any

from pgblend.plpy.mask_secrets import mask_secrets

LATE_CALLS = 3  # in a row
FIRST_REST_SECONDS = 5.0
LONGEST_REST_SECONDS = 60.0
MOST_KEPT = 32  # addresses


class LateGateway:
    """One call's view of the memory; late_gateway says what its values are."""

    def __init__(
        self,
        memory: MutableMapping[tuple[str, str], dict[str, float]],
        request: Any,
        clock: Callable[[], float],
    ) -> None:
        self.memory, self.clock = memory, clock
        self.key = (request["url"], request["path"])
        self.timeout_ms = request["timeout_ms"]

    def rest(self) -> dict[str, str] | None:
        """Return {"problem", "hint"} where the gateway is not to be asked now."""
        known = self.memory.get(self.key)
        # A caller with much more time than those in vain is let through.
        if known is None or self.timeout_ms >= 2 * known["timeout_ms"]:
            return None
        left = known["until"] - self.clock()
        if left <= 0:
            return None
        calls = f"{known['calls']:.0f} times in a row and is left alone for {left:.0f} s"
        named = mask_secrets(self.key[0])
        return {
            "problem": f"the model gateway at {named} gave no answer in time {calls}",
            "hint": "Look at its log, or raise the setting timeouts_ms.",
        }

    def learn(self, is_late: bool) -> None:
        """Remember how the call ended; an answer, whatever it says, ends the memory."""
        known = self.memory.pop(self.key, None)
        if not is_late:
            return
        if known is None or self.timeout_ms >= 2 * known["timeout_ms"]:
            known = {"calls": 0, "timeout_ms": self.timeout_ms, "until": 0.0}
        if len(self.memory) >= MOST_KEPT:
            self.memory.clear()
        self.memory[self.key] = known
        if 2 * self.timeout_ms > known["timeout_ms"]:  # one with far less time proves nothing
            known["calls"] += 1
            if known["calls"] >= LATE_CALLS:
                rest = FIRST_REST_SECONDS * 2 ** (known["calls"] - LATE_CALLS)
                known["until"] = self.clock() + min(rest, LONGEST_REST_SECONDS)


def late_gateway(
    memory: MutableMapping[tuple[str, str], dict[str, float]],
    request: Any,
    clock: Callable[[], float],
) -> LateGateway:
    """Return what decides whether a request is sent, and learns from how it ends.

    `memory` is the session's, by address and path: how many calls in a row were late, their
    timeout_ms, and until when (by `clock`, in seconds) the gateway is left alone: 5 s after three,
    twice as long after each that is late then, 60 s at most.
    """
    return LateGateway(memory, request, clock)
