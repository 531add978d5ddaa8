"""A library with every kind of row, and what searches of every kind answer about it.

For what must change no answer: another server, another version, a restored copy.
"""

import random
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from support.database import SPACE, Database, add_documents, add_space, embed_waiting, vector_of

WORDS = ("sea", "wine", "ship", "sail", "wind", "harbour", "deploy", "production", "route")
QUERIES = ("sea wine", '"wind harbour"', "deploy -care", "prodution of wine", "ship OR chart")
PATIENT = dict.fromkeys(("answer", "embed", "expand", "lexical", "rerank", "total"), 600_000)
# The named column list leaves out when an index was sealed.
STATUS = "SELECT collection_name, status, chunks, sealed, pending, dead FROM blend.lexical_status()"
SEARCHES = {
    "hybrid": "SELECT * FROM blend.hybrid_search(%(query)s, query_embedding => %(vector)s)",
    "filtered": "SELECT * FROM blend.hybrid_search(%(query)s, query_embedding => %(vector)s,"
    ' filter => \'{"part": 1}\', options => \'{"fusion": "rrf", "mmr": {"lambda": 0.5}}\')',
    "lexical": "SELECT * FROM blend.lexical_search(%(query)s, 30)",
    "fuzzy": "SELECT * FROM blend.fuzzy_search(%(query)s)",
    "vector": "SELECT * FROM blend.vector_search(query_embedding => %(vector)s)",
    "graph": "SELECT * FROM blend.graph_search(query => %(query)s, depth => 2,"
    " query_embedding => %(vector)s)",
    "facets": "SELECT * FROM blend.search_facets(%(query)s, '{part}',"
    " query_embedding => %(vector)s)",
    "context": "SELECT blend.get_context(%(query)s, query_embedding => %(vector)s) -> 'parts'",
}


def fill_library(url: str, documents: int = 200) -> None:
    """Fill a migrated database: vectors, links, deletes, an attached table, half of it sealed."""
    chance = random.Random(7)
    with psycopg.connect(url, autocommit=True) as connection:
        db = Database(connection)
        db.rows("SELECT blend.set_setting('timeouts_ms', %s)", Jsonb(PATIENT))
        db.rows("SELECT blend.set_setting('k1', '1.4')")
        add_space(db)
        for collection, language in (("sealed", "english"), ("pending", "german")):
            db.rows("SELECT blend.add_collection(%s, %s)", collection, language)
            add_documents(db, collection, _documents(chance, collection, documents))
            if collection == "sealed":
                db.rows("SELECT blend.lexical_seal('sealed')")
                for key in ("d3", "d5", "d8"):
                    db.rows("SELECT blend.delete_document('sealed', %s)", key)
        db.rows("CREATE TABLE public.note (id int PRIMARY KEY, body text, part int)")
        db.rows("INSERT INTO note SELECT n, 'a sea of notes ' || n, n FROM generate_series(1, 9) n")
        db.rows("SELECT blend.attach_table('note', '{body}', metadata_columns => '{part}')")
        embed_waiting(db)
        db.rows("SELECT blend.index_embedding_space(%s)", SPACE)


def _documents(chance: random.Random, name: str, count: int) -> list[tuple[str, str, str]]:
    """Make documents of few words, so that many score alike, some with links to others."""
    return [
        (
            f"d{number}",
            f"{name} {number % 7}",
            " ".join(chance.choices(WORDS, k=chance.randint(3, 9)))
            + (f" [[d{chance.randrange(count)}]]" if number % 3 == 0 else ""),
        )
        for number in range(count)
    ]


def answers(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Ask every kind of search, all columns; every one finds something."""
    with psycopg.connect(url, autocommit=True) as connection:
        db = Database(connection)
        found = {"status": db.rows(STATUS)}
        for kind, search in SEARCHES.items():
            for query in QUERIES:
                values = {"query": query, "vector": vector_of(query)}
                found[f"{kind}: {query}"] = connection.execute(search.encode(), values).fetchall()
    assert all(any(found[f"{kind}: {query}"] for query in QUERIES) for kind in SEARCHES)
    return found
