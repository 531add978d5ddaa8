"""A database with pgblend, as frameworks use it: a pool, searches, documents with their vectors.

The first search of a connection loads pgblend's program, so connections are kept, and warmed before
they are lent. A client may be used by many threads at once. Errors of the server are psycopg's.
"""

import atexit
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any, Literal, LiteralString, NamedTuple, Self

import psycopg
from pgvector import Vector
from psycopg_pool import ConnectionPool

from pgblend.cli.base.database import (
    Connection,
    answering_url,
    connect,
    fetch_rows,
    prepare,
    resolve_database_url,
)
from pgblend.cli.documents.document import storable_text
from pgblend.cli.embed.queue import FIRST_SPACE, store_vectors
from pgblend.cli.search.statements import (
    LEXICAL_SEARCH,
    SEARCH,
    VECTOR_SEARCH,
    SearchRequest,
    wait_for_changes,
)
from pgblend.integrations.values import stored_metadata, stored_text, vector_of

Arm = Literal["hybrid", "vector", "lexical"]
_APPLICATION = "pgblend integration"
_LOG = logging.getLogger("pgblend")
_SEARCHES: dict[Arm, LiteralString] = {
    "hybrid": SEARCH,
    "vector": VECTOR_SEARCH,
    "lexical": LEXICAL_SEARCH,
}

# A document of a framework is one passage: frameworks split texts themselves.
_STORE: LiteralString = """
    SELECT document_id FROM blend.ingest_document(
        collection => %(collection)s::text, source_key => %(key)s::text,
        content => %(content)s::text, title => %(title)s::text, uri => %(uri)s::text,
        metadata => %(metadata)s::jsonb,
        chunks => jsonb_build_array(jsonb_build_object('content', %(content)s::text)))
"""
_CHUNKS: LiteralString = """
    SELECT c.document_id, c.chunk_id FROM blend.chunks AS c
    WHERE c.document_id = ANY(%(document_ids)s::bigint[])
"""
_SPACE: LiteralString = """
    SELECT name FROM blend.embedding_spaces
    WHERE CASE WHEN %(space)s::text IS NULL THEN active ELSE name = %(space)s::text END
"""
_MAKE_SPACE: LiteralString = """
    SELECT blend.create_embedding_space(
        %(space)s::text, %(model)s::text, %(dimensions)s::integer, brings_vectors => true,
        active => NOT %(named)s::boolean AND NOT EXISTS (
            SELECT FROM blend.embedding_spaces WHERE active))
"""
_HAS_COLLECTION: LiteralString = """
    SELECT FROM blend.collections WHERE name = normalize(%(collection)s::text)
"""
_MAKE_COLLECTION: LiteralString = "SELECT blend.add_collection(%(collection)s::text)"
_GET: LiteralString = """
    SELECT k.key, d.metadata, string_agg(
        substr(c.content, c.own_start + 1), '' ORDER BY c.chunk_index) AS content
    FROM unnest(%(keys)s::text[]) AS k (key)
    INNER JOIN blend.documents AS d ON d.document_id = pgblend._document_id(ARRAY(
        SELECT n.id FROM pgblend_data.collection AS n
        WHERE n.name = normalize(%(collection)s::text)), k.key)
    INNER JOIN blend.chunks AS c USING (document_id)
    GROUP BY k.key, d.metadata
"""
_DELETE: LiteralString = """
    SELECT blend.delete_document(d.document_id) FROM blend.documents AS d
    WHERE d.collection = normalize(%(collection)s::text)
        AND (%(keys)s::text[] IS NULL OR d.document_id IN (
            SELECT pgblend._document_id(ARRAY(
                SELECT n.id FROM pgblend_data.collection AS n
                WHERE n.name = normalize(%(collection)s::text)), k.key)
            FROM unnest(%(keys)s::text[]) AS k (key)))
    ORDER BY d.document_id
"""
_KEYS: LiteralString = """
    SELECT d.source_key FROM blend.documents AS d
    WHERE d.document_id = ANY(pgblend._filtered_ids(
        coalesce(%(filter)s::jsonb, '{}'), ARRAY(
            SELECT c.id FROM blend.collections AS c WHERE c.name = normalize(%(collection)s::text)
        ), NULL, of_documents => true))
    ORDER BY d.document_id
"""


class StoredText(NamedTuple):
    """A document of a framework. Its metadata's title and source are a document's own as well."""

    key: str
    content: str
    metadata: Mapping[str, Any]
    vector: Sequence[float] | None = None


class Client:
    """Connections to one database: PGBLEND_DATABASE_URL or the private server by default."""

    def __init__(self, url: str | None = None, *, size: int = 4) -> None:
        self._url = url or os.environ.get("PGBLEND_DATABASE_URL")
        self._size = size
        self._pool: ConnectionPool[Connection] | None = None
        self._opening = Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all connections; the next call opens new ones."""
        with self._opening:
            pool, self._pool = self._pool, None
        if pool:
            pool.close()

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a connection, in autocommit mode."""
        with self._open().connection() as connection:
            yield connection

    def search(
        self, request: SearchRequest, profile: str | None = None, arm: Arm = "hybrid"
    ) -> list[dict[str, Any]]:
        """Return the rows of hybrid_search, or of one arm, which knows no profile."""
        parameters = request.parameters() | {"profile": profile}
        with self.connection() as connection:
            wait_for_changes(connection, request.options)
            return fetch_rows(connection, _SEARCHES[arm], parameters)

    def make_collection(self, collection: str) -> None:
        """Make a collection where there is none; only an admin can."""
        parameters = {"collection": collection}
        with self.connection() as connection:
            if not fetch_rows(connection, _HAS_COLLECTION, parameters):
                connection.execute(_MAKE_COLLECTION, parameters)

    def store(
        self,
        collection: str,
        texts: Sequence[StoredText],
        model: str = "",
        space: str | None = None,
    ) -> None:
        """Add texts or replace those with the same keys, in one transaction.

        Their vectors go into the embedding space of that name, or the active one. Where there is
        none an admin makes it, and only callers store vectors in it. One with a name does not
        become the active one. Texts without a vector wait for pgblend worker in the spaces that a
        model fills. U+FFFD stands for characters that PostgreSQL cannot store, as in what `pgblend
        ingest` reads.
        """
        _check_keys(texts)
        with self.connection() as connection, connection.transaction():
            vectors = {}
            # In one order, so that two writers cannot deadlock.
            for text in sorted(texts, key=lambda one: one.key):
                (stored,) = fetch_rows(connection, _STORE, _parameters(collection, text))
                if text.vector is not None:
                    place = f"the vector of {text.key!r}"
                    vectors[stored["document_id"]] = vector_of(text.vector, place)
            if vectors:
                _store_vectors(connection, vectors, model, space)

    def get(self, collection: str, keys: Sequence[str]) -> list[StoredText]:
        """Return the documents with these keys that are there, in the keys' order.

        A key is found in whichever form of Unicode it is typed.
        """
        stored = {key: storable_text(key) for key in keys}
        wanted = {"collection": collection, "keys": list(stored.values())}
        with self.connection() as connection:
            rows = fetch_rows(connection, _GET, wanted)
        found = {row["key"]: row for row in rows}
        return [
            StoredText(key, row["content"], row["metadata"])
            for key in keys
            if (row := found.get(stored[key]))
        ]

    def keys(self, collection: str, filter: Mapping[str, Any] | None) -> list[str]:
        """Return the keys of the documents that pass a filter on documents; of all without one."""
        given = None if filter is None else json.dumps(filter)
        with self.connection() as connection:
            rows = fetch_rows(connection, _KEYS, {"collection": collection, "filter": given})
        return [row["source_key"] for row in rows]

    def delete(self, collection: str, keys: Sequence[str] | None) -> None:
        """Delete the documents with these keys, or all; one that is not there is no error."""
        stored = None if keys is None else [storable_text(key) for key in keys]
        parameters = {"collection": collection, "keys": stored}
        with self.connection() as connection:
            connection.execute(_DELETE, parameters)

    def _open(self) -> ConnectionPool[Connection]:
        with self._opening:
            if self._pool is None:
                url = resolve_database_url(self._url)
                # It raises what is wrong with the URL.
                with connect(url, application_name=_APPLICATION) as connection:
                    url = answering_url(url, connection)
                self._pool = ConnectionPool(
                    url,
                    kwargs={"autocommit": True, "application_name": _APPLICATION},
                    min_size=1,
                    max_size=self._size,
                    configure=_configure,
                    check=ConnectionPool.check_connection,
                    open=True,
                    name=_APPLICATION,
                )
            return self._pool


@cache
def shared_client(url: str | None) -> Client:
    """Return the client that all of this process share for a URL; it is closed at the end."""
    client = Client(url)
    atexit.register(client.close)
    return client


def search_request(
    query: str,
    limit: int,
    collections: Sequence[str] | None = None,
    filter: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    vector: Sequence[float] | None = None,
) -> SearchRequest:
    """Return a search; its filter is in pgblend's language. The query is cleaned as texts are."""
    numbers = None if vector is None else vector_of(vector, "the query's vector").to_text()
    return SearchRequest(
        query=stored_text(query, "the query"),
        limit=limit,
        collections=None if collections is None else list(collections),
        filter=None if filter is None else dict(filter),
        options=dict(options or {}),
        query_embedding=numbers,
    )


def facts_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a search says of a passage beside its text and metadata, to be cited."""
    cited = ("collection", "source_key", "uri", "title", "start_line", "end_line", "pages")
    told = ("rank", "score", "relevance", "arms", "degraded", "details", "snippet")
    return {
        **{name: row[name] for name in (*told, "document_id", "chunk_id")},
        "citation": {name: row[name] for name in cited},
    }


def _parameters(collection: str, text: StoredText) -> dict[str, object]:
    metadata = stored_metadata(text.metadata, text.key)
    title, source = (metadata.get(name) for name in ("title", "source"))
    return {
        "collection": collection,
        "key": storable_text(text.key),
        "content": stored_text(text.content, f"the text of {text.key!r}"),
        "title": title if isinstance(title, str) else None,
        "uri": source if isinstance(source, str) else None,
        "metadata": json.dumps(metadata),
    }


def _check_keys(texts: Sequence[StoredText]) -> None:
    """Raise where two keys that differ are stored as one; of one given twice the last counts."""
    stored: dict[str, str] = {}
    for text in texts:
        other = stored.setdefault(storable_text(text.key), text.key)
        if other != text.key:
            raise ValueError(f"ids {other!r} and {text.key!r} are stored as one: rename one")


def _store_vectors(
    connection: Connection,
    vectors: Mapping[int, Vector],
    model: str,
    space: str | None,
) -> None:
    """Store the vectors of documents, by their numbers, each of one passage."""
    found = fetch_rows(connection, _SPACE, {"space": space})
    name = found[0]["name"] if found else space or FIRST_SPACE
    if not found:
        dimensions = next(iter(vectors.values())).dimensions()
        made = {"space": name, "model": model, "dimensions": dimensions, "named": space is not None}
        connection.execute(_MAKE_SPACE, made)
    chunks = fetch_rows(connection, _CHUNKS, {"document_ids": list(vectors)})
    by_chunk = {row["chunk_id"]: vectors[row["document_id"]] for row in chunks}
    store_vectors(connection, name, by_chunk)


def _configure(connection: Connection) -> None:
    """Make a new connection ready to search. Nothing is prepared by name, as in database.py."""
    connection.prepare_threshold = None
    prepare(connection)
    connection.execute("SELECT FROM blend.warm()")
    connection.add_notice_handler(_log_warning)


def _log_warning(notice: psycopg.errors.Diagnostic) -> None:
    """Log the server's warnings, such as what a search went without."""
    if notice.severity_nonlocalized == "WARNING":
        _LOG.warning("%s", notice.message_primary)
