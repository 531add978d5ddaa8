"""Short ways to ask a database, and a small library to ask it about."""

from collections.abc import Sequence
from typing import Any, LiteralString, cast

import psycopg
from pgvector import Vector
from psycopg.conninfo import make_conninfo

from support.model_provider import DEFAULT_DIMENSIONS, embed

SPACE = "test_space"
Document = tuple[str, str, str]  # key, title, content


class Database:
    """A connection with short ways to ask; notices and warnings gather in `notices`."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self.connection = connection
        self.notices: list[tuple[str | None, str | None]] = []  # severity and message
        connection.add_notice_handler(self._note)

    @property
    def url(self) -> str:
        """Where to connect once more, as the same role."""
        info = self.connection.info
        return make_conninfo(info.dsn, password=info.password or None)

    def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Return all rows."""
        cursor = self.connection.execute(cast(LiteralString, query), parameters or None)
        return cursor.fetchall() if cursor.description else []

    def row(self, query: str, *parameters: Any) -> tuple[Any, ...]:
        """Return the only row."""
        (row,) = self.rows(query, *parameters)
        return row

    def value(self, query: str, *parameters: Any) -> Any:
        """Return the only value."""
        (value,) = self.row(query, *parameters)
        return value

    def column(self, query: str, *parameters: Any) -> list[Any]:
        """Return the only column."""
        return [value for (value,) in self.rows(query, *parameters)]

    def error(self, query: str, *parameters: Any) -> psycopg.errors.Diagnostic:
        """Return what the server says against a statement, which must fail."""
        try:
            with self.connection.transaction():
                self.rows(query, *parameters)
        except psycopg.Error as error:
            return error.diag
        raise AssertionError(f"no error: {query} {parameters}")

    def _note(self, notice: psycopg.errors.Diagnostic) -> None:
        self.notices.append((notice.severity_nonlocalized, notice.message_primary))

    def forget(self) -> None:
        """Take no more notices."""
        self.connection.remove_notice_handler(self._note)

    def warnings(self) -> list[str]:
        """Return and forget the warnings since the last call."""
        found = [str(message) for severity, message in self.notices if severity == "WARNING"]
        self.notices.clear()
        return found


def add_documents(db: Database, collection: str, documents: Sequence[Document]) -> list[int]:
    """Ingest documents and return their ids."""
    return [
        db.value(
            "SELECT document_id FROM ingest_document(%s, %s, %s, %s)",
            collection,
            key,
            content,
            title,
        )
        for key, title, content in documents
    ]


def add_space(db: Database, name: str = SPACE, dimensions: int = DEFAULT_DIMENSIONS) -> None:
    """Make an embedding space whose model is the test provider's."""
    db.rows(
        "SELECT create_embedding_space(%s, 'openai/test-embedding', %s, probe => false)",
        name,
        dimensions,
    )


def embed_waiting(db: Database, space: str = SPACE, dimensions: int = DEFAULT_DIMENSIONS) -> int:
    """Give every waiting chunk the vector that the test provider would give it."""
    with db.connection.transaction():
        waiting = db.rows("SELECT * FROM pgblend._next_embeddings(%s, NULL)", space)
        stage(db, [(chunk_id, embed(text, dimensions)) for chunk_id, text in waiting])
        return int(db.value("SELECT pgblend._store_embeddings(%s)", space))


def stage(db: Database, vectors: Sequence[tuple[int, Sequence[float]]]) -> None:
    """Fill the table that _store_embeddings reads."""
    db.rows("DROP TABLE IF EXISTS pg_temp.embedding_stage")
    db.rows("CREATE TEMP TABLE embedding_stage (chunk_id bigint, embedding vector)")
    with db.connection.cursor().copy("COPY pg_temp.embedding_stage FROM STDIN") as copy:
        for chunk_id, vector in vectors:
            copy.write_row((chunk_id, vector_literal(vector)))


def vector_literal(vector: Sequence[float]) -> str:
    """Return a vector as SQL text."""
    return str(Vector(list(vector)).to_text())


def vector_of(text: str) -> str:
    """Return the test provider's vector of a text, as SQL text."""
    return vector_literal(embed(text))
