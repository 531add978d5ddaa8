"""Split a shard, or move it: new databases get its documents, and then its buckets."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from pgblend.cli.database import Connection, connect, fetch_rows, fetch_value, whole_url
from pgblend.cli.errors import UserError
from pgblend.cli.shards.check import check_asks_password
from pgblend.cli.shards.copy_documents import copy_changes, copy_graph
from pgblend.cli.shards.front import push_front
from pgblend.cli.shards.places import (
    Place,
    become_shard,
    given_places,
    places_of,
    ways_to,
    with_one_login,
    without_login,
)

_BUCKETS = """
    SELECT b.bucket FROM pgblend_data.shard_bucket AS b WHERE b.shard = %(number)s ORDER BY b.bucket
"""
_NUMBER = "SELECT s.number FROM pgblend_data.shard_self AS s"
_REFUSE = "UPDATE pgblend_data.shard_self SET is_moved = %(is_moved)s"
_REPLACE = """
    SELECT pgblend._replace_shard(
        %(former)s, %(version)s, %(numbers)s::integer[], %(names)s::text[],
        %(connections)s::text[], %(directs)s::text[], %(buckets)s::smallint[],
        %(owners)s::integer[])
"""
_CLEAR = "TRUNCATE pgblend_data.shard_copy"
# No write waits for such a lock, and two commands cannot have it.
_LOCK = """
    SET LOCAL lock_timeout = '5s';
    SET LOCAL idle_in_transaction_session_timeout = 0;
    LOCK TABLE pgblend_data.shard_self IN SHARE UPDATE EXCLUSIVE MODE
"""
_IS_CLAIMED = "SELECT true"
_LOCK_NOT_AVAILABLE = "55P03"
_FEW = 200
_BUCKETS_IN_ALL = 4096
_MOST_PASSES = 10


@dataclass(frozen=True)
class Half:
    """A new shard, how it is reached without a login (places.Ways), and the buckets it gets."""

    place: Place
    connection: str
    direct: str | None
    buckets: list[int]


def split_shard(
    coordinator: Connection,
    name: str,
    pairs: tuple[str, ...],
    pooler: str | None,
    say: Callable[[str], None],
) -> None:
    """Let new shards have what a shard has.

    Searches and writes go on while it is copied; writes to this shard wait while the last changes
    are. Killed in the middle, it is run again, and goes on.
    """
    with claimed(coordinator, name) as (claim, former), only_one(coordinator):
        _split(coordinator, former, halves_of(coordinator, former, pairs, pooler), claim, say)


def cancel_split(coordinator: Connection, name: str) -> None:
    """Let a shard take changes again whose split was begun, and does not run any more."""
    with claimed(coordinator, name) as (_, former):
        refuse_changes(former, False)


@contextmanager
def claimed(coordinator: Connection, name: str) -> Iterator[tuple[Connection, Place]]:
    """Let no other command split a shard, or cancel that: documents stored meanwhile would be lost.

    Yields the connection that holds the claim, as long as the command runs, and the shard.
    """
    place = place_named(coordinator, name)
    with locked(place.url, f"shard {name} is being split by another command") as claim:
        if place_named(coordinator, name) != place:
            raise UserError(f"shard {name} was changed by another command", hint="run this again")
        yield claim, place


def only_one(coordinator: Connection) -> AbstractContextManager[Connection]:
    """Let no other shard of a coordinator be split: the new ones would get the same numbers."""
    url = whole_url(coordinator.info.dsn, password=coordinator.info.password or None)
    return locked(url, "another shard of this coordinator is being split")


@contextmanager
def locked(url: str, problem: str) -> Iterator[Connection]:
    """Hold a lock in a database that nothing else takes; UserError where another has it."""
    with connect(url) as connection, connection.transaction():
        try:
            connection.execute(_LOCK)
        except Exception as error:
            if getattr(error, "sqlstate", None) != _LOCK_NOT_AVAILABLE:
                raise
            raise UserError(
                problem, hint="wait until that has ended, or end it; then run this again"
            ) from error
        yield connection


def _split(
    coordinator: Connection,
    former: Place,
    halves: list[Half],
    claim: Connection,
    say: Callable[[str], None],
) -> None:
    for half in halves:
        check_asks_password(coordinator, half.place.name, half.place.url)
        become_shard(half.place)
        push_front(coordinator, half.place)
    for _ in range(_MOST_PASSES):
        count = copy_all(former, halves)
        say(f"copied {count:,} documents")
        if count <= _FEW:
            break
    refuse_changes(former, True)
    while count := copy_all(former, halves):
        say(f"copied {count:,} more documents")
    for half in halves:
        copy_graph(former.url, half.place.url, elsewhere(half, halves))
    versions = [push_front(coordinator, half.place) for half in halves]
    owned = [(bucket, half.place.number) for half in halves for bucket in half.buckets]
    replaced = {
        "former": former.number,
        "version": min(versions),
        "numbers": [half.place.number for half in halves],
        "names": [half.place.name for half in halves],
        "connections": [half.connection for half in halves],
        "directs": [half.direct for half in halves],
        "buckets": [bucket for bucket, _ in owned],
        "owners": [owner for _, owner in owned],
    }
    claim.execute(_IS_CLAIMED)  # an error where the connection broke, and another may have it
    fetch_rows(coordinator, _REPLACE, replaced)
    for half in halves:
        with connect(half.place.url) as shard:
            shard.execute(_CLEAR)
        say(f"shard {half.place.number}: {half.place.name}, {len(half.buckets):,} buckets")


def place_named(coordinator: Connection, name: str) -> Place:
    """Return the shard of a name."""
    places = places_of(coordinator)
    for place in places:
        if place.name == name:
            return place
    raise UserError(
        f"there is no shard {name!r}",
        hint=f"there are: {', '.join(place.name for place in places)}",
    )


def halves_of(
    coordinator: Connection, former: Place, pairs: tuple[str, ...], pooler: str | None
) -> list[Half]:
    """Deal a shard's buckets evenly to new shards, whose numbers are the next ones."""
    known = places_of(coordinator)
    given = given_places(pairs)
    connections, login = with_one_login(given)
    if login.get("user") != without_login(known[0].url)[1].get("user"):
        raise UserError(
            "the new shards have another user than those that there are",
            hint="one login holds for all shards: give it in each URL",
        )
    ways = ways_to(given, connections, pooler)
    taken = {place.name for place in known} & given.keys()
    if taken:
        raise UserError(f"there is a shard {min(taken)!r} already", hint="give it a new name")
    buckets = [
        row["bucket"] for row in fetch_rows(coordinator, _BUCKETS, {"number": former.number})
    ]
    first = max(place.number for place in known) + 1
    count = len(given)
    return [
        Half(
            Place(first + place, name, given[name]),
            ways.connections[place],
            ways.directs[place],
            buckets[len(buckets) * place // count : len(buckets) * (place + 1) // count],
        )
        for place, name in enumerate(given)
    ]


def elsewhere(half: Half, halves: list[Half]) -> list[int]:
    """Return the buckets of entities that a new shard does not get; the first has the rest."""
    if half is halves[0]:
        return [bucket for other in halves[1:] for bucket in other.buckets]
    return sorted({*range(_BUCKETS_IN_ALL)} - {*half.buckets})


def copy_all(former: Place, halves: list[Half]) -> int:
    """Copy what has changed; return of how many documents."""
    return sum(copy_changes(former.url, half.place.url, half.buckets) for half in halves)


def refuse_changes(place: Place, is_moved: bool) -> None:
    """Have a shard refuse changes of documents, after those that have begun; or not any more."""
    with connect(place.url) as shard:
        if fetch_value(shard, _NUMBER) != place.number:
            raise UserError(f"{place.name} is not this coordinator's shard {place.number}")
        shard.execute(_REFUSE, {"is_moved": is_moved})
