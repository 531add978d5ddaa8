"""Passages, vectors and queries for bench_hybrid.py."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import psycopg
from bench_lexical_data import DATA, Corpus
from numpy.typing import NDArray
from pgvector import Vector
from sqlalchemy.exc import DBAPIError

from pgblend.cli.database import connect
from pgblend.migrations import runner

DIMENSIONS = 384
SPACE = "bench"
SAME_TEXTS = 167_671  # beyond these, the texts come again
STATEMENTS = (
    """INSERT INTO pgblend_data.document (
        collection_id, bucket, source_key, title, text_search_config, metadata, content_hash)
    SELECT c.id, p.id % 4096, p.id::text, '', c.text_search_config, '{}', p.id::text
    FROM public.peer AS p, pgblend_data.collection AS c ORDER BY p.id""",
    """INSERT INTO pgblend_data.chunk (
        document_id, chunk_index, collection_id, bucket, content, kind, own_start, token_count,
        metadata, text_search_config, lexemes, length)
    SELECT d.id, 0, d.collection_id, d.bucket, p.content, 'doc', 0, 0, '{}',
        d.text_search_config, '', 0
    FROM public.peer AS p INNER JOIN pgblend_data.document AS d ON d.source_key = p.id::text
    ORDER BY p.id""",
    f"""INSERT INTO pgblend_data.embedding_{SPACE}
    SELECT c.id, c.document_id, c.chunk_index, c.collection_id, c.bucket, p.embedding
    FROM public.peer AS p
    INNER JOIN pgblend_data.document AS d ON d.source_key = p.id::text
    INNER JOIN pgblend_data.chunk AS c ON c.document_id = d.id
    ORDER BY p.id""",
)


@dataclass(frozen=True)
class Size:
    """The first passages of wiki_en, each with a vector."""

    passages: int

    @property
    def name(self) -> str:
        """The database's name."""
        return f"bench_hybrid_{self.passages}"

    def texts(self) -> Iterator[str]:
        """Give the passages; past the collection's end they come again with words in turn."""
        corpus = Corpus("wiki_en", "english")
        endless = itertools.chain.from_iterable(corpus.texts() for _ in itertools.count())
        for place, text in enumerate(itertools.islice(endless, self.passages)):
            words = text.split()
            turn = place // SAME_TEXTS * 7 % max(1, len(words))
            yield " ".join(words[turn:] + words[:turn])

    @cached_property
    def real(self) -> NDArray[np.float32]:
        """All vectors of the judged collections, a row each."""
        parts = [
            np.load(path)["corpus"] for path in sorted((DATA.parent / "vectors").glob("*.npz"))
        ]
        return np.concatenate(parts).astype(np.float32)

    def vectors(self) -> Iterator[NDArray[np.float32]]:
        """Give a vector for each passage: real ones, then mixtures of two with some noise."""
        random = np.random.default_rng(5)
        for start in range(0, self.passages, 10_000):
            count = min(10_000, self.passages - start)
            yield self.mixtures(random, count)

    def mixtures(self, random: np.random.Generator, count: int) -> NDArray[np.float32]:
        """Return vectors of length 1 between two real ones, moved a little."""
        pairs = random.integers(0, len(self.real), (2, count))
        share = random.uniform(0.5, 1, (count, 1)).astype(np.float32)
        mixed = share * self.real[pairs[0]] + (1 - share) * self.real[pairs[1]]
        mixed += random.normal(0, 0.2 / DIMENSIONS**0.5, mixed.shape).astype(np.float32)
        unit: NDArray[np.float32] = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
        return unit

    def queries(self, count: int) -> list[tuple[str, str]]:
        """Return the collection's own questions, each with a vector as SQL text."""
        path = DATA / "wiki_en" / "queries.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines()[:count]
        vectors = self.mixtures(np.random.default_rng(6), count)
        return [
            (json.loads(line)["text"], Vector(vector).to_text())
            for line, vector in zip(lines, vectors, strict=True)
        ]


def load(server: str, size: Size) -> str:
    """Make the size's database, with all that its peers need; one that is there gets sql/."""
    url = f"{server}/{size.name}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as postgres:
        if postgres.execute("SELECT 1 FROM pg_database WHERE datname = %s", [size.name]).fetchone():
            if up_to_date(url):
                return url
            postgres.execute(f"DROP DATABASE {size.name}")
        postgres.execute(f"DROP DATABASE IF EXISTS {size.name}_new")
        postgres.execute(f"CREATE DATABASE {size.name}_new")
    runner.upgrade(f"{url}_new")
    with connect(f"{url}_new") as connection:
        fill(connection, size)
    with psycopg.connect(f"{server}/postgres", autocommit=True) as postgres:
        postgres.execute(f"ALTER DATABASE {size.name}_new RENAME TO {size.name}")
    return url


def up_to_date(url: str) -> bool:
    """Put the working tree's routines into a database; False where its tables are older."""
    try:
        runner.apply(url)
    except DBAPIError:
        return False
    return True


def fill(connection: psycopg.Connection, size: Size) -> None:
    """Store passages and vectors, and build all indexes."""
    connection.execute("SET maintenance_work_mem = '1GB'")
    connection.execute(
        f"CREATE TABLE public.peer (id int, content text NOT NULL, embedding vector({DIMENSIONS}))"
    )
    texts = enumerate(size.texts())
    with connection.cursor().copy("COPY public.peer FROM STDIN") as copy:
        for vectors in size.vectors():
            for vector in vectors:
                copy.write_row((*next(texts), Vector(vector).to_text()))
    connection.execute("SELECT pgblend.add_collection('bench', 'english')")
    connection.execute(
        "SELECT pgblend.create_embedding_space(%s, 'openai/bench', %s)", [SPACE, DIMENSIONS]
    )
    index = f"embedding_{SPACE}_embedding_hnsw"
    connection.execute(f"DROP INDEX pgblend_data.{index}")
    for statement in STATEMENTS:
        connection.execute(statement)
    connection.execute("DELETE FROM pgblend_data.embedding_queue")
    connection.execute("SELECT pgblend.lexical_seal('bench')")
    connection.execute(
        f"CREATE INDEX {index} ON pgblend_data.embedding_{SPACE}"
        " USING hnsw (embedding vector_cosine_ops)"
    )
    connection.execute("ALTER TABLE public.peer ADD PRIMARY KEY (id), ADD content_tsv tsvector")
    connection.execute("UPDATE public.peer SET content_tsv = to_tsvector('english', content)")
    connection.execute("VACUUM FULL public.peer")
    connection.execute("CREATE INDEX ON public.peer USING gin (content_tsv)")
    connection.execute("CREATE INDEX ON public.peer USING hnsw (embedding vector_cosine_ops)")
    connection.execute("VACUUM ANALYZE")
