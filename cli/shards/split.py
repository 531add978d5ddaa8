"""Split a shard, or move it: new databases get its documents, and then its buckets."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pgblend.cli.base.database import Connection, connect, fetch_rows, fetch_value, whole_url
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.places import StorePlace, push_front
from pgblend.cli.shards.members import (
    become_shard,
    check_asks_password,
    given_places,
    places_of,
    ways_to,
    with_one_login,
    without_login,
)

# Documents of some buckets, from a shard to one that is not searched yet.
#
# A pass copies what changed since the last one. So it may be killed, and the next goes on. The rows
# go in by the target's own triggers, which index them.

_BATCH = 200
_SNAPSHOT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_MARKERS = "SELECT m.document_id, m.marker FROM pgblend._document_markers(%s::smallint[]) AS m"
_COPIED = "SELECT c.document_id, c.marker FROM pgblend_data.shard_copy AS c ORDER BY c.document_id"
# Whole rows of documents, in the order of their keys. What belongs to a worker or says where a link
# leads is found anew.
_TABLES = """
    SELECT quote_ident(t.name) AS name, t.key,
        string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns,
        string_agg(CASE WHEN a.attname IN ('worker', 'target_document_id') THEN 'NULL'
            ELSE quote_ident(a.attname) END, ', ' ORDER BY a.attnum) AS columns_given
    FROM (
        VALUES (1, 'document', 'id'), (2, 'chunk', 'document_id'), (3, 'link', 'document_id'),
            (4, 'document_summary', 'document_id'), (5, 'embedding_queue', 'document_id'),
            (7, 'key_reference', 'document_id')
        UNION ALL
        SELECT 6, s.table_name, 'document_id' FROM pgblend_data.embedding_space AS s
    ) AS t (place, name, key)
    INNER JOIN pg_catalog.pg_attribute AS a
        ON a.attrelid = format('pgblend_data.%I', t.name)::regclass
        AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
    GROUP BY t.place, t.name, t.key
    ORDER BY t.place, t.name
"""
_DELETE = """
    DELETE FROM pgblend_data.document AS d WHERE d.id = ANY(%(ids)s);
"""
_NOTHING_WAITS = """
    DELETE FROM pgblend_data.embedding_queue AS q
    USING pgblend_data.chunk AS c
    WHERE q.chunk_id = c.id AND c.document_id = ANY(%(ids)s)
"""
_NO_SUMMARIES = "DELETE FROM pgblend_data.document_summary AS s WHERE s.document_id = ANY(%(ids)s)"
_FORGET = "DELETE FROM pgblend_data.shard_copy AS c WHERE c.document_id = ANY(%(ids)s)"
_NOTE = """
    INSERT INTO pgblend_data.shard_copy (document_id, marker)
    SELECT m.id, m.marker FROM unnest(%(ids)s::bigint[], %(markers)s::bigint[]) AS m (id, marker)
    WHERE m.marker IS NOT NULL
"""
_STAGE = """
    CREATE TEMP TABLE IF NOT EXISTS {0}_stage (LIKE pgblend_data.{0}) ON COMMIT DELETE ROWS
"""
# An edge is where the document is that says so, else its source; what it leads to may be elsewhere.
_STORE_GRAPH = """
    DELETE FROM pgblend_data.edge;
    INSERT INTO pgblend_data.entity OVERRIDING SYSTEM VALUE
    SELECT s.* FROM pg_temp.entity_stage AS s
    ON CONFLICT DO NOTHING;
    INSERT INTO pgblend_data.edge
    SELECT s.* FROM pg_temp.edge_stage AS s
    WHERE EXISTS (
        SELECT FROM pgblend._node_facts(ARRAY[CASE
            WHEN s.document_id <> 0 THEN s.document_id * 4
            WHEN s.is_reverse THEN s.neighbour
            ELSE s.node END]));
    UPDATE pgblend_data.link AS l SET target_document_id = s.target_document_id
    FROM pg_temp.link_stage AS s
    WHERE l.id = s.id AND l.target_document_id IS DISTINCT FROM s.target_document_id;
    INSERT INTO pgblend_data.entity_extraction SELECT s.* FROM pg_temp.entity_extraction_stage AS s
    ON CONFLICT DO NOTHING;
    DELETE FROM pgblend_data.graph_change
"""

_NO_MORE: tuple[Any, None] = (math.inf, None)  # comes after all documents

Change = tuple[Any, int | None]


def copy_changes(source_url: str, target_url: str, buckets: Sequence[int]) -> int:
    """Give the target what the source has of the buckets now; return how many documents changed."""
    count = 0
    with (
        connect(source_url) as source,
        connect(target_url) as target,
        connect(target_url) as copied,
        source.transaction(),
        copied.transaction(),
    ):
        source.execute(_SNAPSHOT)
        tables = fetch_rows(target, _TABLES)
        with source.cursor("markers") as there, copied.cursor("copied") as here:
            there.execute(_MARKERS, [list(buckets)])
            here.execute(_COPIED)
            changes = differences(there, here)
            while batch := list(islice(changes, _BATCH)):
                with target.transaction():
                    _copy_documents(source, target, tables, batch)
                count += len(batch)
    return count


def differences(there: Iterator[Any], here: Iterator[Any]) -> Iterator[Change]:
    """Yield the documents, in the order of both, whose markers differ; None where one is gone."""
    own, other = next(there, _NO_MORE), next(here, _NO_MORE)
    while own != other or own is not _NO_MORE:
        if own[0] < other[0]:
            yield own
            own = next(there, _NO_MORE)
        elif other[0] < own[0]:
            yield other[0], None
            other = next(here, _NO_MORE)
        else:
            if own != other:
                yield own
            own, other = next(there, _NO_MORE), next(here, _NO_MORE)


def copy_graph(source_url: str, target_url: str, elsewhere: Sequence[int]) -> None:
    """Give the target the edges of what it has, and entities whose buckets are not elsewhere.

    Where links lead, and what the coordinator has not looked at yet, comes along.
    """
    others = ", ".join(map(str, elsewhere)) or "NULL"
    conditions = {"entity": f"bucket IN ({others}) IS NOT TRUE"}
    with connect(source_url) as source, connect(target_url) as target, target.transaction():
        for table in ("entity", "entity_extraction", "edge", "link"):
            target.execute(_STAGE.format(table).encode())
            rows = f"SELECT * FROM pgblend_data.{table} WHERE {conditions.get(table, 'true')}"
            _copy(source, target, rows, f"pg_temp.{table}_stage")
        target.execute(_STORE_GRAPH.encode())
        rows = "SELECT * FROM pgblend_data.graph_change"
        _copy(source, target, rows, "pgblend_data.graph_change")


def _copy_documents(
    source: Connection, target: Connection, tables: list[dict[str, Any]], batch: list[Change]
) -> None:
    given = {"ids": [number for number, _ in batch], "markers": [marker for _, marker in batch]}
    for statement in (_DELETE, _FORGET):
        target.execute(statement, given)
    numbers = ", ".join(str(number) for number, _ in batch)
    for table in tables:
        if table["name"] == "document_summary":
            target.execute(_NO_SUMMARIES, given)
        elif table["name"] == "embedding_queue":
            target.execute(_NOTHING_WAITS, given)
        rows = (
            f"SELECT {table['columns_given']} FROM pgblend_data.{table['name']}"
            f" WHERE {table['key']} IN ({numbers})"
        )
        _copy(source, target, rows, f"pgblend_data.{table['name']} ({table['columns']})")
    target.execute(_NOTE, given)


def _copy(source: Connection, target: Connection, rows: str, into: str) -> None:
    with (
        source.cursor().copy(f"COPY ({rows}) TO STDOUT".encode()) as out,
        target.cursor().copy(f"COPY {into} FROM STDIN".encode()) as back,
    ):
        for data in out:
            back.write(data)


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

    place: StorePlace
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
def claimed(coordinator: Connection, name: str) -> Iterator[tuple[Connection, StorePlace]]:
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
                problem, hint="wait until that has ended, or end it, then run this again"
            ) from error
        yield connection


def _split(
    coordinator: Connection,
    former: StorePlace,
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


def place_named(coordinator: Connection, name: str) -> StorePlace:
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
    coordinator: Connection, former: StorePlace, pairs: tuple[str, ...], pooler: str | None
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
            StorePlace(first + place, name, given[name]),
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


def copy_all(former: StorePlace, halves: list[Half]) -> int:
    """Copy what has changed; return of how many documents."""
    return sum(copy_changes(former.url, half.place.url, half.buckets) for half in halves)


def refuse_changes(place: StorePlace, is_moved: bool) -> None:
    """Have a shard refuse changes of documents, after those that have begun; or not any more."""
    with connect(place.url) as shard:
        if fetch_value(shard, _NUMBER) != place.number:
            raise UserError(f"{place.name} is not this coordinator's shard {place.number}")
        shard.execute(_REFUSE, {"is_moved": is_moved})
