"""Title and headings weigh more than the body."""

import json

import pytest

from support.database import Database

CHUNKS = [
    ("t", "apple", None, "pear plum"),
    ("h", "pear", "apple", "plum pear"),
    ("b", "pear", None, "apple plum"),
    ("bb", "x", None, "apple apple plum cherry ERR-1042"),
    ("n", "cherry", "cherry", "plum"),
]


@pytest.fixture
def library(db: Database) -> Database:
    db.rows("SELECT add_collection('c', 'simple')")
    for key, title, heading, content in CHUNKS:
        chunks = json.dumps([{"content": content, "heading": heading}])
        db.rows(
            "SELECT ingest_document('c', %s, '', title => %s, chunks => %s)", key, title, chunks
        )
    return db


def search(db: Database, query: str = "apple", **options: float) -> list[str]:
    return db.column(
        "SELECT source_key FROM lexical_search(%s, options => %s)", query, json.dumps(options)
    )


def test_title_then_heading_then_body(library: Database) -> None:
    found = search(library)
    assert found.index("t") < found.index("h") < found.index("b")


def test_weight_0_leaves_a_field_out(library: Database) -> None:
    for sealed in (False, True):
        if sealed:
            library.rows("SELECT blend.lexical_seal('c')")
        for k1 in (0, 1.2):
            assert set(search(library, title_weight=0, heading_weight=0, k1=k1)) == {"b", "bb"}
            assert set(search(library, title_weight=0, k1=k1)) == {"h", "b", "bb"}


@pytest.mark.parametrize("value", [-1, 101, "x"])
def test_out_of_range(library: Database, value: object) -> None:
    error = library.error(
        "SELECT * FROM lexical_search('x', options => %s)", json.dumps({"title_weight": value})
    )
    assert error.sqlstate == "22023"
