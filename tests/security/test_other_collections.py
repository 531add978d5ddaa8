"""A writer of one collection (a) tries to write into another (b), which it cannot see."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from support.database import Database, add_documents, add_space, embed_waiting, stage

# What names a row of another table, and so of a collection.
REFERENCES = {
    "chunk_id",
    "chunk_ids",
    "document_id",
    "document_ids",
    "neighbour",
    "node",
    "query_id",
    "run_id",
    "segment_id",
    "set_id",
    "target_document_id",
}
# Of these a row names no other: a writer stores one of its own, and takes nobody's number.
OF_NO_OTHER = {
    "calibration",
    "collection_language",
    "document",
    "entity",
    "entity_extraction",
    "index_claim",
    "judged_set",
    "lexical_failure",
}
# By a policy, by a key, and by the trigger that reads a new chunk's document and finds none.
REFUSED = ("42501", "23503", "23502")
# What UPDATE says on chunks.
IMMUTABLE = (psycopg.errors.ObjectNotInPrerequisiteState, psycopg.errors.FeatureNotSupported)
# Of no collection: what sends texts to a model is for all.
OF_NO_COLLECTION = {"embedding_allowance", "embedding_worker"}
# A shard's notes of nodes are looked at, no more: tests/scale/test_graph.py forges them.
NOTES = {"graph_change"}
TABLES = (
    "SELECT c.relname::text FROM pg_class AS c WHERE c.relkind = 'r'"
    " AND c.relnamespace = 'pgblend_data'::regnamespace AND (has_table_privilege(c.oid, %s)"
    " OR %s AND has_any_column_privilege(c.oid, 'INSERT')) ORDER BY 1"
)
COLUMNS = (
    "SELECT a.attname::text FROM pg_attribute AS a WHERE a.attrelid = %s::regclass"
    " AND a.attnum > 0 AND a.attgenerated = '' AND (NOT %s OR a.attidentity = '')"
    " ORDER BY a.attnum"
)


@dataclass
class Attack:
    """Two collections with rows in every table; a superuser, and a writer of each."""

    admin: Database
    writer: Database
    owner: Database
    a: int
    b: int

    def tables(self, right: str) -> list[str]:
        """Return the tables that a writer may INSERT into, UPDATE or DELETE from."""
        return self.writer.column(TABLES, right, right == "INSERT")

    def columns(self, table: str, numbered: bool = False) -> list[str]:
        """Return a table's columns that a statement may give, the row's own number if asked for."""
        return self.admin.column(COLUMNS, f"pgblend_data.{table}", not numbered)

    def rows_of(self, table: str, collection: int) -> list[dict[str, Any]]:
        """Return a table's rows of a collection, in a stable order."""
        return self.admin.column(
            f"SELECT to_jsonb(t) FROM pgblend_data.{table} AS t WHERE t.collection_id = %s"
            " ORDER BY to_jsonb(t)::text",
            collection,
        )

    def insert(self, table: str, row: dict[str, Any], columns: list[str]) -> str:
        """Insert a row as the writer, and take it back; return the error's class, "" for none."""
        names = ", ".join(columns)
        statement = (
            f"INSERT INTO pgblend_data.{table} ({names}) OVERRIDING SYSTEM VALUE SELECT {names}"
            f" FROM jsonb_populate_record(NULL::pgblend_data.{table}, %s)"
        )
        try:
            with self.writer.connection.transaction(force_rollback=True):
                self.writer.rows(statement, json.dumps(row))
        except psycopg.Error as error:
            return f"{error.sqlstate} {error.diag.message_primary}"
        return ""


@pytest.fixture
def attack(committed: Database, connect_as: Callable[..., psycopg.Connection]) -> Attack:
    """Rows in every table that belongs to a collection, of both."""
    add_space(committed)
    for name in ("a", "b"):
        collection = committed.value("SELECT add_collection(%s)", name)
        add_documents(committed, name, [(k, f"Title {k}", f"walrus of {k}") for k in "kl"])
        embed_waiting(committed)
        committed.rows("SELECT lexical_seal(%s)", name)
        add_documents(committed, name, [("k", "Title", "an otter"), ("m", "M", "a seal")])
        committed.rows("SELECT add_links(%s, 'k', '[{\"target\": \"l\"}]'::jsonb)", name)
        committed.rows("SELECT add_edge(graph_node(%s, 'l'), graph_node(%s, 'm'))", name, name)
        committed.rows(
            "SELECT set_summary(d.id, 'short') FROM pgblend_data.document AS d"
            " WHERE d.collection_id = %s",
            collection,
        )
        committed.rows(
            "INSERT INTO pgblend_data.entity_extraction"
            " SELECT collection_id, content_hash, 'v', %s FROM pgblend_data.chunk"
            " WHERE collection_id = %s AND content ~ 'walrus'",
            '{"entities": [{"name": "walrus", "type": "x"}]}',
            collection,
        )
        committed.rows("SELECT pgblend._link_entities(%s, 'v')", collection)
        committed.rows("SELECT add_judged_set('set ' || %s, %s)", name, name)
        committed.rows("SELECT record_judgement('set ' || %s, 'otter', 'k', 2)", name)
        run = "pgblend._start_run('set ' || %s, 'lexical', NULL, '{}', 10)"
        assert committed.value(f"SELECT evaluate_queries({run})", name) == 1
        committed.rows(
            "INSERT INTO pgblend_data.calibration (collection_id, space, model, mean, deviation,"
            " figures, passages, judgements)"
            " SELECT %s, s.name, s.model, 0, 1, '{}', 1, 1 FROM pgblend_data.embedding_space AS s",
            collection,
        )
        committed.rows(
            "INSERT INTO pgblend_data.lexical_failure VALUES (%s, 'it failed')", collection
        )
        committed.rows(
            "INSERT INTO pgblend_data.unsettled (document_id, collection_id)"
            " SELECT d.id, d.collection_id FROM pgblend_data.document AS d"
            " WHERE d.collection_id = %s AND d.source_key = 'k'",
            collection,
        )
    for name in ("a", "b"):  # waits for its vector
        add_documents(committed, name, [("o", "O", "an orca")])
    writer, owner = (Database(connect_as("pgblend_writer")) for _ in range(2))
    for name, of in (("a", writer), ("b", owner)):
        committed.rows("SELECT grant_collection(%s, %s, 'write')", name, of.connection.info.user)
    ids = dict(committed.rows("SELECT name, id FROM pgblend_data.collection"))
    return Attack(committed, writer, owner, ids["a"], ids["b"])


def test_no_table_takes_a_row_that_hangs_on_another_collection(attack: Attack) -> None:
    tried = set()
    for table in attack.tables("INSERT"):
        if table in OF_NO_COLLECTION | NOTES:
            continue
        columns = attack.columns(table)
        rows = attack.rows_of(table, attack.b)
        assert rows or not REFERENCES & set(columns), f"nothing to try in {table}"
        for row in rows:
            forged = {**row, "collection_id": attack.a, "neighbour_collection_id": attack.a}
            if not REFERENCES & set(columns):
                assert table in OF_NO_OTHER
                forged.update(source_key="new", name_key="new", name="new", content_hash="new")
                stored = attack.insert(table, forged, columns)
                assert not stored or stored.startswith("23505"), (table, stored)  # a's own
                continue
            tried.add(table)
            said = attack.insert(table, forged, columns)
            assert said.startswith(REFUSED), (table, said)
            nobody = {
                column: 10**9 + place if column in REFERENCES and forged.get(column) else value
                for place, (column, value) in enumerate(forged.items())
            }
            assert attack.insert(table, nobody, columns) == said, table  # hidden is like missing
            assert attack.insert(table, row, columns).startswith("42501"), table
    assert {"chunk", "document_name", "document_summary", "edge", "embedding_queue"} <= tried
    assert {"embedding_test_space", "link", "judged_query", "judgement"} <= tried


def test_no_row_takes_the_number_of_a_row_to_come(attack: Attack) -> None:
    for table in attack.tables("INSERT"):
        numbered = attack.columns(table, numbered=True)
        if numbered == attack.columns(table):
            continue
        of_collection = "collection_id" in numbered
        for row in attack.rows_of(table, attack.a) if of_collection else [{"host": "", "id": 1}]:
            said = attack.insert(table, {**row, "id": 10**6}, numbered)
            assert said.startswith("42501 permission denied"), (table, said)


def test_no_row_is_moved_to_another_collection(attack: Attack) -> None:
    for table in attack.tables("UPDATE"):
        columns = set(attack.columns(table))
        if table in OF_NO_COLLECTION or "collection_id" not in columns:
            continue
        (of_b, *_) = attack.rows_of(table, attack.b) or [{"collection_id": attack.b}]
        for column in (REFERENCES | {"collection_id"}) & columns & set(of_b):
            for value in (of_b[column], 10**9):
                if value in (None, 0):
                    continue
                with attack.writer.connection.transaction(force_rollback=True):
                    where = (
                        f"WHERE ctid = (SELECT min(ctid) FROM pgblend_data.{table}"
                        " WHERE collection_id = %s)"
                    )
                    error = attack.writer.error(
                        f"UPDATE pgblend_data.{table} SET {column} = %s {where}", value, attack.a
                    )
                # 55000: chunks are immutable.
                assert error.sqlstate in ("42501", "23503", "55000", "0A000"), (
                    table,
                    column,
                    error.message_primary,
                )


def test_no_statement_touches_rows_of_another_collection(attack: Attack) -> None:
    tables = {*attack.tables("UPDATE"), *attack.tables("DELETE")} - OF_NO_COLLECTION
    before = {table: attack.rows_of(table, attack.b) for table in tables}
    for table in sorted(tables):
        with attack.writer.connection.transaction():
            for statement in (
                f"UPDATE pgblend_data.{table} SET collection_id = collection_id",
                f"DELETE FROM pgblend_data.{table} WHERE collection_id = {attack.b}",
            ):
                with (
                    suppress(psycopg.errors.InsufficientPrivilege, *IMMUTABLE),
                    attack.writer.connection.transaction(),
                ):
                    attack.writer.rows(statement)
    assert {table: attack.rows_of(table, attack.b) for table in tables} == before


def test_the_lexical_index_is_written_by_routines_alone(attack: Attack) -> None:
    index = {"pending", "posting", "segment", "tombstone", "vocabulary"}
    for right in ("INSERT", "UPDATE", "DELETE"):
        assert not index & set(attack.tables(right))
    for call in (
        "_seal_batch({b}, 'english')",
        "_seal_missing({b}, 'english')",
        "_drop_segments({b})",
        "_drop_pending({b}, NULL)",
        "_rebuild_vocabulary({b})",
        "_index_collection({b}, 'rebuild', 1)",
        "_load_segment({b}, NULL, NULL, NULL)",
        "_claim_index({b})",
        "_lock_segments({b})",
        "_drop_segments({a})",  # nothing claimed it
    ):
        statement = f"SELECT pgblend.{call.format(a=attack.a, b=attack.b)}"
        error = attack.writer.error(statement)
        assert error.sqlstate == "42501", (call, error.message_primary)
    with attack.writer.connection.transaction():  # a claim is of one collection
        attack.writer.rows("SELECT pgblend._claim_index(%s)", attack.a)
        error = attack.writer.error("SELECT pgblend._drop_segments(%s)", attack.b)
    assert error.sqlstate == "42501"
    error = attack.writer.error("SELECT pgblend._drop_segments(%s)", attack.a)  # and of its time
    assert error.sqlstate == "42501"


def test_a_loaded_segment_holds_no_chunk_of_another_collection(attack: Attack) -> None:
    load = (
        "SELECT pgblend._load_segment({}, s, ARRAY(SELECT p.data FROM pgblend_data.posting AS p"
        " WHERE p.segment_id = s.id ORDER BY p.block), ARRAY(SELECT c.id FROM pgblend_data.chunk"
        " AS c)) FROM pgblend_data.segment AS s WHERE s.collection_id = {}"
    )
    with attack.admin.connection.transaction(force_rollback=True):
        attack.admin.rows("SELECT pgblend._claim_index(%s)", attack.a)
        error = attack.admin.error(load.format(attack.a, attack.b))
        assert error.sqlstate == "22023"
        assert "not as this database wrote it" in str(error.message_primary)
        # What is in a segment already is not there twice.
        assert attack.admin.value(load.format(attack.a, attack.a)) == 0


def test_both_go_on_afterwards(attack: Attack) -> None:
    for of, name in ((attack.writer, "a"), (attack.owner, "b")):
        for status, key in (("replaced", "k"), ("added", "n")):
            ingest = "SELECT status FROM ingest_document(%s, %s, 'a penguin ' || %s)"
            assert of.value(ingest, name, key, key) == status
        assert of.value("SELECT lexical_seal(%s)", name) > 0
        assert of.value("SELECT lexical_rebuild(%s)", name) == 5
        assert set(of.column("SELECT source_key FROM lexical_search('penguin')")) == {"k", "n"}
        assert of.value("SELECT delete_document(%s, 'l')", name) is True
        assert embed_waiting(of) > 0
        assert of.warnings() == []


def test_vectors_of_hidden_chunks_are_not_stored(attack: Attack) -> None:
    hidden = attack.admin.value(
        "SELECT min(id) FROM pgblend_data.chunk WHERE collection_id = %s", attack.b
    )
    stage(attack.writer, [(hidden, [1.0] * 384)])
    assert attack.writer.value("SELECT pgblend._store_embeddings('test_space')") == 0
