"""A search on a coordinator."""

from pgblend.plpy.search.found import Answer
from pgblend.plpy.search.request import Request
from pgblend.plpy.search.run import search
from pgblend.plpy.session import Database
from pgblend.plpy.shards.store import ShardStore
from pgblend.plpy.shards.trips import Changed


def search_shards(db: Database, request: Request) -> Answer:
    """Return one search, as the columns of _run_search.

    It begins again where what it began by has changed.
    """
    store = ShardStore(db)
    while True:
        try:
            return search(db, request, store)
        except Changed:
            continue
