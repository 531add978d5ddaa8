"""Changes of attached tables that wait at a coordinator, brought to its shards.

The outbox has keys; rows are read when they are brought, after the shard is locked for it. So a
batch is right whenever it comes, and a second time nothing changes. Whoever was killed between the
shard and the outbox left no more than entries that are looked at once more.
"""

import json
from contextlib import suppress

import psycopg

from pgblend.cli.base.database import Connection, connect, fetch_rows, fetch_value, translate
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.places import StorePlace, find_places, give_each

# Edges that lead from one shard to another, brought up to date with what changed on shards.

_SETTLE = "SELECT pgblend._settle_graph()"


def settle_some(coordinator: Connection) -> int:
    """Look at some changes; return how many those were, 0 where nothing is left."""
    return int(fetch_value(coordinator, _SETTLE))


def settle_graph(coordinator: Connection) -> None:
    """Look at all changes; nothing on one node."""
    while settle_some(coordinator):
        pass


_COLLECTIONS = """
    SELECT a.collection_id, a.table_name FROM pgblend_data.attached_table AS a
    WHERE EXISTS (
        SELECT FROM pgblend_data.shard_outbox AS o
        INNER JOIN pgblend_data.shard_bucket AS b ON o.bucket = b.bucket
        WHERE o.collection_id = a.collection_id AND b.shard = %(number)s)
    ORDER BY a.id
"""
_VERSION = "SELECT f.version FROM pgblend_data.shard_front AS f"
_CLAIM = "SELECT pgblend._claim_rows(%(number)s, %(version)s, %(collection)s)"
_TAKE = """
    SELECT w.ids, w.keys, w.rows, w.foreign_keys::text AS foreign_keys, w.buckets
    FROM pgblend._waiting_rows(%(collection)s, %(number)s, %(key)s::text) AS w
"""
_APPLY = """
    SELECT pgblend._apply_rows(
        %(collection)s, %(keys)s::text[], %(rows)s::jsonb, %(foreign_keys)s::jsonb)
"""
_KEYS = """
    SELECT coalesce(array_agg(d.source_key), '{}') FROM pgblend_data.document AS d
    WHERE d.collection_id = %(collection)s AND d.bucket = ANY(%(buckets)s::smallint[])
"""
_NOTE = "SELECT pgblend._note_orphans(%(collection)s, %(keys)s::text[])"
_DONE = "DELETE FROM pgblend_data.shard_outbox AS o WHERE o.id = ANY(%(ids)s::bigint[])"
_WAITING = """
    SELECT count(*) AS waiting, min(o.noted_at) AS waiting_since
    FROM pgblend_data.shard_outbox AS o
    INNER JOIN pgblend_data.shard_bucket AS b ON o.bucket = b.bucket
    WHERE b.shard = %(number)s
"""


def deliver_changes(coordinator: Connection) -> None:
    """Bring all that waits to all shards; nothing on one node.

    The first error of a shard is raised after the others have got theirs.
    """
    give_each(find_places(coordinator), lambda place: deliver(coordinator, place))


def deliver(coordinator: Connection, place: StorePlace) -> int:
    """Bring a shard all that waits for it; return how many entries that were."""
    if not fetch_rows(coordinator, _COLLECTIONS, {"number": place.number}):
        return 0
    done = 0
    with connect(place.url) as shard:
        while brought := deliver_batch(coordinator, shard, place):
            done += brought
    return done


def deliver_batch(coordinator: Connection, shard: Connection, place: StorePlace) -> int:
    """Bring a batch of each attached table to a shard; return how many entries that were.

    A table that cannot be brought stops no other: UserError where there is nothing else.
    """
    done, errors = 0, list[UserError]()
    for row in fetch_rows(coordinator, _COLLECTIONS, {"number": place.number}):
        try:
            done += _deliver_rows(coordinator, shard, place.number, row["collection_id"])
        except psycopg.Error as error:
            problem = translate(error)
            if problem is None or shard.closed or coordinator.closed:
                raise
            told = f"changes of {row['table_name']} wait: {problem.message}"
            errors.append(UserError(told, problem.hint, problem.exit_code))
    if errors and not done:
        raise errors[0]
    return done


def waiting_for(coordinator: Connection, place: StorePlace) -> dict[str, object]:
    """Return how many changes wait for a shard, and since when."""
    (row,) = fetch_rows(coordinator, _WAITING, {"number": place.number})
    return row


def _deliver_rows(coordinator: Connection, shard: Connection, number: int, collection: int) -> int:
    """Bring a batch, or one by one where that fails: the error is raised where none could be."""
    given = {"number": number, "collection": collection}
    try:
        return _deliver_keys(coordinator, shard, given | {"key": None})
    except psycopg.Error:
        if shard.closed or coordinator.closed:
            raise
        (refused,) = fetch_rows(coordinator, _TAKE, given | {"key": None})
        done = 0
        for key in refused["keys"] or ():
            with suppress(psycopg.Error):
                done += _deliver_keys(coordinator, shard, given | {"key": key})
        if not done:
            raise
        return done


def _deliver_keys(coordinator: Connection, shard: Connection, given: dict[str, object]) -> int:
    """Bring what waits: the shard commits, then the entries are deleted."""
    with coordinator.transaction():
        with shard.transaction():
            version = fetch_value(coordinator, _VERSION)
            fetch_rows(shard, _CLAIM, given | {"version": version})
            (taken,) = fetch_rows(coordinator, _TAKE, given)
            if taken["keys"]:
                rows = {"keys": taken["keys"], "rows": json.dumps(taken["rows"])}
                fetch_rows(shard, _APPLY, given | rows | {"foreign_keys": taken["foreign_keys"]})
            elif taken["buckets"]:
                keys = fetch_value(shard, _KEYS, given | {"buckets": taken["buckets"]})
                fetch_rows(coordinator, _NOTE, given | {"keys": keys})
        ids = taken["ids"] or []
        coordinator.execute(_DONE, {"ids": ids})
    return len(ids)
