"""`pgblend mcp`: the server on standard input and output, with the rights of its own connection."""

import asyncio
from collections.abc import Collection

from mcp.server.stdio import stdio_server

from pgblend.cli.search_models import Query
from pgblend.cli.serve.door import Caller, Door, Rows
from pgblend.cli.serve.mcp.server import Rights, create_server
from pgblend.cli.serve.pool import Pool
from pgblend.cli.serve.problems import Problem

_CONNECTIONS = 2
_WAIT_SECONDS = 5.0


class OwnDoor(Door):
    """A door for one caller, who has the role of the connection and these scopes."""

    def __init__(self, pool: Pool, scopes: Collection[str]) -> None:
        super().__init__(pool)
        self._scopes = scopes

    async def run(self, caller: Caller, *queries: Query) -> list[Rows]:
        """Return each query's rows: one transaction, as the role that connected."""
        if caller.scope not in self._scopes:
            detail = f"this server was started for {', '.join(self._scopes)}, not {caller.scope}"
            hint = f"start it with --scope {caller.scope}, too, if the user wants that"
            raise Problem(403, "missing-scope", detail, hint=hint)
        results, warnings = await self.pool.run_as_login(queries)
        caller.warnings += [w for w in warnings if w not in caller.warnings]
        return results


def serve_stdio(database_url: str, scopes: Collection[str]) -> None:
    """Serve until standard input ends."""
    asyncio.run(_serve(database_url, scopes))


async def _serve(database_url: str, scopes: Collection[str]) -> None:
    door = OwnDoor(Pool(database_url, _CONNECTIONS, _WAIT_SECONDS), scopes)
    rights = Rights("", frozenset(scopes))
    server = create_server(door, lambda _: rights)
    await door.pool.open()
    try:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
    finally:
        await door.close()
