"""A judged set into the database: documents, their vectors, then queries and judgements."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgblend.cli.base.database import Connection, translate
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.output import StartBar
from pgblend.cli.documents.chunking import split_document
from pgblend.cli.documents.document import Document, storable_text, storable_value
from pgblend.cli.documents.document_writer import (
    CollectionInfo,
    read_collection,
    text_configurations,
)
from pgblend.cli.documents.language import detect_configuration
from pgblend.cli.embed.queue import FIRST_SPACE
from pgblend.cli.embed.spaces import SpaceCounts, get_setting, read_spaces
from pgblend.cli.measure.judged_files import (
    JudgedFiles,
    JudgedSet,
    check_covers,
    read_documents,
    read_qrels,
    read_queries,
    read_vectors,
)

# Ready vectors into the embedding space of their model.

VECTORS_BATCH = 1000
_STAGE = """
    CREATE TEMP TABLE IF NOT EXISTS embedding_stage (chunk_id bigint, embedding vector)
    ON COMMIT DELETE ROWS
"""
# By id, so that chunks without a vector in the file are passed and not read again and again.
_WAITING = """
    SELECT q.chunk_id, d.source_key
    FROM pgblend_data.embedding_queue AS q
    INNER JOIN pgblend_data.document AS d ON d.id = q.document_id
    INNER JOIN pgblend_data.collection AS c ON c.id = d.collection_id
    WHERE q.space = %s AND c.name = normalize(%s::text) AND q.chunk_id > %s
    ORDER BY q.chunk_id
    LIMIT %s
"""


def open_space(connection: Connection, model: str | None, dimensions: int) -> SpaceCounts:
    """Return the embedding space of the vectors' model, made where the database has none.

    Without a model it is the active space's, or else the one of the setting embedding_model.
    """
    rows = connection.execute("SELECT name FROM blend.embedding_spaces WHERE active").fetchone()
    active = rows[0] if rows else None
    spaces = {space.name: space for space in read_spaces(connection)}
    if active is None:
        wanted = model or get_setting(connection, "embedding_model")
        connection.execute(
            "SELECT blend.create_embedding_space(%s, %s, %s, probe => false)",
            [FIRST_SPACE, wanted, dimensions],
        )
        spaces = {space.name: space for space in read_spaces(connection)}
        active = FIRST_SPACE
    if active not in spaces:
        raise UserError(
            f"callers bring the vectors of the active embedding space {active!r}",
            hint="import the set into another database, or make a space for its model and switch: "
            "pgblend space create, switch",
        )
    space = spaces[active]
    if (model or space.model, dimensions) != (space.model, space.dimensions):
        raise UserError(
            f"the vectors are of {model or 'a model'} with {dimensions} dimensions, the active "
            f"embedding space {space.name!r} holds {space.model} with {space.dimensions}",
            hint="import the set into another database, or make a space for this model: "
            "create_embedding_space(name, model, dimensions, probe => false)",
        )
    return space


def store_vectors(
    connection: Connection,
    space: SpaceCounts,
    collection: str,
    vectors: Mapping[str, NDArray[np.float32]],
    advance: Callable[[int], None],
) -> int:
    """Give every waiting chunk of the collection its document's vector; return how many."""
    connection.execute(_STAGE)
    stored, last = 0, 0
    while True:
        rows = connection.execute(
            _WAITING, [space.name, collection, last, VECTORS_BATCH]
        ).fetchall()
        if not rows:
            return stored
        last = rows[-1][0]
        found = [(chunk_id, vectors[key]) for chunk_id, key in rows if key in vectors]
        with connection.transaction(), connection.cursor() as cursor:
            with cursor.copy(
                "COPY pg_temp.embedding_stage (chunk_id, embedding) FROM STDIN (FORMAT binary)"
            ) as copy:
                copy.set_types(["int8", "vector"])
                for row in found:
                    copy.write_row(row)
            cursor.execute("SELECT pgblend._store_embeddings(%s)", [space.name])
        stored += len(found)
        advance(len(rows))


# Queries and judgements into the database, all at once; and what stands in their way.


def refuse_other(connection: Connection, name: str, collection: str, judged: JudgedSet) -> bool:
    """Return whether this very set is there; refuse a name that another one has."""
    stored = connection.execute(
        "SELECT FROM blend.judged_sets WHERE name = normalize(%s) AND collection = normalize(%s)",
        [name, collection],
    ).fetchone()
    if stored is None:
        return False
    if different := _difference(connection, name, collection, judged):
        raise UserError(
            f"collection {collection!r} has a judged set {name!r} already, {different}",
            hint="--replace puts this one in its place and deletes its runs\n"
            "or choose another name",
        )
    return True


def _difference(
    connection: Connection, name: str, collection: str, judged: JudgedSet
) -> str | None:
    """Say in what the stored set differs from this one; None where it does not."""
    rows = connection.execute(
        "SELECT query_key, source_key, grade FROM blend.judgements"
        " WHERE judged_set = %s AND collection = %s",
        [name, collection],
    ).fetchall()
    if {(query, document): grade for query, document, grade in rows} != judged.judgements:
        return "with other judgements"
    queries = connection.execute(
        "SELECT q.key, q.query, q.embedding FROM pgblend_data.judged_query AS q"
        " WHERE q.set_id = (pgblend._judged_set(%s, %s)).id",
        [name, collection],
    ).fetchall()
    if {key: query for key, query, _ in queries} != judged.queries:
        return "with other queries"
    given = judged.vectors.queries if judged.vectors else {}
    for key, _, stored in queries:
        if (stored is None) != (key not in given):
            return "without vectors" if stored is None else "with vectors"
        if stored is not None and not np.array_equal(stored.to_numpy(), given[key]):
            return "with other vectors"
    return None


def rehearse(connection: Connection, name: str, collection: str, replace: bool) -> None:
    """Make the collection and the set, and take both back.

    A wrong name or a missing right is found before anything is stored.
    """
    with connection.transaction(force_rollback=True):
        found = connection.execute(
            "SELECT FROM blend.collections WHERE name = %s", [collection]
        ).fetchone()
        if found is None:
            connection.execute("SELECT blend.add_collection(%s)", [collection])
        if replace:
            connection.execute("SELECT blend.remove_judged_set(%s, %s)", [name, collection])
        connection.execute("SELECT blend.add_judged_set(%s, %s)", [name, collection])


def store_judged(
    connection: Connection,
    request: "ImportRequest",
    judged: JudgedSet,
    model: str | None,
    replace: bool,
) -> None:
    """Store a set that is not there, or put it in the place of another, in one transaction."""
    name, collection = request.name, request.collection
    description = f"from {request.files.qrels.name}"
    with connection.transaction(), connection.cursor() as cursor:
        if replace:
            cursor.execute("SELECT blend.remove_judged_set(%s, %s)", [name, collection])
        made = cursor.execute(
            "SELECT blend.add_judged_set(%s, %s, %s, %s)", [name, collection, description, model]
        ).fetchone()
        row = cursor.execute(
            "SELECT id, collection_id FROM pgblend_data.judged_set WHERE id = %s", made
        ).fetchone()
        assert row is not None
        vectors = judged.vectors.queries if judged.vectors else {}
        cursor.executemany(
            "INSERT INTO pgblend_data.judged_query (set_id, collection_id, key, query, embedding)"
            " VALUES (%s, %s, %s, %s, %s)",
            [(*row, key, query, vectors.get(key)) for key, query in judged.queries.items()],
        )
        cursor.execute(
            "INSERT INTO pgblend_data.judgement (query_id, collection_id, source_key, grade)"
            " SELECT q.id, q.collection_id, j.source_key, j.grade"
            " FROM unnest(%s::text[], %s::text[], %s::integer[]) AS j (query, source_key, grade)"
            " INNER JOIN pgblend_data.judged_query AS q"
            " ON q.set_id = %s AND q.key = j.query",
            [
                [query for query, _ in judged.judgements],
                [document for _, document in judged.judgements],
                list(judged.judgements.values()),
                row[0],
            ],
        )


# Documents of a judged set into a collection, a batch and a transaction at a time.

_KNOWN = """
    SELECT d.source_key, d.content_hash FROM pgblend_data.document AS d
    WHERE d.collection_id = %s AND d.source_key = ANY(%s)
"""
_STORE = """
    SELECT count(stored.document_id)
    FROM unnest(%s::jsonb[]) AS payload
    CROSS JOIN LATERAL blend.ingest_document(
        collection => %s,
        source_key => payload ->> 'source_key',
        content => '',
        title => payload ->> 'title',
        metadata => payload -> 'metadata',
        language => payload ->> 'language',
        chunks => payload -> 'chunks',
        content_hash => payload ->> 'content_hash'
    ) AS stored
"""


@dataclass(frozen=True)
class JudgedDocument:
    """A document ready to be stored; `place` says where it was read."""

    place: str
    payload: dict[str, Any]


def store_new(
    connection: Connection,
    collection: str,
    collection_id: int | None,
    batch: Sequence[JudgedDocument],
) -> int:
    """Store what is not there in the same form, all in one transaction; return how many.

    The first document that cannot be stored is an error that says where it was read.
    """
    keys = [document.payload["source_key"] for document in batch]
    known: dict[str, str] = dict(connection.execute(_KNOWN, [collection_id, keys]).fetchall())
    new = [
        document
        for document in batch
        if known.get(document.payload["source_key"]) != document.payload["content_hash"]
    ]
    if not new:
        return 0
    try:
        _store(connection, collection, new)
    except Exception as error:
        if translate(error) is None or connection.closed:
            raise
        for document in new:  # which one is it?
            try:
                _store(connection, collection, [document])
            except Exception as own:
                reason = translate(own)
                if reason is None:
                    raise
                raise UserError(f"{document.place}: {reason.message}", reason.hint) from own
    return len(new)


def _store(connection: Connection, collection: str, batch: Sequence[JudgedDocument]) -> None:
    payloads = [json.dumps(document.payload, ensure_ascii=False) for document in batch]
    connection.execute(_STORE, [payloads, collection])


BATCH = 200
# A set whose documents are nearly all in one language is indexed in that one. Of short texts a few
# are always taken for another.
_LANGUAGE_SAMPLE = 200
_ONE_LANGUAGE = 0.9


@dataclass(frozen=True)
class ImportRequest:
    """What to import under which name, where to, and how."""

    files: JudgedFiles
    name: str
    collection: str
    vectors_file: Path | None
    model: str | None
    text_config: str | None
    replace: bool


@dataclass(frozen=True)
class ImportReport:
    """What an import stored."""

    judged_set: str
    collection: str
    documents: int
    stored: int
    vectors: int
    queries: int
    judgements: int
    grade_scale: float


def import_set(connection: Connection, request: ImportRequest, start_bar: StartBar) -> ImportReport:
    """Check everything, then store the documents in batches, then the judged set at once.

    Nothing is stored before all files are read without an error. An interrupted import continues
    where it was: documents and vectors that are there are not stored again.
    """
    available = text_configurations(connection)
    documents, language = _look_through(connection, request, available)
    judged = _read_judged(request, documents)
    replace = request.replace
    there = not replace and refuse_other(connection, request.name, request.collection, judged)
    if not there:
        rehearse(connection, request.name, request.collection, replace)
    space = None
    if judged.vectors:
        space = open_space(connection, request.model, judged.vectors.dimensions)
    collection = _open_collection(connection, request, language)
    stored = 0
    if request.files.corpus:
        language_of = _language_finder(language, available)
        advance = start_bar("Documents", len(documents))
        prepared = _prepare(request, collection, judged.vectors is not None, language_of)
        while batch := list(islice(prepared, BATCH)):
            stored += store_new(connection, request.collection, collection.id, batch)
            advance(len(batch))
        connection.execute("SELECT blend.lexical_seal(%s)", [request.collection])
    vectors = 0
    if judged.vectors and space:
        advance = start_bar("Vectors", len(documents))
        vectors = store_vectors(
            connection, space, request.collection, judged.vectors.documents, advance
        )
    if not there:
        store_judged(connection, request, judged, space.model if space else None, replace)
    return ImportReport(
        request.name,
        request.collection,
        len(documents),
        stored,
        vectors,
        len(judged.queries),
        len(judged.judgements),
        judged.grade_scale,
    )


def _look_through(
    connection: Connection, request: ImportRequest, available: set[str]
) -> tuple[set[str], str | None]:
    """Return the documents' ids and the language that nearly all have, None where they differ."""
    if request.files.corpus is None:
        rows = connection.execute(
            "SELECT source_key FROM blend.documents WHERE collection = %s", [request.collection]
        ).fetchall()
        if not rows:
            raise UserError(
                f"there is no corpus.jsonl, and collection {request.collection!r} has no documents",
                hint="ingest the documents first, or name their collection with --collection",
            )
        return {row[0] for row in rows}, request.text_config
    documents: set[str] = set()
    languages: Counter[str] = Counter()
    for _, key, record in read_documents(request.files.corpus):
        documents.add(key)
        if request.text_config is None and languages.total() < _LANGUAGE_SAMPLE:
            found = detect_configuration(_whole_text(record), available)
            languages.update([found] if found else [])
    if request.text_config is not None:
        if request.text_config not in available:
            raise UserError(
                f"there is no text search configuration {request.text_config!r}",
                hint=f"one of: {', '.join(sorted(available))}",
            )
        return documents, request.text_config
    if not languages:
        return documents, "english"
    language, count = languages.most_common(1)[0]
    return documents, language if count >= _ONE_LANGUAGE * languages.total() else None


def _read_judged(request: ImportRequest, documents: set[str]) -> JudgedSet:
    queries = read_queries(request.files.queries)
    judgements, scale = read_qrels(request.files.qrels, set(queries), documents)
    if request.vectors_file is None:
        return JudgedSet(queries, judgements, None, scale)
    vectors = read_vectors(request.vectors_file)
    check_covers(vectors, documents, set(queries), request.vectors_file)
    return JudgedSet(queries, judgements, vectors, scale)


def _open_collection(
    connection: Connection, request: ImportRequest, language: str | None
) -> CollectionInfo:
    collection = read_collection(connection, request.collection)
    if collection.id is None:
        connection.execute(
            "SELECT blend.add_collection(%s, %s)", [request.collection, language or "english"]
        )
        collection = read_collection(connection, request.collection)
    return collection


def _language_finder(language: str | None, available: set[str]) -> Callable[[str], str | None]:
    if language is not None:
        return lambda text: language
    return lambda text: detect_configuration(text, available)


def _prepare(
    request: ImportRequest,
    collection: CollectionInfo,
    whole: bool,
    language_of: Callable[[str], str | None],
) -> Iterator[JudgedDocument]:
    """Yield what is stored of each document.

    Where vectors are given, each is of a whole document, which is then one passage.
    """
    assert request.files.corpus is not None
    how = "whole" if whole else repr(collection.chunk_settings)
    for number, key, record in read_documents(request.files.corpus):
        title = storable_text(record.get("title") or "")
        text = storable_text(record.get("text") or "")
        language = language_of(_whole_text(record))
        chunks: list[dict[str, Any]] = [{"content": text}]
        if not whole:
            document = Document(key, title, text, key, "application/json")
            chunks = split_document(document, collection.chunk_settings) or chunks
        payload = {
            "source_key": key,
            "title": title,
            "metadata": storable_value(record.get("metadata") or {}),
            "language": language,
            "chunks": chunks,
        }
        digest = hashlib.sha256(f"{how} {json.dumps(payload, sort_keys=True)}".encode())
        payload["content_hash"] = digest.hexdigest()
        yield JudgedDocument(f"{request.files.corpus}, line {number}", payload)


def _whole_text(record: dict[str, Any]) -> str:
    return f"{record.get('title') or ''} {record.get('text') or ''}"
