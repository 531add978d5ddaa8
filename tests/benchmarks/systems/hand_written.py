"""Hybrid search as it is usually written by hand in SQL: two queries joined by RRF."""

import re

import psycopg
from corpora import DIMENSIONS, Corpus, Question
from pgvector.psycopg import register_vector

from systems import DEPTH, ROWS
from systems.server_database import database_name, filled_database

SEARCH = """
    WITH words AS ({words}), vectors AS (
        SELECT n.id, row_number() OVER (ORDER BY n.distance, n.id) AS rank
        FROM (
            SELECT p.id, p.embedding <=> %(vector)s AS distance
            FROM peer AS p ORDER BY distance LIMIT {depth}
        ) AS n
    )
    SELECT p.key, p.content,
        coalesce(1.0 / (60 + w.rank), 0) + coalesce(1.0 / (60 + v.rank), 0) AS score
    FROM words AS w FULL JOIN vectors AS v ON v.id = w.id
    INNER JOIN peer AS p ON p.id = coalesce(w.id, v.id)
    ORDER BY score DESC, p.id LIMIT {rows}
"""
# Words OR-ed, as questions need: websearch_to_tsquery would want all of them in one passage.
RANKED = """
    SELECT p.id, row_number() OVER (ORDER BY ts_rank_cd(p.content_tsv, q) DESC, p.id) AS rank
    FROM peer AS p, to_tsquery('{language}', %(words)s) AS q
    WHERE p.content_tsv @@ q
    ORDER BY ts_rank_cd(p.content_tsv, q) DESC, p.id LIMIT {depth}
"""
TEXTSEARCH = """
    SELECT n.id, row_number() OVER (ORDER BY n.score, n.id) AS rank
    FROM (
        SELECT p.id, p.content <@> to_bm25query(%(text)s, 'peer_bm25') AS score
        FROM peer AS p ORDER BY score LIMIT {depth}
    ) AS n WHERE n.score < 0
"""


class HandWritten:
    """ts_rank_cd over GIN, and HNSW."""

    name = "hand-written SQL"
    short = "sql"
    words = RANKED

    def __init__(self, server: str) -> None:
        self.server = server

    def load(self, corpus: Corpus) -> float:
        """Store the corpus in one table with its indexes."""
        self.statement = SEARCH.format(
            words=self.words.format(language=corpus.language, depth=DEPTH), depth=DEPTH, rows=ROWS
        )
        self.url, seconds = filled_database(
            self.server,
            database_name(self.short, corpus.name),
            lambda new: self.fill(new, corpus),
        )
        self.connection = self.session()
        return seconds

    def session(self) -> psycopg.Connection:
        """Open a session with a search list as long as the candidates that are wanted."""
        connection = psycopg.connect(self.url, autocommit=True)
        connection.execute(f"SET hnsw.ef_search = {DEPTH}")
        return connection

    def search(self, question: Question) -> list[str]:
        """Search in one statement."""
        return self.ask(self.connection, question)

    def ask(self, connection: psycopg.Connection, question: Question) -> list[str]:
        """Search in a session."""
        values = {
            "words": " | ".join(re.findall(r"\w+", question.text)),
            "text": question.text,
            "vector": question.as_sql,
        }
        return [key for key, *_ in connection.execute(self.statement, values, prepare=True)]

    def fill(self, url: str, corpus: Corpus) -> None:
        """Fill the table, then index it."""
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET maintenance_work_mem = '2GB'")
            self.extend(connection)
            register_vector(connection)
            connection.execute(
                "CREATE TABLE peer (id int PRIMARY KEY, key text, content text,"
                f" embedding vector({DIMENSIONS}))"
            )
            command = "COPY peer FROM STDIN (FORMAT binary)"
            with connection.cursor().copy(command) as copy:
                copy.set_types(["int4", "text", "text", "vector"])
                for place, document in enumerate(corpus.documents()):
                    copy.write_row((place, document.key, document.whole, document.vector))
            connection.execute("CREATE INDEX ON peer USING hnsw (embedding vector_cosine_ops)")
            self.index_words(connection, corpus.language)
            connection.execute("VACUUM ANALYZE")

    def extend(self, connection: psycopg.Connection) -> None:
        """Create the extensions."""
        connection.execute("CREATE EXTENSION vector")

    def index_words(self, connection: psycopg.Connection, language: str) -> None:
        """Keep each text's lexemes and index them."""
        connection.execute(
            "ALTER TABLE peer ADD content_tsv tsvector"
            f" GENERATED ALWAYS AS (to_tsvector('{language}', content)) STORED"
        )
        connection.execute("CREATE INDEX ON peer USING gin (content_tsv)")

    def bytes_stored(self) -> int | None:
        """Return the size of the table and its indexes."""
        row = self.connection.execute("SELECT pg_total_relation_size('peer')").fetchone()
        return int(row[0]) if row else None

    def close(self) -> None:
        """Close the session."""
        self.connection.close()


class HandWrittenTextsearch(HandWritten):
    """pg_textsearch, which has BM25, in place of ts_rank_cd; PostgreSQL 18 with its preload."""

    name = "SQL with pg_textsearch"
    short = "textsearch"
    words = TEXTSEARCH

    def extend(self, connection: psycopg.Connection) -> None:
        """Create the extensions."""
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE EXTENSION pg_textsearch")

    def index_words(self, connection: psycopg.Connection, language: str) -> None:
        """Index the texts."""
        connection.execute(
            "CREATE INDEX peer_bm25 ON peer USING bm25 (content)"
            f" WITH (text_config = '{language}', k1 = 1.2, b = 0.75)"
        )
