"""Databases to migrate, and rows to put into them."""

from collections.abc import Callable

import psycopg
import pytest

from support.catalogue import schema
from support.database import Database, add_documents, add_space, embed_waiting


@pytest.fixture
def fresh_schema(server, template: str) -> str:  # type: ignore[no-untyped-def]
    """What a new installation looks like."""
    return schema(server.url(template))


@pytest.fixture
def fill() -> Callable[[str, str], list[str]]:
    """Put rows into the tables of a revision; returns counts that must survive."""

    def fill_revision(url: str, revision: str) -> list[str]:
        with psycopg.connect(url, autocommit=True) as connection:
            db = Database(connection)
            db.rows("INSERT INTO pgblend_data.profile VALUES ('mine', 'test', '{}')")
            kept = ["SELECT count(*) FROM pgblend_data.profile WHERE name = 'mine'"]
            if "0002" <= revision < "0010":  # tables without routines
                fill_tables(db)
                kept += ["SELECT count(*) FROM lexical_search('words')"]
            if revision >= "0010":
                db.rows("SELECT add_collection('kept')")
                add_documents(db, "kept", [("k", "Title", "some words")])
                add_space(db)
                embed_waiting(db)
                db.rows("SELECT set_setting('k1', '2')")
                kept += [
                    "SELECT count(*) FROM lexical_search('words')",
                    "SELECT count(*) FROM pgblend_data.embedding_test_space",
                    "SELECT count(*) FROM setting_changes WHERE name = 'k1'",
                ]
            return kept

    return fill_revision


def fill_tables(db: Database) -> None:
    """A document with one chunk, written by hand; search must find it once there are routines."""
    db.rows(
        "WITH c AS (INSERT INTO pgblend_data.collection (name, text_search_config)"
        " VALUES ('kept', 'english') RETURNING id),"
        " l AS (INSERT INTO pgblend_data.collection_language SELECT id, 'english' FROM c),"
        " d AS (INSERT INTO pgblend_data.document (collection_id, bucket, source_key, title,"
        " text_search_config, metadata, content_hash)"
        " SELECT id, 0, 'k', 'Title', 'english', '{}', 'x' FROM c RETURNING id, collection_id)"
        " INSERT INTO pgblend_data.chunk (document_id, chunk_index, collection_id, bucket, content,"
        " kind, own_start, token_count, metadata, text_search_config, lexemes, length,"
        " own_position, own_length)"
        " SELECT id, 0, collection_id, 0, 'some words', 'doc', 0, 2, '{}', 'english',"
        " to_tsvector('english', 'Title some words'), 2, 0, 2 FROM d"
    )


@pytest.fixture
def empty(new_database: Callable[..., str]) -> str:
    """A new database with the extensions, and nothing of ours."""
    url = new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        for extension in ("vector", "pg_trgm", "plpython3u"):
            connection.execute(f"CREATE EXTENSION {extension}")  # type: ignore[call-overload]
    return url
