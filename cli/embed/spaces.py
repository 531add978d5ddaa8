"""Embedding spaces and settings, as the database has them."""

from dataclasses import dataclass
from typing import Any, LiteralString

from pgblend.cli.base.database import Connection

# No first space is made beside one that searches use, or that a model fills.
HAS_SPACE: LiteralString = """
    EXISTS (SELECT FROM pgblend_data.embedding_space AS s WHERE s.active OR s.asks_model)
"""


@dataclass(frozen=True)
class SpaceCounts:
    """An embedding space and how many chunks wait for a vector in it."""

    name: str
    model: str
    dimensions: int
    waiting: int
    active: bool = False
    asked_dimensions: int | None = None


def get_setting(connection: Connection, name: str) -> Any:
    """Return a setting of the database."""
    row = connection.execute("SELECT blend.get_setting(%s)", [name]).fetchone()
    return row[0] if row else None


def read_spaces(connection: Connection) -> list[SpaceCounts]:
    """Return the spaces whose model is asked, the active first: searches wait for its vectors."""
    rows = connection.execute(
        "SELECT name, model, dimensions, waiting, active, asked_dimensions"
        " FROM blend.embedding_spaces WHERE asks_model ORDER BY active DESC, name"
    )
    return [SpaceCounts(*row) for row in rows]


def needs_vectors(connection: Connection) -> bool:
    """Whether a chunk waits for a vector, or a document for the summary that is embedded with it.

    Before there is a space, everything does.
    """
    row = connection.execute(
        f"SELECT NOT {HAS_SPACE}"
        " OR EXISTS (SELECT FROM pgblend_data.embedding_queue WHERE dead_at IS NULL)"
        " OR EXISTS (SELECT FROM pgblend_data.document_summary"
        " WHERE (summary IS NULL OR outdated) AND failures < 3)"
    ).fetchone()
    return bool(row and row[0])
