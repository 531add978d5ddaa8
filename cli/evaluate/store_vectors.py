"""Ready vectors into the embedding space of their model."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from pgblend.cli.database import Connection
from pgblend.cli.errors import UserError
from pgblend.cli.ingest.embedding import FIRST_SPACE
from pgblend.cli.ingest.spaces import Space, get_setting, read_spaces

BATCH = 1000
_STAGE = """
    CREATE TEMP TABLE IF NOT EXISTS embedding_stage (chunk_id bigint, embedding vector)
    ON COMMIT DELETE ROWS
"""
# By id, so that chunks without a vector in the file are passed and not read again and again.
_WAITING = """
    SELECT q.chunk_id, d.source_key
    FROM pgblend_data.embedding_queue AS q
    INNER JOIN pgblend_data.document AS d ON d.id = q.document_id
    INNER JOIN pgblend_data.collection AS c ON c.id = d.collection_id
    WHERE q.space = %s AND c.name = %s AND q.chunk_id > %s
    ORDER BY q.chunk_id
    LIMIT %s
"""


def open_space(connection: Connection, model: str | None, dimensions: int) -> Space:
    """Return the embedding space of the vectors' model, made where the database has none.

    Without a model it is the active space's, or else the one of the setting embedding_model.
    """
    rows = connection.execute("SELECT name FROM blend.embedding_spaces WHERE active").fetchone()
    active = rows[0] if rows else None
    spaces = {space.name: space for space in read_spaces(connection)}
    if active is None:
        wanted = model or get_setting(connection, "embedding_model")
        connection.execute(
            "SELECT blend.create_embedding_space(%s, %s, %s, probe => false)",
            [FIRST_SPACE, wanted, dimensions],
        )
        spaces = {space.name: space for space in read_spaces(connection)}
        active = FIRST_SPACE
    if active not in spaces:
        raise UserError(
            f"callers bring the vectors of the active embedding space {active!r}",
            hint="import the set into another database, or make a space for its model and switch: "
            "pgblend space create, switch",
        )
    space = spaces[active]
    if (model or space.model, dimensions) != (space.model, space.dimensions):
        raise UserError(
            f"the vectors are of {model or 'a model'} with {dimensions} dimensions, the active "
            f"embedding space {space.name!r} holds {space.model} with {space.dimensions}",
            hint="import the set into another database, or make a space for this model: "
            "create_embedding_space(name, model, dimensions, probe => false)",
        )
    return space


def store_vectors(
    connection: Connection,
    space: Space,
    collection: str,
    vectors: Mapping[str, NDArray[np.float32]],
    advance: Callable[[int], None],
) -> int:
    """Give every waiting chunk of the collection its document's vector; return how many."""
    connection.execute(_STAGE)
    stored, last = 0, 0
    while True:
        rows = connection.execute(_WAITING, [space.name, collection, last, BATCH]).fetchall()
        if not rows:
            return stored
        last = rows[-1][0]
        found = [(chunk_id, vectors[key]) for chunk_id, key in rows if key in vectors]
        with connection.transaction(), connection.cursor() as cursor:
            with cursor.copy(
                "COPY pg_temp.embedding_stage (chunk_id, embedding) FROM STDIN (FORMAT binary)"
            ) as copy:
                copy.set_types(["int8", "vector"])
                for row in found:
                    copy.write_row(row)
            cursor.execute("SELECT pgblend._store_embeddings(%s)", [space.name])
        stored += len(found)
        advance(len(rows))
