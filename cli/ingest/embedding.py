"""Vectors for the chunks that wait for one, also those of earlier runs."""

import threading
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pgblend.cli.database import Connection
from pgblend.cli.errors import UserError
from pgblend.cli.ingest.gateway_client import GatewayClient
from pgblend.cli.ingest.spaces import Space

BATCH_SIZE = 100
# While one batch is at the model, the other is read or stored.
BATCHES_IN_FLIGHT = 2
_INTERRUPT_SECONDS = 2.0
FIRST_SPACE = "default"
_PROBE_TEXT = "How many dimensions has a vector of this model?"
_STAGE = """
    CREATE TEMP TABLE IF NOT EXISTS embedding_stage (chunk_id bigint, embedding vector)
    ON COMMIT DELETE ROWS
"""


def may_create_spaces(connection: Connection) -> bool:
    """Whether this role may make an embedding space."""
    row = connection.execute("SELECT pg_has_role('pgblend_admin', 'USAGE')").fetchone()
    return bool(row and row[0])


def create_first_space(connection: Connection, client: GatewayClient, model: str) -> None:
    """Make the first embedding space; the model itself says how many dimensions it has."""
    dimensions = client.embed(model, [_PROBE_TEXT])[0].size
    connection.execute(
        "SELECT pgblend.create_embedding_space(%s, %s, %s)", [FIRST_SPACE, model, dimensions]
    )


def embed_waiting(
    space: Space,
    client: GatewayClient,
    connections: list[Connection],
    advance: Callable[[int], None],
) -> None:
    """Embed everything that waits in a space, a batch and a transaction at a time.

    Each connection has a thread of its own. The first error ends all of them; the batches that were
    stored before it stay.
    """
    stop = threading.Event()
    errors: list[BaseException] = []

    def work(connection: Connection) -> None:
        try:
            while not stop.is_set() and (stored := _embed_batch(space, client, connection)):
                advance(stored)
        except BaseException as error:
            errors.append(error)
        finally:
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


def _embed_batch(space: Space, client: GatewayClient, connection: Connection) -> int:
    """Embed one batch; 0 when nothing waits that nobody else works on."""
    connection.execute(_STAGE)
    with connection.transaction(), connection.cursor() as cursor:
        rows = cursor.execute(
            "SELECT chunk_id, input FROM pgblend._next_embeddings(%s, %s)", [space.name, BATCH_SIZE]
        ).fetchall()
        if not rows:
            return 0
        vectors = client.embed(space.model, [text for _, text in rows])
        _check_dimensions(space, vectors)
        with cursor.copy(
            "COPY pg_temp.embedding_stage (chunk_id, embedding) FROM STDIN (FORMAT binary)"
        ) as copy:
            copy.set_types(["int8", "vector"])
            for (chunk_id, _), vector in zip(rows, vectors, strict=True):
                copy.write_row((chunk_id, vector))
        cursor.execute("SELECT pgblend._store_embeddings(%s)", [space.name])
    return len(rows)


def _check_dimensions(space: Space, vectors: list[NDArray[np.float32]]) -> None:
    for vector in vectors:
        if vector.size != space.dimensions:
            raise UserError(
                f"model {space.model!r} gave a vector of {vector.size} dimensions, embedding space "
                f"{space.name!r} holds {space.dimensions}",
                hint="nothing of this batch was stored; give the gateway the model that the space "
                "was made with, or make a new space for this one",
            )
