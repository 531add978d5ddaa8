"""A search on a coordinator."""

from pgblend.plpy.search.found import Answer
from pgblend.plpy.search.request import Request
from pgblend.plpy.search.run import search
from pgblend.plpy.session import Database
from pgblend.plpy.shards.store import ShardStore
from pgblend.plpy.shards.trips import Changed, LeftOut


def search_shards(db: Database, request: Request) -> Answer:
    """Return one search, as the columns of _run_search.

    It begins again where what it began by has changed, or a shard has failed.
    """
    absent: dict[int, str] = {}
    store = ShardStore(db, absent)
    while True:
        try:
            return search(db, request, store)
        except Changed:
            continue
        except LeftOut:
            store = ShardStore(db, absent)
