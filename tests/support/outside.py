"""A library, its program inside and outside of the backend, and rows as the server gives them."""

import json
from typing import Any

import psycopg

from pgblend.cli.search.calls_outside import SearchArguments, search
from pgblend.cli.search.connection import Connection
from pgblend.cli.search.outside import StatementError
from pgblend.plpy.base.session import ProgramError
from pgblend.sql import render
from pgblend.sql.outside import with_stand_ins
from support.database import Database
from support.random_searches import LANGUAGES, SEARCHES, VECTOR, WORDS, Search
from support.shards import embed

_ONLY = {
    "hybrid_search": None,
    "lexical_search": "lexical",
    "fuzzy_search": "fuzzy",
    "vector_search": "vector",
}
_COLUMNS = "SELECT r.* FROM json_populate_recordset(NULL::blend.search_result, %s) AS r"
_JSON = ("metadata", "arms", "details")
# A busy machine is no reason to search without words.
WAIT = "SELECT set_setting('timeouts_ms', '{\"lexical\": 60000, \"total\": 60000}')"
_INGEST = "SELECT ingest_document(%s, %s, %s, %s, language => %s)"
_TITLES = ["", "Wine", "Fox and sea"]


def fill_library(database: Database) -> None:
    """Store 120 documents of three languages, with vectors."""
    for name in LANGUAGES:
        database.rows("SELECT add_collection(%s)", name)
    for number in range(120):
        collection, title = [*LANGUAGES][number % 3], _TITLES[number % 3]
        content = " ".join(WORDS[number * k % len(WORDS)] for k in range(1, 3 + number % 9))
        values = collection, f"k{number}", content, title, LANGUAGES[collection]
        database.rows(_INGEST, *values)
    database.rows("SELECT create_embedding_space('s', 'm', 8, probe => false)")
    embed(database, "s", 8)


def take_python_away(url: str) -> None:
    """Put stand-ins in the place of all PL/Python routines."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = pg_catalog, blend, public")
        connection.execute(with_stand_ins(render()).encode(), prepare=False)
        connection.execute("DROP EXTENSION plpython3u")


def asked_of(given: Search) -> SearchArguments:
    """Return what the program is asked for a random search."""
    function, query, options, collections, filter_ = given
    return SearchArguments(
        query,
        5,
        collections,
        None if filter_ is None else json.dumps(filter_),
        options=json.dumps(options),
        query_embedding=VECTOR if SEARCHES[function] else None,
        only_arm=_ONLY[function],
    )


def rows_outside(
    db: Connection, reader: Database, asked: SearchArguments, role: str | None = None
) -> Any:
    """Return all columns as `reader` has them of its server, or the error."""
    try:
        answer = search(db, asked, role)
    except StatementError as error:
        return error.sqlstate, str(error)
    except ProgramError as error:
        return error.sqlstate, error.message
    found = [row._asdict() for row in answer["results"]]
    for row in found:
        row |= {name: json.loads(row[name]) for name in _JSON}
    return reader.rows(_COLUMNS, json.dumps(found))
