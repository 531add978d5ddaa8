"""pgblend itself: `hybrid_search` in mode fast with the vector given, and `lexical_search`."""

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice

from corpora import Corpus, Document, Question
from sqlalchemy.exc import DBAPIError

from pgblend.cli.base.database import Connection, connect
from pgblend.cli.base.errors import UserError
from pgblend.cli.documents.batch import Batch, chunk_row, document_row
from pgblend.cli.documents.document_writer import store
from pgblend.migrations import runner
from systems import ROWS
from systems.server_database import database_name, filled_database

SPACE = "bench"
COLLECTION = "bench"
BATCH = 1000
LOOSENED = "phrases: "  # what no passage has in quotes is searched by its words
PREPARED_AFTER = 5  # psycopg's own; the command line prepares nothing by name
PATIENT = json.dumps({"mode": "fast", "timeouts_ms": {"lexical": 600_000, "total": 600_000}})
HYBRID = (
    f"SELECT * FROM blend.hybrid_search(%s, {ROWS}, options => %s::jsonb, query_embedding => %s)"
)
# Strict: words that are nowhere find nothing, instead of what is near by the vector.
PATIENT_WORDS = json.dumps(json.loads(PATIENT) | {"strict": True})
WORDS = f"SELECT * FROM blend.lexical_search(%s, {ROWS}, options => %s::jsonb)"
STAGE = "CREATE TEMP TABLE given (source_key text, embedding vector)"
VECTORS = """
    CREATE TEMP TABLE embedding_stage AS
    SELECT c.id AS chunk_id, g.embedding
    FROM given AS g
    INNER JOIN pgblend_data.document AS d ON d.source_key = g.source_key
    INNER JOIN pgblend_data.chunk AS c ON c.document_id = d.id
    ORDER BY c.id
"""
ARM = (
    "SELECT u.* FROM {} AS a, unnest(a.chunk_ids, a.document_ids, a.chunk_indexes,"
    " a.scores) WITH ORDINALITY AS u (chunk_id, document_id, chunk_index, score, rank)"
)
ARMS = {
    "lexical arm": ARM.format("word_list('lexical', %(query)s, %(ids)s, NULL, %(settings)s)"),
    "vector arm": ARM.format(
        "vector_list(%(vector)s, NULL, %(ids)s, %(query)s, NULL, %(settings)s)"
    ),
}
INDEX = """
    SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
    WHERE indrelid = 'pgblend_data.embedding_bench'::regclass
        AND pg_get_indexdef(indexrelid) LIKE '%hnsw%'
"""


class Blend:
    """pgblend's default profile."""

    name = "pgblend"

    def __init__(self, server: str) -> None:
        self.server = server

    def load(self, corpus: Corpus) -> float:
        """Ingest by the public functions; the vector index is built when all vectors are there."""
        name = database_name("blend", corpus.name)
        self.url, seconds = filled_database(
            self.server, name, lambda new: fill(new, corpus), up_to_date
        )
        self.connection = self.session()
        return seconds

    def session(self) -> Connection:
        """Open a session; statements are prepared, as psycopg does and as those of peers are."""
        connection = connect(self.url)
        connection.prepare_threshold = PREPARED_AFTER
        return connection

    def search(self, question: Question) -> list[str]:
        """Search by words and vector; an answer that lacks a stage is an error."""
        return self.ask(self.connection, question)

    def ask(self, connection: Connection, question: Question, options: str = PATIENT) -> list[str]:
        """Search in a session."""
        values = [question.text, options, question.as_sql]
        cursor = connection.execute(HYBRID, values, prepare=True)
        rows = cursor.fetchall()
        names = [column.name for column in cursor.description or ()]
        key, degraded = names.index("source_key"), names.index("degraded")
        lacking = (
            [note for note in rows[0][degraded] if not note.startswith(LOOSENED)] if rows else []
        )
        if lacking:
            raise RuntimeError(f"a search without {lacking}: {question.text!r}")
        return [row[key] for row in rows]

    def bytes_stored(self) -> int | None:
        """Return the size of the schema's tables and indexes."""
        row = self.connection.execute(
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class"
            " WHERE relnamespace = 'pgblend_data'::regnamespace AND relkind = 'r'"
        ).fetchone()
        return int(row[0]) if row else None

    def close(self) -> None:
        """Close the session."""
        self.connection.close()


class BlendWords(Blend):
    """pgblend's words alone, beside bm25s."""

    name = "pgblend, words only"

    def search(self, question: Question) -> list[str]:
        """Search by words."""
        connection = self.connection
        cursor = connection.execute(WORDS, [question.text, PATIENT_WORDS], prepare=True)
        names = [column.name for column in cursor.description or ()]
        return [row[names.index("source_key")] for row in cursor]

    def bytes_stored(self) -> int | None:
        """Return nothing: the database is the other's."""
        return None


def up_to_date(url: str) -> bool:
    """Put the working tree's routines into a database; False where it has other tables."""
    try:
        runner.apply(url)
    except (DBAPIError, UserError):
        return False
    return True


def fill(url: str, corpus: Corpus) -> None:
    """Make pgblend's tables and store the corpus."""
    runner.upgrade(url)
    with connect(url) as connection:
        connection.execute("SET maintenance_work_mem = '2GB'")
        connection.execute("SELECT blend.add_collection(%s, %s)", [COLLECTION, corpus.language])
        connection.execute(
            "SELECT blend.create_embedding_space(%s, 'openai/bench', %s, probe => false)",
            [SPACE, corpus.dimensions],
        )
        ((index, definition),) = connection.execute(INDEX).fetchall()
        connection.execute(f"DROP INDEX {index}")
        connection.execute(STAGE)
        store_corpus(connection, corpus)
        with connection.transaction():
            connection.execute(VECTORS)
            connection.execute("SELECT pgblend._store_embeddings(%s)", [SPACE])
            connection.execute("TRUNCATE pgblend_data.embedding_queue")  # others get none
        connection.execute("SELECT blend.lexical_seal(%s)", [COLLECTION])
        connection.execute(definition)
        connection.execute("VACUUM ANALYZE")


def store_corpus(connection: Connection, corpus: Corpus) -> None:
    """Store the documents in batches, as pgblend ingest does, and stage their vectors."""
    left = corpus.size if corpus.with_vectors is None else corpus.with_vectors
    for documents in batched(corpus.documents(), BATCH):
        with closing(Batch([document.key for document in documents])) as batch:
            for place, document in enumerate(documents):
                batch.add(place, 0, payload(place, document))
                batch.finish(place, 1, 0)
            store(connection, COLLECTION, batch)
        with connection.cursor().copy("COPY given FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["text", "vector"])
            for document in documents[:left]:
                copy.write_row((document.key, document.vector))
        left = max(0, left - len(documents))


def payload(place: int, document: Document) -> bytes:
    """Return a document of one chunk as ingest hands it over."""
    about = {
        "place": place,
        "source_key": document.key,
        "title": document.title,
        "content_hash": "given",
    }
    chunk = {"content": document.text or document.title}
    return (document_row(about) + chunk_row(place, chunk)).encode()


def batched(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    """Yield the documents in lists of that size."""
    documents = iter(documents)
    while batch := list(islice(documents, size)):
        yield batch
