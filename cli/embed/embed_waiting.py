"""Vectors for the chunks that wait for one, also those of earlier runs."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from math import ceil

from psycopg.errors import DuplicateObject

from pgblend.cli.base.database import Connection, connect, fetch_value
from pgblend.cli.base.places import push_changes
from pgblend.cli.embed.embedding_client import GatewayClient
from pgblend.cli.embed.queue import Queue, QueueCounts, embed_batch
from pgblend.cli.embed.spaces import HAS_SPACE, SpaceCounts, get_setting

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
