"""The embedding queue: a session's side of it, and vectors for the chunks that wait."""

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from math import ceil
from types import TracebackType
from typing import Self
from uuid import uuid4

from pgvector import Vector
from psycopg.errors import DuplicateObject

from pgblend.cli.base.database import Connection, connect, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.places import push_changes
from pgblend.cli.embed.embedding_client import GatewayClient, GatewayUnavailableError
from pgblend.cli.embed.spaces import HAS_SPACE, SpaceCounts, get_setting

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
        self, space: SpaceCounts, batch_size: int, collection_id: int | None = None
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
        from pgblend.cli.base.token_count import (
            count_tokens,
            piece_tokens,  # the tokenizer takes its time
        )

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

    def store(self, space: SpaceCounts, vectors: Mapping[int, Vector]) -> int:
        """Store vectors by chunk id; return how many, without those whose claim was lost."""
        return store_vectors(self.connection, space.name, vectors, self._worker)

    def fail(self, space: SpaceCounts, reasons: Mapping[int, str]) -> int:
        """Set chunks aside, to be tried later; return how many were given up for good."""
        row = self.connection.execute(
            "SELECT pgblend._fail_embeddings(%s, %s, %s, %s)",
            [space.name, self._worker, list(reasons), list(reasons.values())],
        ).fetchone()
        return int(row[0]) if row else 0

    def release(self) -> None:
        """Give back what is claimed."""
        self.connection.execute("SELECT pgblend._release_embeddings(%s)", [self._worker])

    def is_limited(self, space: SpaceCounts) -> bool:
        """Whether nothing can be claimed just now because embedding_texts_per_minute are spent."""
        row = self.connection.execute(
            "SELECT EXISTS (SELECT FROM pgblend_data.embedding_allowance AS a"
            " WHERE a.space = %s AND a.texts < 1)"
            " AND blend.get_setting('embedding_texts_per_minute') <> 'null'",
            [space.name],
        ).fetchone()
        return bool(row and row[0])

    def remaining(self, spaces: Sequence[SpaceCounts]) -> int:
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


# Vectors for a batch of texts, of which some may be poison to the model.

# No cache knows it, so that an answer shows the model at work.
_PROBE_TEXT = "Is this model there? {}"


@dataclass
class EmbeddedTexts:
    """What became of texts: a vector, a reason why there is none, or, of the rest, nothing yet."""

    space: SpaceCounts
    vectors: dict[int, Vector] = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)

    def embed(self, client: GatewayClient, texts: Mapping[int, str]) -> None:
        """Embed texts by chunk id.

        A refusal that may be a text's fault is looked into. Where the model embeds another text,
        the batch is halved until the texts at fault are alone. GatewayUnavailableError where the
        model embeds nothing; what was embedded before stays in `vectors`.
        """
        try:
            found = self._vectors(client, list(texts.values()), "passage")
        except GatewayUnavailableError as error:
            if not error.may_be_the_text:
                raise
            self._probe(client, error)
            self._halve(client, texts, error)
        else:
            check_dimensions(self.space, found)
            self.vectors.update(zip(texts, found, strict=True))

    def _vectors(self, client: GatewayClient, texts: list[str], input_type: str) -> list[Vector]:
        return client.embed(self.space.model, texts, input_type, self.space.asked_dimensions)

    def _probe(self, client: GatewayClient, error: GatewayUnavailableError) -> None:
        """Raise the error again where the model refuses a harmless text too."""
        try:
            self._vectors(client, [_PROBE_TEXT.format(uuid4())], "query")
        except GatewayUnavailableError:
            raise error from None

    def _halve(
        self, client: GatewayClient, texts: Mapping[int, str], error: GatewayUnavailableError
    ) -> None:
        if len(texts) == 1:
            self.reasons.update(dict.fromkeys(texts, error.reason))
            return
        rest = iter(texts.items())
        half = dict(islice(rest, len(texts) // 2))
        self.embed(client, half)
        self.embed(client, dict(rest))


def check_dimensions(space: SpaceCounts, vectors: list[Vector]) -> None:
    """Refuse vectors that the space does not hold: the gateway has another model by that name."""
    for vector in vectors:
        dimensions = vector.dimensions()
        if dimensions != space.dimensions:
            raise UserError(
                f"model {space.model!r} gave a vector of {dimensions} dimensions, embedding space "
                f"{space.name!r} holds {space.dimensions}",
                hint="nothing of this batch was stored: give the gateway the model that the space "
                "was made with, or make a new space for this one",
            )


@dataclass(frozen=True)
class QueueCounts:
    """Counts of one batch: taken from the queue, stored, set aside, and of these given up.

    `reason` is why the chunk `refused`, the first that was set aside, has no vector.
    """

    claimed: int = 0
    stored: int = 0
    failed: int = 0
    dead: int = 0
    reason: str = ""
    refused: int | None = None


def embed_batch(
    queue: Queue,
    client: GatewayClient,
    space: SpaceCounts,
    batch_size: int,
    collection_id: int | None = None,
) -> QueueCounts:
    """Claim a batch, of one collection if it is given, embed it, store it.

    What the model refuses is set aside.

    Before that, tokens that were only estimated are counted.

    Where the model embeds nothing any more, its error is raised. First what is done is stored and
    the rest given back.
    """
    texts = queue.claim(space, batch_size, collection_id)
    if not texts:
        return QueueCounts()
    batch = EmbeddedTexts(space)
    stored = dead = 0
    try:
        queue.count_tokens(list(texts))
        batch.embed(client, texts)
    finally:
        if batch.vectors:
            stored = queue.store(space, batch.vectors)
        if batch.reasons:
            dead = queue.fail(space, batch.reasons)
        if len(batch.vectors) + len(batch.reasons) < len(texts):
            queue.release()
    refused, reason = next(iter(batch.reasons.items()), (None, ""))
    return QueueCounts(len(texts), stored, len(batch.reasons), dead, reason, refused)


BATCH_SIZE = 100
# While one batch is at the model, the other is read or stored.
BATCHES_IN_FLIGHT = 2
_INTERRUPT_SECONDS = 2.0
_LIMITED_SECONDS = 0.5
FIRST_SPACE = "default"


def may_create_spaces(connection: Connection) -> bool:
    """Whether this role may make an embedding space."""
    row = connection.execute("SELECT pg_has_role('pgblend_admin', 'USAGE')").fetchone()
    return bool(row and row[0])


def create_first_space(connection: Connection, client: GatewayClient, model: str) -> None:
    """Make the first embedding space; the model itself says how many dimensions it has."""
    probe = client.embed(model, [fetch_value(connection, "SELECT pgblend._probe_text()")])[0]
    with connection.transaction():
        connection.execute(
            "SELECT blend.create_embedding_space(%s, %s, %s, probe => false)",
            [FIRST_SPACE, model, probe.dimensions()],
        )
        connection.execute(
            "SELECT pgblend._note_probe(%s, %s::real[])", [FIRST_SPACE, probe.to_list()]
        )


def ensure_first_space(connection: Connection, client: GatewayClient, front_url: str) -> bool:
    """Make the first space where there are chunks and none; False where only an admin may.

    It is made at `front_url`, the database that says which spaces there are.
    """
    row = connection.execute(
        f"SELECT EXISTS (SELECT FROM pgblend_data.chunk) AND NOT {HAS_SPACE}"
    ).fetchone()
    if not (row and row[0]):
        return True
    with connect(front_url) as front:
        if not may_create_spaces(front):
            return False
        if not fetch_value(front, f"SELECT {HAS_SPACE}"):
            with suppress(DuplicateObject):  # another process has made it meanwhile
                create_first_space(front, client, get_setting(front, "embedding_model"))
        push_changes(front)
    return True


def embed_waiting(
    space: SpaceCounts,
    client: GatewayClient,
    sessions: Callable[[int], list[Connection]],
    advance: Callable[[QueueCounts], None],
    collection_id: int | None = None,
) -> None:
    """Embed everything that waits in a space, or of a collection in it, a batch at a time.

    Each of the sessions, as many as there are batches, two at most, has a thread of its own. The
    first error ends all of them; what was stored before it stays.
    """
    batches = ceil(space.waiting / BATCH_SIZE)
    connections = sessions(min(max(batches, 1), BATCHES_IN_FLIGHT))
    stop = threading.Event()
    errors: list[BaseException] = []

    def work(connection: Connection) -> None:
        try:
            with Queue(connection) as queue:
                _embed_all(space, client, queue, advance, stop, collection_id)
        except BaseException as error:
            errors.append(error)
            stop.set()

    # Daemons, so that Ctrl-C need not wait for a model that does not answer.
    threads = [threading.Thread(target=work, args=[each], daemon=True) for each in connections]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:
        stop.set()
        deadline = time.monotonic() + _INTERRUPT_SECONDS
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0))
        raise
    if errors:
        raise errors[0]


def _embed_all(
    space: SpaceCounts,
    client: GatewayClient,
    queue: Queue,
    advance: Callable[[QueueCounts], None],
    stop: threading.Event,
    collection_id: int | None,
) -> None:
    """Embed batches until nothing is left to take; wait where the rate is limited."""
    while not stop.is_set():
        outcome = embed_batch(queue, client, space, BATCH_SIZE, collection_id)
        if outcome.claimed:
            advance(outcome)
        elif queue.is_limited(space):
            stop.wait(_LIMITED_SECONDS)
        else:
            return
