"""A lexical index that somebody has damaged in SQL: found, named, gone on without, mended."""

import json
import random
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from support.database import Database, add_documents

pytestmark = pytest.mark.extended

LIBRARIES = {
    "damaged": [(f"d{n}", f"Title {n}", f"wine number {n} of word{n % 7}") for n in range(40)],
    "sound": [("red", "", "red wine"), ("sea", "", "the sea and the wind")],
}
CUT = "substr({0}, 1, greatest(octet_length({0}) - {1}, 0))"
ROWS = ("chunk_ids", "document_ids", "chunk_indexes", "lengths", "own_lengths")
ARRAYS = (*ROWS, "code_book", "terms", "document_frequencies")
OF_DAMAGED = "collection_id = (SELECT id FROM pgblend_data.collection WHERE name = 'damaged')"
DAMAGES = {
    **{f"{name} cut": f"UPDATE segment SET {name} = {CUT.format(name, 1)}" for name in ARRAYS},
    **{f"{name} less": f"UPDATE segment SET {name} = {CUT.format(name, 8)}" for name in ROWS},
    **{f"{name} empty": f"UPDATE segment SET {name} = ''" for name in ARRAYS},
    "terms reversed": r"UPDATE segment SET terms = overlay(terms placing '\x7f' from 8)",
    "more rows": "UPDATE segment SET n = n + 1",
    "dead beyond": r"UPDATE segment SET dead = '\xffff0000'",
    "dead below": r"UPDATE segment SET dead = '\xffffffff'",
    "dead cut": r"UPDATE segment SET dead = '\xff'",
    "other frequencies": "UPDATE segment SET document_frequencies ="
    r" overlay(document_frequencies placing '\x2700' from 1)",
    "no blocks": "DELETE FROM posting",
    "blocks moved": "UPDATE posting SET block = block + 1",
    "blocks cut": f"UPDATE posting SET data = {CUT.format('data', 1)}",
    "blocks longer": r"UPDATE posting SET data = data || '\x00'",
    "blocks empty": "UPDATE posting SET data = ''",
    "rows beyond": "UPDATE posting SET data ="
    r" decode(repeat('ff', octet_length(data)), 'hex')",
}  # fmt: skip
PENDING = "UPDATE pending SET records = substr(records, 1, octet_length(records) - 3)"
SEARCHES: dict[str, tuple[str, dict[str, Any]]] = {
    "lexical": ("lexical_search", {}),
    "hybrid": ("hybrid_search", {"weights": {"vector": 0}}),
    "documents": ("hybrid_search", {"weights": {"vector": 0}, "level": "document"}),
    "fuzzy": ("fuzzy_search", {"fuzzy": "on"}),
}


@pytest.fixture
def libraries(db: Database) -> Database:
    for collection, documents in LIBRARIES.items():
        db.rows("SELECT add_collection(%s)", collection)
        add_documents(db, collection, documents)
    return db


def damage(db: Database, statement: str) -> None:
    """Run a statement on the rows of the collection `damaged`."""
    joint = " WHERE " if " WHERE " not in statement else " AND "
    db.rows("SET LOCAL search_path = pgblend_data, blend, public")
    db.rows(statement + joint + OF_DAMAGED)
    db.rows("SET LOCAL search_path = public, blend")


def rows(db: Database, function: str, query: str, options: dict[str, Any]) -> list[Any]:
    statement = f"SELECT source_key, degraded FROM {function}(%s, 50, options => %s)"
    return db.rows(statement, query, json.dumps(options))


def status(db: Database) -> tuple[str, str | None]:
    return db.row("SELECT status, last_error FROM lexical_status('damaged')")  # type: ignore[return-value]


@pytest.mark.fault("segments damaged by a writer", "named with its mend; lexical_rebuild mends")
@pytest.mark.parametrize("what", DAMAGES)
def test_it_is_named_and_mended(libraries: Database, what: str) -> None:
    db = libraries
    db.rows("SELECT lexical_seal()")
    damage(db, DAMAGES[what])
    told, reason = status(db)
    assert (told, str(reason).rpartition(": ")[2]) == ("error", "run lexical_rebuild")
    for function, options in SEARCHES.values():
        error = db.error(
            f"SELECT * FROM {function}('wine', options => %s)",
            json.dumps(options | {"strict": True}),
        )
        assert error.sqlstate == "PB002", what
        assert 'the lexical index of collection "damaged" is damaged' in str(error.message_primary)
        assert error.message_hint == "Make it anew: SELECT lexical_rebuild('damaged')"
        db.warnings()
        found = rows(db, function, "wine", options)
        assert [key for key, _ in found] == ["red"]  # the other collection's words
        assert 'collection "damaged" is damaged' in str(found[0][1])
        assert any('collection "damaged" is damaged' in text for text in db.warnings())
    assert db.value("SELECT lexical_rebuild('damaged')") == len(LIBRARIES["damaged"])
    assert status(db) == ("ready", None)
    for function, options in SEARCHES.values():
        found = rows(db, function, "wine", options)
        assert len(found) == len(LIBRARIES["damaged"]) + 1
        assert "damaged" not in str(found[0][1])


def test_so_is_one_of_chunks_that_wait(libraries: Database) -> None:
    db = libraries
    damage(db, PENDING)
    error = db.error("""SELECT * FROM lexical_search('wine', options => '{"strict": true}')""")
    assert error.sqlstate == "PB002"
    assert [key for key, _ in rows(db, "lexical_search", "wine", {})] == ["red"]
    assert db.value("SELECT lexical_rebuild('damaged')") == len(LIBRARIES["damaged"])
    assert len(rows(db, "lexical_search", "wine", {})) == len(LIBRARIES["damaged"]) + 1


def test_a_seal_that_meets_it_fails_and_a_rebuild_mends(libraries: Database) -> None:
    db = libraries
    db.rows("SELECT lexical_seal()")
    damage(db, DAMAGES["lengths cut"])
    db.rows("SELECT delete_document('damaged', 'd7')")
    assert db.value("SELECT lexical_seal('damaged')") is None
    assert status(db)[0] == "error"
    assert db.value("SELECT lexical_rebuild('damaged')") == len(LIBRARIES["damaged"]) - 1
    assert status(db) == ("ready", None)


def test_whatever_a_writer_does_to_the_bytes_no_search_fails_by_itself(libraries: Database) -> None:
    """Bytes changed at random give rows, others or fewer than before, or the error of a damage."""
    db = libraries
    db.rows("SELECT lexical_seal()")
    chance = random.Random(4)
    columns = [("segment", name) for name in (*ARRAYS, "dead")] + [("posting", "data")] * 4
    for _ in range(60):
        table, column = chance.choice(columns)
        place, byte = chance.randrange(2000), chance.randrange(256)
        with db.connection.transaction(force_rollback=True):
            damage(
                db,
                f"UPDATE {table} SET {column} = set_byte("
                f"{column}, {place} % octet_length({column}), {byte})"
                f" WHERE octet_length({column}) > 0",
            )
            for function, options in SEARCHES.values():
                rows(db, function, "wine number", options)  # lenient: no error at all


def test_a_writer_can_mend_it(
    committed: Database, connect_as: Callable[..., psycopg.Connection]
) -> None:
    committed.rows("SELECT add_collection('damaged')")
    add_documents(committed, "damaged", LIBRARIES["damaged"])
    committed.rows("SELECT lexical_seal()")
    writer = Database(connect_as("pgblend_reader", "pgblend_writer"))
    role = writer.connection.info.user
    for privilege in ("read", "write"):
        committed.rows("SELECT grant_collection('damaged', %s, %s)", role, privilege)
    assert len(rows(writer, "lexical_search", "wine", {})) == 40
    committed.rows("UPDATE pgblend_data.segment SET lengths = substr(lengths, 1, 7)")
    writer.warnings()
    assert rows(writer, "lexical_search", "wine", {}) == []
    assert any("SELECT lexical_rebuild('damaged')" in text for text in writer.warnings())
    assert status(writer)[0] == "error"
    assert writer.value("SELECT lexical_rebuild('damaged')") == 40
    assert len(rows(writer, "lexical_search", "wine", {})) == 40
