"""Calls of routines on shards, each of which commits for itself."""

import json
from collections.abc import Mapping
from typing import Any

from pgblend.plpy.session import Database

_COLLECTION = "SELECT c.name FROM pgblend_data.collection AS c WHERE c.id = $1"
_CALL = "SELECT a.answer::text AS answer FROM pgblend._on_shards($1, $2) AS a (answer)"


def on_shards(db: Database, routine: str, arguments: Mapping[str, Any]) -> list[Any]:
    """Call a routine on shards; return the rows of all. An error where one does not answer."""
    rows = db.run(_CALL, ["text", "jsonb"], routine, json.dumps(arguments))
    return [json.loads(row["answer"]) for row in rows]


def collection_name(db: Database, collection_id: int) -> str | None:
    """Return the name of a collection, as shards know it; None where it is gone."""
    known = db.run(_COLLECTION, ["bigint"], collection_id)
    return known[0]["name"] if known else None
