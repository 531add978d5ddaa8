"""Batches of documents on their way into the database."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pgblend.cli.database import Connection, translate
from pgblend.cli.errors import UserError
from pgblend.cli.ingest.chunking import ChunkSettings
from pgblend.cli.ingest.document import Document
from pgblend.cli.ingest.sources import Candidate

# One row per document: COPY takes the bulk, one statement stores it.
_STAGE = """
    CREATE TEMP TABLE IF NOT EXISTS ingest_stage (place integer, payload jsonb)
    ON COMMIT DELETE ROWS
"""
_STORE = """
    SELECT s.place, stored.status, stored.chunk_count
    FROM pg_temp.ingest_stage AS s
    CROSS JOIN LATERAL pgblend.ingest_document(
        collection => %s,
        source_key => s.payload ->> 'source_key',
        content => s.payload ->> 'content',
        title => s.payload ->> 'title',
        uri => s.payload ->> 'uri',
        metadata => s.payload -> 'metadata',
        language => s.payload ->> 'language',
        chunks => s.payload -> 'chunks',
        content_hash => s.payload ->> 'content_hash',
        media_type => s.payload ->> 'media_type',
        modified_at => (s.payload ->> 'modified_at')::timestamptz
    ) AS stored
"""
# Hashes, since a key may be longer than an index takes: its document then fails alone, later.
_SEEN = "CREATE TEMP TABLE IF NOT EXISTS ingest_seen (key_hash uuid PRIMARY KEY)"
# The hashes of what is stored, and which keys came up earlier in this run.
_LOOK_UP = """
    WITH new_key AS (
        INSERT INTO pg_temp.ingest_seen
        SELECT md5(k)::uuid FROM unnest(%(keys)s::text[]) AS k
        ON CONFLICT DO NOTHING
        RETURNING key_hash
    )
    SELECT k, d.content_hash, n.key_hash IS NULL
    FROM unnest(%(keys)s::text[]) AS k
    LEFT JOIN new_key AS n ON n.key_hash = md5(k)::uuid
    LEFT JOIN pgblend_data.document AS d
        ON d.source_key = k AND d.collection_id = %(collection_id)s
"""
_SETTINGS = """
    SELECT c.id, pgblend._collection_settings(coalesce(c.settings, '{}'))
    FROM (VALUES (1)) AS always_one_row
    LEFT JOIN pgblend_data.collection AS c ON c.name = %s
"""


@dataclass(frozen=True)
class Prepared:
    """A document ready to be stored."""

    label: str
    payload: str


@dataclass(frozen=True)
class Outcome:
    """What became of one document: a status with its number of chunks, or an error."""

    label: str
    status: str
    chunks: int = 0
    error: str = ""


@dataclass(frozen=True)
class CollectionInfo:
    """A collection as ingest needs it; `id` is None while it does not exist."""

    id: int | None
    chunk_settings: ChunkSettings


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
    )


def text_configurations(connection: Connection) -> set[str]:
    """Return the names of the server's text search configurations."""
    rows = connection.execute(
        "SELECT cfgname FROM pg_catalog.pg_ts_config WHERE pg_ts_config_is_visible(oid)"
    )
    return {row[0] for row in rows}


def look_up(
    connection: Connection, collection_id: int | None, keys: Sequence[str]
) -> tuple[dict[str, str | None], set[str]]:
    """Return the stored hash of each key, and the keys that this run had before."""
    connection.execute(_SEEN)
    parameters = {"keys": list(keys), "collection_id": collection_id}
    rows = connection.execute(_LOOK_UP, parameters).fetchall()
    return {row[0]: row[1] for row in rows}, {row[0] for row in rows if row[2]}


def prepare(
    candidate: Candidate, document: Document, chunks: list[dict[str, Any]], language: str | None
) -> Prepared:
    """Write a document as the JSON that is staged; without a language it gets the collection's."""
    payload = {
        "source_key": document.source_key,
        # Chunks and hash are given, so the text itself is not needed once more.
        "content": "",
        "title": document.title,
        "uri": document.uri,
        "metadata": document.metadata,
        "language": language,
        "chunks": chunks,
        "content_hash": candidate.content_hash,
        "media_type": document.media_type,
        "modified_at": candidate.modified_at.isoformat(),
    }
    return Prepared(candidate.label, json.dumps(payload, ensure_ascii=False))


def store(connection: Connection, collection: str, batch: Sequence[Prepared]) -> list[Outcome]:
    """Store a batch in one transaction; if that fails, each document in its own.

    When all of several documents fail alike, the fault is not theirs: that is raised.
    """
    connection.execute(_STAGE)
    try:
        return _store_together(connection, collection, batch)
    except Exception as error:
        _explain(connection, error)
    outcomes = [_store_alone(connection, collection, prepared) for prepared in batch]
    errors = {outcome.error for outcome in outcomes}
    if len(batch) > 1 and len(errors) == 1 and "" not in errors:
        raise UserError(errors.pop())
    return outcomes


def _store_alone(connection: Connection, collection: str, prepared: Prepared) -> Outcome:
    try:
        return _store_together(connection, collection, [prepared])[0]
    except Exception as error:
        user_error = _explain(connection, error)
        hint = f"; {user_error.hint}" if user_error.hint else ""
        return Outcome(prepared.label, "failed", error=f"{user_error.message}{hint}")


def _store_together(
    connection: Connection, collection: str, batch: Sequence[Prepared]
) -> list[Outcome]:
    with connection.transaction(), connection.cursor() as cursor:
        with cursor.copy("COPY pg_temp.ingest_stage (place, payload) FROM STDIN") as copy:
            for place, prepared in enumerate(batch):
                copy.write_row((place, prepared.payload))
        rows = cursor.execute(_STORE, [collection]).fetchall()
    return [Outcome(batch[place].label, status, chunks) for place, status, chunks in rows]


def _explain(connection: Connection, error: Exception) -> UserError:
    """Translate what the database said about a document; raise what is not about documents."""
    user_error = translate(error)
    if user_error is None:
        raise error
    if connection.closed:
        raise user_error from error
    return user_error
