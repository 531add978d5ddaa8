"""Batches of documents on their way into the database."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import chain
from types import TracebackType
from typing import Self

from pgblend.cli.base.database import Connection, connect, translate
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.places import MOVED, StorePlace, find_places, places_of_keys, still_moving
from pgblend.cli.documents.batch import CHUNK_COLUMNS, Batch, readers_json
from pgblend.cli.documents.parse_settings import ChunkSettings

# COPY takes the bulk, typed; one statement stores it.
_STAGE = """
    CREATE TEMP TABLE IF NOT EXISTS document_stage (
        place integer, expected_hash text, source_key text, title text, uri text, metadata jsonb,
        language text, content_hash text, media_type text, modified_at timestamptz, links jsonb,
        readers jsonb)
    ON COMMIT DELETE ROWS;
    CREATE TEMP TABLE IF NOT EXISTS chunk_stage (
        LIKE pgblend_data.given_chunk, number bigint GENERATED ALWAYS AS IDENTITY)
    ON COMMIT DELETE ROWS
"""
_COPY_DOCUMENTS = "COPY pg_temp.document_stage FROM STDIN"
_COPY_CHUNKS = f"COPY pg_temp.chunk_stage ({', '.join(CHUNK_COLUMNS)}) FROM STDIN"
# Asked after it was stored: what is made anew under its name has another id ever after.
_IS_SAME = """
    SELECT EXISTS (
        SELECT FROM pgblend_data.collection AS c
        WHERE c.id = %s AND c.name = normalize(%s::text))
"""
_STORE = "SELECT place, document_id, status, chunk_count FROM pgblend._store_staged(%s)"
# A statement for each part: what the server holds in memory does not grow with the document.
_CLEAR = "DELETE FROM pg_temp.chunk_stage"
_APPEND = "SELECT pgblend._append_staged(%s, %s)"
# Hashes, since a key may be longer than an index takes: its document then fails alone, later.
_SEEN = """
    CREATE TEMP TABLE IF NOT EXISTS ingest_seen (key_hash uuid PRIMARY KEY, owner_hash uuid)
"""
# The hashes of what is stored, and which source of this run had a key earlier, if any.
_LOOK_UP = """
    WITH asked AS (
        SELECT row_number() OVER () AS place, q.k, md5(q.k)::uuid AS key_hash,
            md5(q.owner)::uuid AS owner_hash
        FROM unnest(%(keys)s::text[], %(owners)s::text[]) AS q (k, owner)
    ), new_key AS (
        INSERT INTO pg_temp.ingest_seen
        SELECT a.key_hash, a.owner_hash FROM asked AS a ORDER BY a.place
        ON CONFLICT DO NOTHING
        RETURNING key_hash, owner_hash
    )
    SELECT d.content_hash, d.uri, CASE
        WHEN s.owner_hash = a.owner_hash THEN 'self'
        WHEN s.owner_hash IS NULL AND n.owner_hash = a.owner_hash THEN 'nobody'
        ELSE 'other' END, d.collection_id
    FROM asked AS a
    LEFT JOIN pg_temp.ingest_seen AS s ON s.key_hash = a.key_hash
    LEFT JOIN new_key AS n ON n.key_hash = a.key_hash
    LEFT JOIN pgblend_data.document AS d
        ON d.source_key = a.k
        AND d.collection_id = ANY(pgblend._compartments(%(collection_id)s))
    ORDER BY a.place
"""
# Of documents whose text is as it was; nothing is moved that has these readers.
_PLACE = """
    SELECT pgblend._place_documents(c, %s::text[], %s::jsonb[])
    FROM pgblend_data.collection AS c WHERE c.id = %s
"""
_FORGET = """
    DELETE FROM pg_temp.ingest_seen
    WHERE key_hash IN (SELECT md5(k)::uuid FROM unnest(%s::text[]) AS k)
"""
_MESSAGES = """
    SELECT d.source_key, d.content_hash, coalesce(array_agg(m.id) FILTER (WHERE m.id <> ''), '{}')
    FROM pgblend_data.document AS d
    LEFT JOIN pgblend_data.chunk AS c ON c.document_id = d.id
    LEFT JOIN LATERAL jsonb_path_query(c.metadata, '$.messages[*].id') AS j (id) ON true
    CROSS JOIN LATERAL (SELECT j.id #>> '{}') AS m (id)
    WHERE d.collection_id = ANY(pgblend._compartments(%s)) AND d.source_key = ANY(%s)
    GROUP BY d.id
"""
_STORED = """
    SELECT q.place - 1
    FROM unnest(%s::text[], %s::timestamptz[]) WITH ORDINALITY AS q (k, modified_at, place)
    JOIN pgblend_data.document AS d
        ON d.source_key = q.k AND d.collection_id = ANY(pgblend._compartments(%s))
        AND d.modified_at = q.modified_at
    WHERE NOT (%s AND d.metadata ? 'picturesUnread')
"""
_URIS = """
    SELECT d.source_key, d.uri FROM pgblend_data.document AS d
    WHERE d.collection_id = ANY(pgblend._compartments(%s)) AND d.source_key = ANY(%s::text[])
        AND d.uri IS NOT NULL
"""
_SETTINGS = """
    SELECT c.id, pgblend._collection_settings(coalesce(c.settings, '{}'))
    FROM (VALUES (1)) AS always_one_row
    LEFT JOIN pgblend_data.collection AS c
        ON c.name = normalize(%s::text) AND c.parent_id IS NULL
"""


@dataclass(frozen=True)
class Known:
    """Hash and URI of what has a key, and which source had it in this run: nobody, self, other.

    `compartment` tells its readers from others.
    """

    content_hash: str | None
    uri: str | None
    owner: str
    compartment: int | None


@dataclass(frozen=True)
class StoreOutcome:
    """What became of one document: a status with its number of chunks, or an error and its mend."""

    label: str
    status: str
    chunks: int = 0
    error: str = ""
    hint: str = ""


@dataclass(frozen=True)
class CollectionInfo:
    """A collection as ingest needs it; `id` is None while it does not exist."""

    id: int | None
    chunk_settings: ChunkSettings
    mentions: bool
    entities: bool
    summaries: bool


def read_collection(connection: Connection, name: str) -> CollectionInfo:
    """Read a collection's chunk settings; the database's where there is no such collection."""
    row = connection.execute(_SETTINGS, [name]).fetchone()
    assert row is not None
    settings = row[1]
    return CollectionInfo(
        row[0],
        ChunkSettings(
            settings["chunk_size_tokens"],
            settings["chunk_overlap_tokens"],
            settings["min_chunk_size_tokens"],
        ),
        settings["mentions"],
        settings["entities"],
        settings["summaries"],
    )


def text_configurations(connection: Connection) -> set[str]:
    """Return the names of the server's text search configurations, and of pgblend's (zh)."""
    rows = connection.execute(
        "SELECT cfgname FROM pg_catalog.pg_ts_config"
        " WHERE pg_ts_config_is_visible(oid) OR cfgnamespace = to_regnamespace('pgblend')"
    )
    return {row[0] for row in rows}


def look_up(
    connection: Connection, collection_id: int | None, sources: Sequence[tuple[str, str]]
) -> list[Known]:
    """Return what is known of each (source key, label), and remember whose the keys are now."""
    connection.execute(_SEEN)
    parameters = {
        "keys": [key for key, _ in sources],
        "owners": [label for _, label in sources],
        "collection_id": collection_id,
    }
    return [Known(*row) for row in connection.execute(_LOOK_UP, parameters).fetchall()]


def stored_messages(
    connection: Connection, collection_id: int | None, keys: Sequence[str]
) -> dict[str, tuple[str, list[str]]]:
    """Return the content hash and the ids of the stored messages of documents, by source key."""
    rows = connection.execute(_MESSAGES, [collection_id, list(keys)]).fetchall()
    return {key: (content_hash, ids) for key, content_hash, ids in rows}


def stored_places(
    connection: Connection,
    collection_id: int | None,
    sources: Sequence[tuple[str, datetime]],
    reads_pictures: bool,
) -> set[int]:
    """Return the places of the (source key, time) of which there is a document of that time.

    Who reads pictures leaves out the documents that still lack the texts of theirs.
    """
    keys = [key for key, _ in sources]
    times = [time for _, time in sources]
    given = [keys, times, collection_id, reads_pictures]
    return {row[0] for row in connection.execute(_STORED, given).fetchall()}


def stored_uris(
    connection: Connection, collection_id: int | None, keys: Sequence[str]
) -> dict[str, str]:
    """Return the URIs of documents that there are, by source key."""
    return dict(connection.execute(_URIS, [collection_id, list(keys)]).fetchall())


def place(
    connection: Connection,
    collection_id: int | None,
    documents: Sequence[tuple[str, Sequence[str]]],
) -> list[int]:
    """Give stored documents (key, readers) these readers; return their compartments."""
    keys = [key for key, _ in documents]
    readers = [readers_json(names) for _, names in documents]
    row = connection.execute(_PLACE, [keys, readers, collection_id]).fetchone()
    return row[0] if row else []


def forget(connection: Connection, keys: Sequence[str]) -> None:
    """Free keys that were looked up and whose documents did not come."""
    connection.execute(_SEEN)
    connection.execute(_FORGET, [list(keys)])


def store(
    connection: Connection,
    collection: str,
    batch: Batch,
    places: Sequence[int] | None = None,
    collection_id: int | None = None,
) -> list[StoreOutcome]:
    """Store a batch, or what is at some places of it, in one transaction.

    If that fails, each document is stored in its own. UserError where the collection of that name
    is not the one with that id, if one is given.

    When all of several documents fail alike, the fault is not theirs: that is raised.
    """
    connection.execute(_STAGE)
    try:
        return _store_together(connection, collection, batch, places, collection_id)
    except Exception as error:
        _explain(connection, error)
    own = batch.chunks if places is None else places
    outcomes = [_store_alone(connection, collection, batch, place, collection_id) for place in own]
    errors = {outcome.error for outcome in outcomes}
    if len(outcomes) > 1 and len(errors) == 1 and "" not in errors:
        raise UserError(errors.pop(), outcomes[0].hint)
    return outcomes


def _store_alone(
    connection: Connection, collection: str, batch: Batch, place: int, collection_id: int | None
) -> StoreOutcome:
    try:
        return _store_together(connection, collection, batch, [place], collection_id)[0]
    except Exception as error:
        user_error = _explain(connection, error)
        label = batch.labels[place]
        return StoreOutcome(label, "failed", error=user_error.message, hint=user_error.hint)


def _store_together(
    connection: Connection,
    collection: str,
    batch: Batch,
    only: Sequence[int] | None,
    collection_id: int | None,
) -> list[StoreOutcome]:
    with connection.transaction(), connection.cursor() as cursor:
        with cursor.copy(_COPY_DOCUMENTS) as copy:
            for _, part, rows in batch.parts(only):
                if part == 0:
                    copy.write(rows[: rows.index(b"\n") + 1])
        with cursor.copy(_COPY_CHUNKS) as copy:
            for _, part, rows in batch.parts(only):
                if part == 0:
                    copy.write(rows[rows.index(b"\n") + 1 :])
        stored = {row[0]: row for row in cursor.execute(_STORE, [collection]).fetchall()}
        counts = {place: count for place, _, _, count in stored.values()}
        for place, part, rows in batch.parts(only):
            _, document_id, status, _ = stored[place]
            if part > 0 and status in ("added", "replaced", "appended"):
                counts[place] += _append(connection, document_id, place, rows)
        if collection_id is not None:
            _check_same(connection, collection_id, collection)
    return [
        StoreOutcome(batch.labels[place], status, counts[place])
        for place, _, status, _ in stored.values()
    ]


def _check_same(connection: Connection, collection_id: int, collection: str) -> None:
    """Raise where documents were routed by a collection that is not the one of this name."""
    row = connection.execute(_IS_SAME, [collection_id, collection]).fetchone()
    if row != (True,):
        raise UserError(
            f"collection {collection!r} was removed meanwhile", hint="run it again: pgblend ingest"
        )


def _append(connection: Connection, document_id: int, place: int, rows: bytes) -> int:
    """Store a later part of a large document; return how many chunks it has."""
    with connection.cursor() as cursor:
        cursor.execute(_CLEAR)
        with cursor.copy(_COPY_CHUNKS) as copy:
            copy.write(rows)
        row = cursor.execute(_APPEND, [document_id, place]).fetchone()
        return row[0] if row else 0


def _explain(connection: Connection, error: Exception) -> UserError:
    """Translate what the database said about a document; raise what is not about documents."""
    user_error = translate(error)
    if user_error is None or getattr(error, "sqlstate", None) == MOVED:
        raise error
    if connection.closed:
        raise user_error from error
    return user_error


# Where a run's documents go: into this database, or each to its place.

_MOVE_SECONDS = 0.2
_LONGEST_MOVE_SECONDS = 600.0

# A database, and the places in a list of what is its own.
Part = tuple[Connection, list[int]]


class Stores:
    """Connections of one thread: to the database of the run, or to where it has documents.

    Each is opened when it is first asked for. Collections, spaces and settings are those of
    `front`.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    @property
    def is_open(self) -> bool:
        """Whether there is a session already."""
        return "front" in vars(self)

    @cached_property
    def front(self) -> Connection:
        """The connection to the database of the run."""
        return self._open.enter_context(connect(self._url, application_name="pgblend ingest"))

    @cached_property
    def _places(self) -> dict[int, tuple[StorePlace, Connection]]:
        """The places that there were when they were last looked for, in their order."""
        return self._connected({})

    def all(self) -> dict[int, Connection]:
        """Return connections to the databases that have documents now, by the place's number."""
        if self._places:
            self._read_places()
        return {number: database for number, (_, database) in self._places.items()} or {
            0: self.front
        }

    def parts(self, collection_id: int | None, keys: Sequence[str]) -> list[Part]:
        """Return where documents of these source keys are; nothing is of a collection to come."""
        if not self._places or collection_id is None:
            return [(next(iter(self.all().values())), [*range(len(keys))])]
        found = places_of_keys(self.front, collection_id, keys)
        if found.keys() - self._places.keys():
            self._read_places()
        return [(self._places[number][1], places) for number, places in found.items()]

    def look_up(self, collection_id: int | None, sources: Sequence[tuple[str, str]]) -> list[Known]:
        """Return what is known of each (source key, label), and remember whose the keys are now."""
        found: dict[int, Known] = {}
        for database, places in self.parts(collection_id, [key for key, _ in sources]):
            own = [sources[place] for place in places]
            found.update(zip(places, look_up(database, collection_id, own), strict=True))
        return [found[place] for place in range(len(sources))]

    def stored_messages(
        self, collection_id: int | None, keys: Sequence[str]
    ) -> dict[str, tuple[str, list[str]]]:
        """Return content hashes and the ids of stored messages of documents, by source key."""
        found: dict[str, tuple[str, list[str]]] = {}
        for database, places in self.parts(collection_id, keys):
            own = [keys[place] for place in places]
            found |= stored_messages(database, collection_id, own)
        return found

    def stored_places(
        self,
        collection_id: int | None,
        sources: Sequence[tuple[str, datetime]],
        reads_pictures: bool,
    ) -> set[int]:
        """Return the places of the (source key, time) that there is nothing to read of."""
        found: set[int] = set()
        for database, places in self.parts(collection_id, [key for key, _ in sources]):
            own = [sources[place] for place in places]
            stored = stored_places(database, collection_id, own, reads_pictures)
            found |= {places[place] for place in stored}
        return found

    def stored_uris(self, collection_id: int | None, keys: Sequence[str]) -> dict[str, str]:
        """Return the URIs of documents that there are, by source key."""
        found: dict[str, str] = {}
        for database, places in self.parts(collection_id, keys):
            found |= stored_uris(database, collection_id, [keys[one] for one in places])
        return found

    def place(
        self, collection_id: int | None, documents: Sequence[tuple[str, Sequence[str]]]
    ) -> list[int | UserError]:
        """Give stored documents these readers; return their compartments, or what is wrong.

        Together, and where that fails each by itself.
        """
        found: dict[int, int | UserError] = {}
        for database, places in self.parts(collection_id, [key for key, _ in documents]):
            own = [documents[one] for one in places]
            try:
                found |= zip(places, place(database, collection_id, own), strict=True)
            except Exception as error:
                found |= dict.fromkeys(places, _explain(database, error))
                if len(own) > 1:
                    alone = (self.place(collection_id, [document]) for document in own)
                    found |= zip(places, chain.from_iterable(alone), strict=True)
        return [found[one] for one in range(len(documents))]

    def forget(self, keys: Sequence[str]) -> None:
        """Free keys that were looked up and whose documents did not come."""
        for database in self.all().values():
            forget(database, keys)

    def store(self, collection_id: int | None, collection: str, batch: Batch) -> list[StoreOutcome]:
        """Store a batch, in one transaction for each database (store.py).

        What a place refuses since it is being moved waits until it is where it goes to. UserError
        where the collection of that name is another one by now: its documents belong elsewhere.
        """
        if not self._places:
            return store(self.front, collection, batch)
        outcomes: list[StoreOutcome] = []
        waiting = [*batch.chunks]
        for _ in self._turns():
            moving: list[int] = []
            for database, parts in self.parts(collection_id, [batch.keys[one] for one in waiting]):
                own = [waiting[part] for part in parts]
                try:
                    outcomes += store(database, collection, batch, own, collection_id)
                except Exception as error:
                    if getattr(error, "sqlstate", None) != MOVED:
                        raise
                    moving += own
            waiting = moving
            if not waiting:
                break
        return outcomes

    def _turns(self) -> Iterator[None]:
        """Come again, with pauses, until a move ought to be over."""
        end = time.monotonic() + _LONGEST_MOVE_SECONDS
        while time.monotonic() < end:
            yield
            time.sleep(_MOVE_SECONDS)
        raise still_moving()

    def _read_places(self) -> None:
        self._places = self._connected(self._places)

    def _connected(
        self, before: dict[int, tuple[StorePlace, Connection]]
    ) -> dict[int, tuple[StorePlace, Connection]]:
        """Connect to the places that there are now and were not before."""
        found: dict[int, tuple[StorePlace, Connection]] = {}
        for place in find_places(self.front):
            there = before.get(place.number)
            if there is None or there[0] != place:
                there = place, self._open.enter_context(connect(place.url))
            found[place.number] = there
        return found


def sessions(stores: Sequence[Stores], number: int, count: int) -> list[Connection]:
    """Return connections to the database of this number, of so many of the stores."""
    return [one.all()[number] for one in stores[:count]]
