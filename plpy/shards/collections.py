"""Ids of collections, which each shard numbers for itself, by their names."""

from pgblend.plpy.session import Database

_NAMED = "SELECT (pgblend._named_collection($1)).id AS id"
_WRITABLE = "SELECT (pgblend._writable_collection($1)).id AS id"


def named_id(db: Database, collection: str) -> int:
    """Return the id of a collection; 42704 where there is none that the caller may read."""
    return int(db.run(_NAMED, ["text"], collection)[0]["id"])


def writable_id(db: Database, collection: str) -> int:
    """Return the id of a collection; 42704 or 42501 where the caller may not write to it."""
    return int(db.run(_WRITABLE, ["text"], collection)[0]["id"])
