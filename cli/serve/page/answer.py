"""The page's answer as it grows: server-sent events, which take nothing back."""

from collections.abc import AsyncGenerator
from typing import Any

from pgblend.cli.serve.answers import answer_events, ask_parameters
from pgblend.cli.serve.door import Caller, Door
from pgblend.cli.serve.events import event
from pgblend.cli.serve.problems import Problem


async def stream(door: Door, caller: Caller, given: dict[str, Any]) -> AsyncGenerator[bytes, None]:
    """Yield {"text"} of each checked sentence, then {"document"}: what /v1/ask answers."""
    async for told in answer_events(door, caller, ask_parameters(given)):
        yield event({"text": told} if isinstance(told, str) else {"document": told})


def error_event(problem: Problem) -> bytes:
    """Return the event that tells of a failure after the first sentence."""
    return event({"problem": problem.body()})
