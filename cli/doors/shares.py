"""Connections among tokens: none has all of them, and who has fewest is next."""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_KEPT_FREE = 4  # one connection in so many is for others than the token that has most


class NoShareError(Exception):
    """None came free in time, or too many wait."""


class Shares:
    """So many places, which callers wait for by name; without a name nothing is kept from them."""

    def __init__(self, places: int, seconds: float, most_waiting: int) -> None:
        self._free = places
        self._most = places - max(1, places // _KEPT_FREE) if places > 1 else 1
        self._seconds = seconds
        self._most_waiting = most_waiting
        self._held: defaultdict[str, int] = defaultdict(int)
        # The name that has waited longest since it was last served comes first.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def place(self, name: str) -> AsyncIterator[None]:
        """Hold a place meanwhile; "" is what the server itself asks."""
        await self._take(name)
        try:
            yield
        finally:
            self._give(name)

    async def _take(self, name: str) -> None:
        if self._may_have(name):
            self._grant(name)
            return
        if sum(map(len, self._waiting.values())) >= self._most_waiting:
            raise NoShareError
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(name, deque()).append(turn)
        try:
            async with asyncio.timeout(self._seconds):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._give(name)
            else:
                self._leave(name, turn)
            if isinstance(error, TimeoutError):
                raise NoShareError from None
            raise

    def _may_have(self, name: str) -> bool:
        return self._free > 0 and (not name or self._held[name] < self._most)

    def _grant(self, name: str) -> None:
        self._free -= 1
        self._held[name] += 1

    def _give(self, name: str) -> None:
        self._free += 1
        self._held[name] -= 1
        if not self._held[name]:
            del self._held[name]
        self._hand_on()

    def _hand_on(self) -> None:
        while names := [name for name in self._waiting if self._may_have(name)]:
            name = min(names, key=lambda each: self._held[each])
            turns = self._waiting.pop(name)
            turn = turns.popleft()
            if turns:
                self._waiting[name] = turns
            if not turn.done():
                self._grant(name)
                turn.set_result(None)

    def _leave(self, name: str, turn: asyncio.Future[None]) -> None:
        turns = self._waiting.get(name)
        if turns and turn in turns:
            turns.remove(turn)
            if not turns:
                del self._waiting[name]
