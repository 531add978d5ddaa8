"""Waiting until a standby has replayed what a search asks for (the option wait_for).

A search cannot wait itself: its snapshot is taken before. So who asks waits, with no snapshot open.
The search says how far behind the standby is where that was in vain.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import Any, LiteralString

from pgblend.cli.base.database import Connection, fetch_value
from pgblend.plpy.base.catalog import CATALOG, LSN

IS_REPLAYED: LiteralString = """
    SELECT NOT pg_is_in_recovery() OR pg_last_wal_replay_lsn() >= %(lsn)s::pg_lsn AS is_replayed
"""
_PAUSE_SECONDS = 0.02


def wait_for_changes(connection: Connection, options: Mapping[str, Any]) -> None:
    """Wait as long as a search by these options may take."""
    for place in _looks(options):
        if fetch_value(connection, IS_REPLAYED, {"lsn": place}):
            return
        time.sleep(_PAUSE_SECONDS)


async def changes_come(
    is_replayed: Callable[[str], Awaitable[bool]], options: Mapping[str, Any]
) -> None:
    """Wait as wait_for_changes does, and let others work meanwhile."""
    for place in _looks(options):
        if await is_replayed(place):
            return
        await asyncio.sleep(_PAUSE_SECONDS)


def _looks(options: Mapping[str, Any]) -> Generator[str, None, None]:
    """Yield what to wait for as often as there is time to look; what is wrong the search says."""
    place, limits = options.get("wait_for"), options.get("timeouts_ms")
    if not isinstance(place, str) or not re.search(LSN.form, place):
        return
    given = limits.get("total") if isinstance(limits, dict) else None
    most_ms = given if isinstance(given, int | float) else CATALOG["timeouts_ms"].default["total"]
    until = time.monotonic() + most_ms / 1000
    while time.monotonic() < until:
        yield place
