"""A database with the extension is dumped and restored as any other.

10,000 documents of an attached table, deletes, sealed and pending chunks, two spaces, settings.
"""

from typing import Any

import pytest

from pgblend.migrations import runner
from support.catalogue import run_client, schema
from support.database import Database
from support.extension_server import MEMBERS, Place, install

pytestmark = pytest.mark.slow

TABLES = (
    "SELECT c.oid::regclass::text FROM pg_class AS c WHERE c.relkind = 'r'"
    " AND c.relnamespace IN ('pgblend_data'::regnamespace, 'public'::regnamespace) ORDER BY 1"
)
SEQUENCES = (
    "SELECT string_agg(format('%s %s', sequencename, last_value), ',' ORDER BY sequencename)"
    " FROM pg_sequences WHERE schemaname = 'pgblend_data'"
)


FILL = (
    "CREATE TABLE memo (id int PRIMARY KEY, body text)",
    "INSERT INTO memo SELECT n, format('Memo %s on wine and ships, number%s', n, n % 97)"
    " FROM generate_series(1, 10000) AS n",
    "SELECT attach_table('memo', '{body}')",
    *["SELECT fill_table('memo', 2500)"] * 5,  # the last one finds no more
    "SELECT lexical_seal('memo')",
    "DELETE FROM memo WHERE id <= 300",
    "INSERT INTO memo SELECT n, 'A late memo on wine' FROM generate_series(10001, 10200) AS n",
    "SELECT add_collection('books')",
    "SELECT ingest_document('books', 'b' || n, 'A book on wine') FROM generate_series(1, 20) AS n",
    "SELECT delete_document('books', 'b1')",
    "SELECT grant_collection('books', 'pgblend_reader')",
    "SELECT create_embedding_space('one', 'm', 2, probe => false)",
    "SELECT create_embedding_space('two', 'n', 3, storage => 'halfvec', probe => false)",
    "INSERT INTO pgblend_data.embedding_one"
    " SELECT id, document_id, chunk_index, collection_id, bucket,"
    " format('[%s,%s]', cos(id), sin(id))::vector FROM pgblend_data.chunk WHERE id % 3 > 0",
    "INSERT INTO pgblend_data.embedding_two"
    " SELECT id, document_id, chunk_index, collection_id, bucket, format('[1,2,%s]', id)::halfvec"
    " FROM pgblend_data.chunk WHERE id % 5 = 0",
    "SELECT set_setting('k1', '2'), set_profile('mine', 'my own', '{\"rrf_k\": 30}')",
)


def rows_of(db: Database) -> dict[str, Any]:
    """All rows of all tables as one digest each, and where the sequences stand."""
    digest = "SELECT count(*), md5(string_agg(t::text, '' ORDER BY t::text)) FROM {} AS t"
    return {table: db.row(digest.format(table)) for table in db.column(TABLES)} | {
        "sequences": db.value(SEQUENCES)
    }


def found(db: Database) -> list[Any]:
    return db.rows(
        "SELECT source_key, score FROM hybrid_search('wine number7', query_embedding => '[1,0,0]')"
        " ORDER BY rank"
    )


def test_dump_and_restore(bare: Database, place: Place) -> None:
    install(bare)
    for statement in FILL:
        bare.rows(statement)
    assert bare.value("SELECT sum(pending) FROM lexical_status()") > 0
    assert bare.value("SELECT sum(sealed) FROM lexical_status()") > 9_000
    assert bare.value("SELECT count(*) FROM pgblend_data.embedding_queue") > 0
    dump = run_client("pg_dump", bare.url)
    with place.database() as target:
        run_client("psql", target.url, "-v", "ON_ERROR_STOP=1", stdin=dump)
        assert rows_of(target) == rows_of(bare)
        assert schema(target.url) == schema(bare.url)
        assert target.column(MEMBERS) == bare.column(MEMBERS)
        assert len(found(target)) == 10
        assert found(target) == found(bare)
        assert runner.status(target.url)["drift"] is False
        target.rows("INSERT INTO memo VALUES (20000, 'A memo on zeppelins')")
        target.rows("SELECT ingest_document('books', 'next', 'The next book, on zeppelins')")
        assert set(target.column("SELECT source_key FROM lexical_search('zeppelins')")) == {
            "20000",
            "next",
        }
        before = schema(target.url)
        target.rows("SELECT blend.install()")
        assert schema(target.url) == before
