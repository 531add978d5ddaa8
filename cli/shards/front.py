"""What shards have a copy of: collections, grants, settings, profiles, embedding spaces."""

import json

from pgblend.cli.database import Connection, connect, fetch_rows
from pgblend.cli.shards.places import Place

_FRONT = """
    SELECT f.version, pgblend._front() AS front FROM pgblend_data.shard_front AS f
"""
_APPLY = "SELECT pgblend._apply_front(%(number)s, %(version)s, %(front)s::jsonb)"


def push_front(coordinator: Connection, place: Place) -> int:
    """Give a shard the coordinator's front in one transaction; return its version."""
    (row,) = fetch_rows(coordinator, _FRONT)
    given = {"number": place.number, "version": row["version"], "front": json.dumps(row["front"])}
    with connect(place.url) as shard, shard.transaction():
        fetch_rows(shard, _APPLY, given)
    return int(row["version"])
