"""Hybrid search as it is usually written by hand in SQL: two queries joined by RRF."""

import re
from typing import Any

import psycopg
from corpora import Corpus, Question
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
# The arms as statements of their own; a score in the list would be reckoned anew from each text.
WORDS = """
    SELECT {columns} FROM peer AS p
    ORDER BY p.content <@> to_bm25query(%(text)s, 'peer_bm25') LIMIT {rows}
"""
NEAREST = f"SELECT p.id FROM peer AS p ORDER BY p.embedding <=> %(vector)s LIMIT {DEPTH}"
BY_KEY = "SELECT p.id, p.key, p.content FROM peer AS p WHERE p.id = ANY(%s)"


class HandWritten:
    """ts_rank_cd over GIN, and HNSW."""

    name = "hand-written SQL"
    short = "sql"
    words = RANKED

    def __init__(self, server: str) -> None:
        self.server = server

    def load(self, corpus: Corpus) -> float:
        """Store the corpus in one table with its indexes."""
        self.language = corpus.language
        self.url, seconds = filled_database(
            self.server,
            database_name(self.short, corpus.name),
            lambda new: self.fill(new, corpus),
        )
        self.connection = self.session()
        return seconds

    def session(self, depth: int = DEPTH) -> psycopg.Connection:
        """Open a session with a search list as long as the candidates that are wanted."""
        connection = psycopg.connect(self.url, autocommit=True)
        connection.execute(f"SET hnsw.ef_search = {depth}")
        return connection

    def search(self, question: Question) -> list[str]:
        """Search in one statement."""
        return self.ask(self.connection, question)

    def ask(
        self, connection: psycopg.Connection, question: Question, depth: int = DEPTH
    ) -> list[str]:
        """Search in a session, for so many candidates of either side."""
        words = self.words.format(language=self.language, depth=depth)
        statement = SEARCH.format(words=words, depth=depth, rows=ROWS)
        found = connection.execute(statement, self.values(question), prepare=True)
        return [key for key, *_ in found]

    def values(self, question: Question) -> dict[str, str]:
        """Return what the statements are given."""
        return {
            "words": " | ".join(re.findall(r"\w+", question.text)),
            "text": question.text,
            "vector": question.as_sql,
        }

    def fill(self, url: str, corpus: Corpus) -> None:
        """Fill the table, then index it."""
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SET maintenance_work_mem = '2GB'")
            self.extend(connection)
            register_vector(connection)
            connection.execute(
                "CREATE TABLE peer (id int PRIMARY KEY, key text, content text,"
                f" embedding vector({corpus.dimensions}))"
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

    def words_alone(self, rows: int, question: Question) -> list[Any]:
        """Search by words, with the texts."""
        statement = WORDS.format(columns="p.key, p.content", rows=rows)
        return self.rows(statement, question)

    def apart(self, question: Question) -> list[str]:
        """Search by words and by vector in statements of their own, and fuse here."""
        scores: dict[int, float] = {}
        for statement in (WORDS.format(columns="p.id", rows=DEPTH), NEAREST):
            for rank, (number, *_) in enumerate(self.rows(statement, question), start=1):
                scores[number] = scores.get(number, 0) + 1 / (60 + rank)
        best = sorted(scores, key=lambda number: (-scores[number], number))[:ROWS]
        found = {row[0]: row for row in self.connection.execute(BY_KEY, [best], prepare=True)}
        return [found[number][1] for number in best]

    def rows(self, statement: str, question: Question) -> list[Any]:
        """Return all rows of a statement."""
        return self.connection.execute(statement, self.values(question), prepare=True).fetchall()

    def index_words(self, connection: psycopg.Connection, language: str) -> None:
        """Index the texts."""
        connection.execute(
            "CREATE INDEX peer_bm25 ON peer USING bm25 (content)"
            f" WITH (text_config = '{language}', k1 = 1.2, b = 0.75)"
        )
