"""What shards have a copy of: collections, grants, settings, profiles, embedding spaces."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, LiteralString

from pgblend.cli.database import Connection, connect, fetch_rows, fetch_value, open_database
from pgblend.cli.shards.places import Place, find_places, give_each

_FRONT = """
    SELECT f.version, pgblend._front() AS front FROM pgblend_data.shard_front AS f
"""
_APPLY = "SELECT pgblend._apply_front(%(number)s, %(version)s, %(front)s::jsonb)"
_NOTE = "SELECT pgblend._note_pushed(%(number)s, %(version)s)"
_LACKING = """
    SELECT s.number FROM pgblend_data.shard AS s
    CROSS JOIN pgblend_data.shard_front AS f
    WHERE s.pushed_version < f.version
"""


def push_front(coordinator: Connection, place: Place) -> int:
    """Give a shard the coordinator's front in one transaction; return its version."""
    (row,) = fetch_rows(coordinator, _FRONT)
    given = {"number": place.number, "version": row["version"], "front": json.dumps(row["front"])}
    with connect(place.url) as shard, shard.transaction():
        fetch_rows(shard, _APPLY, given)
    coordinator.execute(_NOTE, given)
    return int(row["version"])


def push_changes(coordinator: Connection) -> int:
    """Give shards what they lack; return how many lacked some, none where there are no shards.

    The first error of a shard is raised after the others have got theirs.
    """
    lacking = {row["number"] for row in fetch_rows(coordinator, _LACKING)}
    places = find_places(coordinator) if lacking else []
    give_each(
        [place for place in places if place.number in lacking],
        lambda place: push_front(coordinator, place),
    )
    return len(lacking)


def change(option: str | None, sql: LiteralString, parameters: Mapping[str, object]) -> Any:
    """Connect, run a statement that changes the front and gives a value; shards get the change."""
    with changing_front(option) as connection:
        return fetch_value(connection, sql, parameters)


@contextmanager
def changing_front(option: str | None) -> Iterator[Connection]:
    """Connect for changes of what shards have a copy of, which get them at the end."""
    with open_database(option) as connection:
        yield connection
        push_changes(connection)
