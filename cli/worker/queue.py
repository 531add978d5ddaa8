"""A session's side of the embedding queue: claim, store, set aside, give back."""

import json
import os
import socket
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from pgvector import Vector

from pgblend.cli.database import Connection
from pgblend.cli.ingest.spaces import Space

_STAGE = """
    CREATE TEMP TABLE IF NOT EXISTS embedding_stage (chunk_id bigint, embedding vector)
    ON COMMIT DELETE ROWS
"""
# The database estimates where it splits a text itself: it has no tokenizer.
_UNCOUNTED = """
    SELECT id, content, own_start FROM pgblend_data.chunk
    WHERE id = ANY(%s::bigint[]) AND piece_tokens IS NULL ORDER BY id
"""
_STORE_COUNTS = "SELECT pgblend._store_token_counts(%s::jsonb)"
_COPY = "COPY pg_temp.embedding_stage (chunk_id, embedding) FROM STDIN (FORMAT binary)"


class Queue:
    """A context manager: inside, the session is a worker, and what it claimed is its own.

    Each call is a transaction of its own, so nothing is locked while a model is asked. If the
    process dies, its session ends, and with that its claims.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._worker = 0

    def __enter__(self) -> Self:
        row = self.connection.execute(
            "SELECT pgblend._start_worker(%s, %s)", [socket.gethostname(), os.getpid()]
        ).fetchone()
        assert row is not None
        self._worker = row[0]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.connection.closed and not self.connection.broken:
            self.connection.execute("SELECT pgblend._stop_worker(%s)", [self._worker])

    @property
    def worker(self) -> int:
        """The session's number as a worker."""
        return self._worker

    def wait(self, waits: bool) -> None:
        """Let writers know that this session waits for a notification, or does not."""
        self.connection.execute(
            "UPDATE pgblend_data.embedding_worker SET waits = %s WHERE id = %s",
            [waits, self._worker],
        )

    def claim(
        self, space: Space, batch_size: int, collection_id: int | None = None
    ) -> dict[int, str]:
        """Return texts by chunk id, of one collection if it is given; none: nothing to take now."""
        rows = self.connection.execute(
            "SELECT chunk_id, input FROM pgblend._next_embeddings(%s, %s, %s, %s)",
            [space.name, batch_size, self._worker, collection_id],
        ).fetchall()
        return dict(rows)

    def count_tokens(self, chunk_ids: Sequence[int]) -> int:
        """Count the tokens of chunks that were split inside the database; return of how many.

        That has no tokenizer, and estimated them.
        """
        rows = self.connection.execute(_UNCOUNTED, [chunk_ids]).fetchall()
        if not rows:
            return 0
        from pgblend.cli.ingest.piece_tokens import piece_tokens  # the tokenizer takes its time
        from pgblend.cli.tokens import count_tokens

        counts = [
            {
                "chunk_id": chunk_id,
                "token_count": count_tokens(content),
                "piece_tokens": piece_tokens(content, own_start),
            }
            for chunk_id, content, own_start in rows
        ]
        stored = self.connection.execute(_STORE_COUNTS, [json.dumps(counts)]).fetchone()
        return int(stored[0]) if stored else 0

    def store(self, space: Space, vectors: Mapping[int, Vector]) -> int:
        """Store vectors by chunk id; return how many, without those whose claim was lost."""
        return store_vectors(self.connection, space.name, vectors, self._worker)

    def fail(self, space: Space, reasons: Mapping[int, str]) -> int:
        """Set chunks aside, to be tried later; return how many were given up for good."""
        row = self.connection.execute(
            "SELECT pgblend._fail_embeddings(%s, %s, %s, %s)",
            [space.name, self._worker, list(reasons), list(reasons.values())],
        ).fetchone()
        return int(row[0]) if row else 0

    def release(self) -> None:
        """Give back what is claimed."""
        self.connection.execute("SELECT pgblend._release_embeddings(%s)", [self._worker])

    def is_limited(self, space: Space) -> bool:
        """Whether nothing can be claimed just now because embedding_texts_per_minute are spent."""
        row = self.connection.execute(
            "SELECT EXISTS (SELECT FROM pgblend_data.embedding_allowance AS a"
            " WHERE a.space = %s AND a.texts < 1)"
            " AND blend.get_setting('embedding_texts_per_minute') <> 'null'",
            [space.name],
        ).fetchone()
        return bool(row and row[0])

    def remaining(self, spaces: Sequence[Space]) -> int:
        """Return how many chunks wait in these spaces, now or later, with whomever."""
        row = self.connection.execute(
            "SELECT count(*) FROM pgblend_data.embedding_queue AS q"
            " WHERE q.dead_at IS NULL AND q.space = ANY(%s)",
            [[space.name for space in spaces]],
        ).fetchone()
        return int(row[0]) if row else 0


def store_vectors(
    connection: Connection,
    space: str,
    vectors: Mapping[int, Vector],
    worker: int | None = None,
) -> int:
    """Store the vectors of chunks that wait for one, by chunk id; return how many these were.

    With a worker only those count that it claimed. All in one transaction.
    """
    with connection.transaction(), connection.cursor() as cursor:
        cursor.execute(_STAGE)
        with cursor.copy(_COPY) as copy:
            copy.set_types(["int8", "vector"])
            for row in vectors.items():
                copy.write_row(row)
        stored = cursor.execute(
            "SELECT pgblend._store_embeddings(%s, %s)", [space, worker]
        ).fetchone()
    return int(stored[0]) if stored else 0
