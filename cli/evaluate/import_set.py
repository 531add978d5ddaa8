"""A judged set into the database: documents, their vectors, then queries and judgements."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from pgblend.cli.database import Connection
from pgblend.cli.errors import UserError
from pgblend.cli.evaluate.judged_files import (
    JudgedFiles,
    JudgedSet,
    read_documents,
    read_qrels,
    read_queries,
)
from pgblend.cli.evaluate.store_documents import JudgedDocument, store_new
from pgblend.cli.evaluate.store_judged import refuse_other, rehearse, store_judged
from pgblend.cli.evaluate.store_vectors import open_space, store_vectors
from pgblend.cli.evaluate.vectors import check_covers, read_vectors
from pgblend.cli.ingest.chunking import split_document
from pgblend.cli.ingest.document import Document, storable_text, storable_value
from pgblend.cli.ingest.language import detect_configuration
from pgblend.cli.ingest.progress import StartBar
from pgblend.cli.ingest.store import CollectionInfo, read_collection, text_configurations

BATCH = 200
# A set whose documents are nearly all in one language is indexed in that one: of short texts a
# few are always taken for another.
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
        model, description = space.model if space else None, f"from {request.files.qrels.name}"
        store_judged(
            connection, request.name, request.collection, judged, model, description, replace
        )
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
