"""Rows that hang on documents of another collection, from before the keys that refuse them."""

import psycopg
import pytest

from pgblend.cli.doctor.objects import broken_keys
from pgblend.migrations import runner
from support.database import Database, add_documents, add_space

NOT_VALID = "SELECT conname::text FROM pg_constraint WHERE NOT convalidated ORDER BY 1"
COPIED = (
    "document_id, bucket, content, kind, own_start, token_count, metadata, text_search_config,"
    " lexemes, length, own_position, own_length"
)


def test_an_upgrade_lists_them_and_leaves_them(
    first_release_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    url = first_release_url
    with psycopg.connect(url, autocommit=True) as connection:
        db = Database(connection)
        for name in ("a", "b"):
            db.rows("SELECT pgblend.add_collection(%s)", name)
        add_space(db)
        add_documents(db, "b", [("k", "Title", "some words")])
        foreign = db.value(
            f"INSERT INTO pgblend_data.chunk (collection_id, chunk_index, {COPIED})"
            f" SELECT collection_id - 1, 9, {COPIED} FROM pgblend_data.chunk RETURNING id"
        )
        named = db.row("SELECT document_id, collection_id FROM pgblend_data.chunk WHERE id = %s",
                       foreign)  # fmt: skip
    capsys.readouterr()
    runner.upgrade(url)
    told = capsys.readouterr().err
    assert "rows of pgblend_data.chunk belong to no row of pgblend_data.document" in told
    assert f"({named[0]},{named[1]})" in told
    with psycopg.connect(url, autocommit=True) as connection:
        db = Database(connection)
        assert db.column(NOT_VALID) == ["chunk_document_fkey"]
        (check,) = broken_keys(connection)
        assert check.status == "problem"
        validate = "ALTER TABLE pgblend_data.chunk VALIDATE CONSTRAINT chunk_document_fkey"
        assert validate in told
        assert validate in check.mend
        assert db.error(validate).sqlstate == "23503"
        db.rows("DELETE FROM pgblend_data.chunk WHERE id = %s", foreign)
        db.rows(validate)
        assert list(broken_keys(connection)) == []
