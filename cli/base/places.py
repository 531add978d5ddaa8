"""The databases that have a store's documents, and what all of them are given.

Documents are in the database that is searched, or at places: shards, of which that one is the
coordinator and has none itself.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, LiteralString

from pgblend.cli.base.database import (
    Connection,
    connect,
    fetch_rows,
    fetch_value,
    open_database,
    translate,
    whole_url,
)
from pgblend.cli.base.errors import UserError

_PLACES = """
    SELECT s.number, s.name, coalesce(s.direct, o.option_value) AS place, u.umoptions AS login
    FROM pgblend_data.shard AS s
    CROSS JOIN pg_catalog.pg_foreign_server AS f
    CROSS JOIN LATERAL pg_catalog.pg_options_to_table(f.srvoptions) AS o
    LEFT JOIN pg_catalog.pg_user_mappings AS u ON u.srvid = f.oid AND u.usename = current_user
    WHERE f.srvname = 'pgblend_shards' AND o.option_name = 'p' || s.number
    ORDER BY s.number
"""
_OF_KEYS = """
    SELECT q.place - 1 AS position, b.shard AS number
    FROM unnest(%(keys)s::text[]) WITH ORDINALITY AS q (k, place)
    INNER JOIN pgblend_data.shard_bucket AS b
        ON b.bucket = pgblend._bucket(%(collection_id)s::bigint, q.k)
    ORDER BY q.place
"""


# The SQLSTATE of a place that is being split or moved: it takes nothing.
MOVED = "PB016"


@dataclass(frozen=True)
class StorePlace:
    """A database with documents, and the URL by which the command's own role reaches it."""

    number: int
    name: str
    url: str


def find_places(connection: Connection) -> list[StorePlace]:
    """Return the places of documents, none where this database has them."""
    rows = fetch_rows(connection, _PLACES)
    return [StorePlace(row["number"], row["name"], url_of(row)) for row in rows]


def places_of_keys(
    connection: Connection, collection_id: int, keys: Sequence[str]
) -> dict[int, list[int]]:
    """Return the positions of source keys in the list, by the number of their documents' place."""
    found: dict[int, list[int]] = {}
    for row in fetch_rows(connection, _OF_KEYS, {"keys": [*keys], "collection_id": collection_id}):
        found.setdefault(row["number"], []).append(row["position"])
    return found


def still_moving() -> UserError:
    """Say that a place has been moving for too long."""
    return UserError(
        "a shard that is being split or moved takes no documents",
        hint="pgblend shards status says which: run the split again, then this",
    )


@contextmanager
def databases_with_documents(connection: Connection) -> Iterator[list[Connection]]:
    """Connect to the databases that have the documents: to shards, or else it is this one."""
    with ExitStack() as shards:
        yield [shards.enter_context(connect(place.url)) for place in find_places(connection)] or [
            connection
        ]


def url_of(row: dict[str, Any]) -> str:
    """Return a shard's URL with the login of the user mapping."""
    login = dict(option.split("=", 1) for option in row["login"] or ())
    return whole_url(row["place"], user=login.get("user"), password=login.get("password"))


def give_each(places: list[StorePlace], give: Callable[[StorePlace], object]) -> None:
    """Give each shard something; the first error is raised after the others have got theirs."""
    errors: list[UserError] = []
    for place in places:
        try:
            give(place)
        except Exception as error:
            problem = error if isinstance(error, UserError) else translate(error)
            if problem is None:
                raise
            errors.append(
                UserError(
                    f"shard {place.name} did not get the change: {problem.message}",
                    hint="the coordinator has it: pgblend shards push, or pgblend worker, "
                    "tries again",
                    exit_code=problem.exit_code,
                )
            )
    if errors:
        raise errors[0]


# What places have a copy of: collections, grants, settings, profiles, embedding spaces.

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


def push_front(coordinator: Connection, place: StorePlace) -> int:
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
