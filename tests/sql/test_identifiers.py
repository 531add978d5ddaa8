"""Identifiers and codes are found exactly, and first."""

import pytest

from support.database import Database

NAMES = ["ERR-1042", "foo.bar_baz()", "/etc/fstab", "v1.2.3", "snake_case", "std::string", "C++"]


@pytest.fixture
def library(db: Database) -> Database:
    db.rows("SELECT add_collection('c')")
    db.rows(
        "SELECT ingest_document('c', 'exact', %s)", f"See {', '.join(NAMES)}. " + "other " * 300
    )
    for name in NAMES:
        pieces = " ".join("".join(c if c.isalnum() else " " for c in name).split())
        db.rows("SELECT ingest_document('c', %s, %s)", f"pieces {name}", f"{pieces} " * 30)
        db.rows("SELECT ingest_document('c', %s, %s)", f"short {name}", pieces)
    return db


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sealed", [False, True])
def test_exact_comes_first(library: Database, name: str, sealed: bool) -> None:
    if sealed:
        library.rows("SELECT blend.lexical_seal('c')")
    for query in (name, name.upper() if name != "C++" else "c++", f"what is {name}"):
        found = library.column("SELECT source_key FROM lexical_search(%s)", query)
        assert found[0] == "exact", query


def test_parts_of_a_dotted_name(library: Database) -> None:
    assert library.column("SELECT source_key FROM lexical_search('bar_baz')")[0] == "exact"


def test_stored_beside_the_words(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    db.rows("SELECT ingest_document('c', '7', 'Fix ERR-1042 now', title => 'snake_case')")
    lexemes, length = db.row(
        "SELECT c.lexemes::text, p.length FROM pgblend_data.chunk AS c"
        " JOIN pgblend_data.pending AS p ON p.chunk_id = c.id"
    )
    names = [part for part in lexemes.split() if part.startswith("'=")]
    assert [name.split(":")[0] for name in names] == ["'=err-1042'", "'=snake_case'"]
    assert all(name.endswith("C") for name in names)
    assert length == 5  # fix err 1042, snake case; "now" is a stop word


def test_a_longer_question_is_ranked_by_its_words(db: Database) -> None:
    query = "does IL-6 signalling change lung cancer growth in older patients"
    lexemes = db.value("SELECT lexemes FROM pgblend._parse_query(%s, 'english')", query)
    assert "=il-6" not in lexemes
    assert "=il-6" in db.value("SELECT lexemes FROM pgblend._parse_query('IL-6', 'english')")


@pytest.mark.parametrize("text", ["it's a_b'c", "a\\b_c '' \\' _", "=x_y: =a_b"])
def test_any_characters(db: Database, text: str) -> None:
    db.rows("SELECT add_collection('c')")
    db.rows("SELECT ingest_document('c', 'k', %s)", text)
    assert db.column("SELECT source_key FROM lexical_search(%s)", text) in (["k"], [])
