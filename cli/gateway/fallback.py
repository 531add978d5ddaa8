"""Asking the next model where one gives no answer."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from pgblend.cli.gateway.deadline import Deadline
from pgblend.cli.gateway.errors import GatewayError

# Not among them: what is wrong with the question, which the next model would be asked in vain.
_NEXT = {
    "circuit_open",
    "local_model_failed",
    "local_model_missing",
    "model_not_found",
    "provider_bad_response",
    "provider_busy",
    "provider_error",
    "provider_key_missing",
    "provider_key_rejected",
    "provider_rate_limit",
    "provider_timeout",
    "provider_unreachable",
}
_Answer = TypeVar("_Answer")


async def first_answer(
    models: Sequence[str], deadline: Deadline, ask: Callable[[str, Deadline], Awaitable[_Answer]]
) -> _Answer:
    """Return the answer of the first model that gives one; the first one's error where none does.

    The time that is left is shared out evenly, so that one that hangs leaves some to the others.
    """
    first_error: GatewayError | None = None
    for left, model in zip(range(len(models), 0, -1), models, strict=True):
        try:
            return await ask(model, deadline.share(left))
        except GatewayError as error:
            first_error = first_error or error
            if error.code not in _NEXT:
                break
    assert first_error
    raise first_error
