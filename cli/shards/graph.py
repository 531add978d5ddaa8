"""Edges that lead from one shard to another, brought up to date with what changed on shards."""

from pgblend.cli.database import Connection, fetch_value

_SETTLE = "SELECT pgblend._settle_graph()"


def settle_some(coordinator: Connection) -> int:
    """Look at some changes; return how many those were, 0 where nothing is left."""
    return int(fetch_value(coordinator, _SETTLE))


def settle_graph(coordinator: Connection) -> None:
    """Look at all changes; nothing on one node."""
    while settle_some(coordinator):
        pass
