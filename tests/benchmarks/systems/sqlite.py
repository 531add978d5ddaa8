"""SQLite: FTS5 and sqlite-vec, joined by RRF in one statement.

By apsw, which brings an SQLite of its own: many Pythons' sqlite3 cannot load extensions.
"""

import re
import tempfile
import time
from contextlib import AbstractContextManager, closing
from pathlib import Path

import apsw
import sqlite_vec
from corpora import Corpus, Question

from systems import DEPTH, ROWS

# FTS5 stems English only.
TOKENIZERS = {"english": "porter unicode61"}
SEARCH = f"""
    WITH by_words AS (
        SELECT rowid AS id, row_number() OVER (ORDER BY rank) AS place
        FROM texts WHERE texts MATCH :words ORDER BY rank LIMIT {DEPTH}
    ), by_vectors AS (
        SELECT rowid AS id, row_number() OVER (ORDER BY distance) AS place
        FROM vectors WHERE embedding MATCH :vector AND k = {DEPTH}
    )
    SELECT t.key, t.content, sum(1.0 / (60 + both.place)) AS score
    FROM (SELECT * FROM by_words UNION ALL SELECT * FROM by_vectors) AS both
    JOIN texts AS t ON t.rowid = both.id
    GROUP BY both.id ORDER BY score DESC, both.id LIMIT {ROWS}
"""


class SQLite:
    """One file."""

    name = "SQLite FTS5 + sqlite-vec"
    connection = None

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="bench-sqlite-")
        self.path = Path(self.folder.name, "bench.db")
        self.database = self.opened()

    def opened(self) -> apsw.Connection:
        """Open the file."""
        database = apsw.Connection(str(self.path))
        database.enable_load_extension(True)
        database.load_extension(sqlite_vec.loadable_path())
        return database

    def load(self, corpus: Corpus) -> float:
        """Fill both virtual tables in one transaction."""
        start = time.perf_counter()
        tokenizer = TOKENIZERS.get(corpus.language, "unicode61")
        execute = self.database.execute
        execute(
            f"CREATE VIRTUAL TABLE texts USING fts5(key UNINDEXED, content, tokenize='{tokenizer}')"
        )
        execute(
            "CREATE VIRTUAL TABLE vectors USING vec0("
            f"embedding float[{corpus.dimensions}] distance_metric=cosine)"
        )
        with self.database:
            for place, document in enumerate(corpus.documents()):
                values = (place, document.key, document.whole)
                execute("INSERT INTO texts (rowid, key, content) VALUES (?, ?, ?)", values)
                execute(
                    "INSERT INTO vectors (rowid, embedding) VALUES (?, ?)",
                    (place, document.vector.tobytes()),
                )
        execute("INSERT INTO texts (texts) VALUES ('optimize')")
        return time.perf_counter() - start

    def session(self) -> AbstractContextManager[apsw.Connection]:
        """Open the file once more."""
        return closing(self.opened())

    def search(self, question: Question) -> list[str]:
        """Search in one statement."""
        return self.ask(self.database, question)

    def ask(self, database: apsw.Connection, question: Question) -> list[str]:
        """Search with the question's words OR-ed."""
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question.text))
        values = {"words": words, "vector": question.vector.tobytes()}
        return [str(key) for key, *_ in database.execute(SEARCH, values)]

    def bytes_stored(self) -> int | None:
        """Return the file's size."""
        return self.path.stat().st_size

    def close(self) -> None:
        """Throw the file away."""
        self.database.close()
        self.folder.cleanup()
