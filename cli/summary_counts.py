"""Summaries of documents: who makes them now, and how many there are, of whom."""

from typing import Any

from pgblend.cli.database import Connection, fetch_rows
from pgblend.cli.ingest.spaces import get_setting
from pgblend.cli.ingest.summary_prompt import made_by

COUNTS = ("summaries", "other", "waiting", "given_up")
_BY_COLLECTION = "SELECT * FROM pgblend._summary_counts(%(made_by)s::text)"


def summary_maker(connection: Connection) -> str | None:
    """Name the model that makes summaries, together with its prompt; None where there is none."""
    model = get_setting(connection, "summary_model")
    return made_by(model) if model else None


def summaries_by_collection(connection: Connection) -> list[dict[str, Any]]:
    """Return `collection` and COUNTS for each that has or wants summaries.

    `other` are of another maker than makes them now.
    """
    return fetch_rows(connection, _BY_COLLECTION, {"made_by": summary_maker(connection)})


def count_summaries(connection: Connection) -> dict[str, int]:
    """Return COUNTS of all collections together."""
    rows = summaries_by_collection(connection)
    return {name: sum(row[name] for row in rows) for name in COUNTS}
