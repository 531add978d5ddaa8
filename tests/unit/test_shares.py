"""Places for connections: a token that asks for all leaves some, and who has fewest is next."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from pgblend.cli.doors.shares import NoShareError, Shares


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 30))


class Calls:
    """Calls that hold a place until they are let go."""

    def __init__(self, shares: Shares) -> None:
        self.shares = shares
        self.running: list[str] = []
        self.ends: list[asyncio.Event] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def begin(self, *names: str) -> list[str]:
        """Begin calls; return whose are running."""
        for name in names:
            self.tasks.append(asyncio.create_task(self._hold(name)))
        await asyncio.sleep(0.01)
        return sorted(self.running)

    async def _hold(self, name: str) -> None:
        async with self.shares.place(name):
            end = asyncio.Event()
            self.ends.append(end)
            self.running.append(name)
            try:
                await end.wait()
            finally:
                self.running.remove(name)

    async def end_one(self) -> list[str]:
        self.ends.pop(0).set()
        await asyncio.sleep(0.01)
        return sorted(self.running)


def test_one_token_has_three_quarters_at_most() -> None:
    async def work() -> None:
        calls = Calls(Shares(8, 30, 100))
        assert await calls.begin(*["a"] * 16) == ["a"] * 6
        assert await calls.begin("b") == ["a"] * 6 + ["b"]
        assert await calls.begin("") == ["", *["a"] * 6, "b"]  # what the server asks

    run(work())


@pytest.mark.parametrize(("size", "most"), [(1, 1), (2, 1), (4, 3), (8, 6), (100, 75)])
def test_small_pools_and_large_ones(size: int, most: int) -> None:
    async def work() -> None:
        assert len(await Calls(Shares(size, 30, 1000)).begin(*["a"] * 200)) == most

    run(work())


def test_who_has_fewest_is_next() -> None:
    async def work() -> None:
        calls = Calls(Shares(4, 30, 100))
        assert await calls.begin(*["a"] * 10, "b") == ["a", "a", "a", "b"]
        assert await calls.begin(*["b"] * 5, "c") == ["a", "a", "a", "b"]
        assert await calls.end_one() == ["a", "a", "b", "c"]
        assert await calls.end_one() == ["a", "a", "b", "c"]  # who waits longer, of two with one

    run(work())


def test_who_leaves_or_waits_too_long_keeps_nothing() -> None:
    async def work() -> None:
        calls = Calls(Shares(2, 0.05, 2))
        assert await calls.begin("a", "a", "a") == ["a"]
        with pytest.raises(NoShareError):  # two wait, which is all that may
            async with calls.shares.place("a"):
                pass
        calls.tasks[1].cancel()
        await asyncio.sleep(0.2)
        assert isinstance(calls.tasks[2].exception(), NoShareError)
        await calls.end_one()
        assert await calls.begin("a", "b") == ["a", "b"]

    run(work())
