"""Mentions between documents of all shards: names are looked for on each, and counted over all."""

from itertools import chain

from pgblend.plpy.graph.mentions import (
    common_names,
    documents_named,
    mentions,
    most_documents,
)
from pgblend.plpy.session import Database
from pgblend.plpy.shards.calls import collection_name, on_shards


def link_mentions(db: Database, collection_id: int) -> int:
    """Join documents that name each other; return how many mentions there are.

    Every shard commits for itself; once more stores what is missing.
    """
    name = collection_name(db, collection_id)
    if name is None:
        return 0
    asked = {"collection": name}
    rows = on_shards(db, "pgblend._mention_names", asked)
    documents = documents_named(chain.from_iterable(row["names"] for row in rows))
    most = most_documents(sum(row["documents"] for row in rows))
    looked = {"names": sorted(documents), "most": most}
    rows = on_shards(db, "pgblend._names_found", asked | looked)
    found = [(row["document_id"], row["chunk_id"], row["name"]) for row in rows if row["chunk_id"]]
    common = common_names(found, most) | {row["name"] for row in rows if not row["chunk_id"]}
    given = {"mentions": mentions(documents, found, common)}
    return sum(on_shards(db, "pgblend._keep_mentions", asked | given))
