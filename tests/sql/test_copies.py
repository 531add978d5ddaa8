"""A text that several documents hold: shown once, with the names of all, and no miss."""

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from pgblend.plpy.base.ports import Holder
from pgblend.plpy.search.candidates import Fused
from pgblend.plpy.search.rows import copies_on_page
from support.database import Database, add_documents

SHARED = "The fox jumps over the lazy dog."
DOCUMENTS = [
    ("one", "", SHARED),
    ("two", "Second", SHARED),
    ("three", "", SHARED),
    ("almost", "", "The fox jumps over the lazy dog again."),
    ("other", "", "A fox sleeps."),
]


def fill(db: Database, collection: str = "c") -> None:
    db.rows("SELECT add_collection(%s)", collection)
    add_documents(db, collection, DOCUMENTS)


@pytest.fixture
def library(db: Database) -> Database:
    fill(db)
    return db


def copies(db: Database, query: str = "fox jumps", **options: Any) -> dict[str, list[str]]:
    """The keys of rows with the keys of their copies."""
    rows = db.rows(
        "SELECT source_key, details FROM hybrid_search(%s, options => %s) ORDER BY rank",
        query,
        Jsonb({"mode": "fast", **options}),
    )
    return {
        key: sorted(copy["source_key"] for copy in details.get("copies", []))
        for key, details in rows
    }


def test_a_row_names_the_documents_that_hold_its_text(library: Database) -> None:
    details = library.value("SELECT details FROM lexical_search('jumps over second', 1)")
    of_two = {"document_id", "collection", "source_key", "uri", "title"}
    assert [set(copy) for copy in details["copies"]] == [of_two] * 2
    document = library.rows(
        "SELECT document_id, collection, source_key, uri, title FROM documents"
        " WHERE source_key = 'one'"
    )
    first = details["copies"][0]
    assert [tuple(first[name] for name in (
        "document_id", "collection", "source_key", "uri", "title"))] == document  # fmt: skip


@pytest.mark.parametrize("dedup", ["exact", "overlap"])
def test_only_the_very_text_is_a_copy(library: Database, dedup: str) -> None:
    told = copies(library, dedup=dedup)
    assert told == {"one": ["three", "two"], "almost": [], "other": []}


def test_what_was_left_out_as_nearly_the_same_is_named(library: Database) -> None:
    told = copies(library, dedup="near", dedup_similarity=0.5)
    assert told == {"one": ["almost", "three", "two"], "other": []}
    near = library.value(
        "SELECT jsonb_path_query_array(details, '$.copies[*].likeness')"
        " FROM hybrid_search('fox jumps', options => %s) WHERE rank = 1",
        Jsonb({"mode": "fast", "dedup": "near", "dedup_similarity": 0.5}),
    )
    assert near == [pytest.approx(5 / 6)]


def test_without_dedup_each_is_a_row(library: Database) -> None:
    told = copies(library, dedup="off")
    assert {"one", "two", "three"} <= told.keys()
    assert not any(told.values())


@pytest.mark.parametrize("limit", [1, 2, 10])
def test_copies_do_not_depend_on_the_limit(db: Database, limit: int) -> None:
    """Here a title parts the copies: twenty other passages stand between them."""
    db.rows("SELECT add_collection('c')")
    between = [(f"b{number}", "jumps", f"Jumps number {number}.") for number in range(20)]
    add_documents(db, "c", [("top", "jumps jumps jumps", SHARED), *between, ("last", "", SHARED)])
    query = "SELECT details FROM lexical_search('jumps', %s)"
    details = db.rows(query, limit)[0][0]
    assert [copy["source_key"] for copy in details["copies"]] == ["last"]


@pytest.mark.parametrize("collections", [2, 40])
def test_a_copy_in_another_collection_is_named(db: Database, collections: int) -> None:
    for number in range(collections):
        db.rows("SELECT add_collection(%s)", f"c{number}")
    for name in ("c0", f"c{collections - 1}"):
        add_documents(db, name, [(name, "", SHARED)])
    ((details,),) = db.rows("SELECT details FROM lexical_search('fox')")
    assert [copy["collection"] for copy in details["copies"]] == [f"c{collections - 1}"]


def test_what_a_caller_may_not_read_is_no_copy(committed: Database, connect_as: Any) -> None:
    fill(committed)
    fill(committed, "hidden")
    committed.rows("SELECT grant_collection('c', 'pgblend_reader', 'read')")
    reader: psycopg.Connection = connect_as("pgblend_reader")
    query = "SELECT details FROM lexical_search('jumps over', 1)"
    for db, count in ((Database(reader), 2), (committed, 5)):
        assert len(db.value(query)["copies"]) == count


def test_what_a_filter_leaves_out_is_no_copy(library: Database) -> None:
    query = "SELECT details FROM lexical_search('jumps over', 1, filter => %s)"
    passing = Jsonb({"$source_key": {"in": ["one", "three"]}})
    (copy,) = library.value(query, passing)["copies"]
    assert copy["source_key"] in ("one", "three")


def judged(db: Database, *relevant: tuple[str, int], query: str = "fox jumps") -> list[str]:
    """The documents that a run of the words finds for a query with these judgements."""
    db.rows("SELECT add_judged_set('mine', 'c')")
    for key, grade in relevant:
        db.rows("SELECT record_judgement('mine', %s, %s, %s)", query, key, grade)
    run = db.value("SELECT pgblend._start_run('mine', 'lexical', NULL, '{}', 10)")
    assert db.value("SELECT evaluate_queries(%s)", run) == 1
    keys: list[str] = db.value("SELECT source_keys FROM pgblend_data.evaluation_result")
    return keys


@pytest.mark.parametrize(
    ("relevant", "expected"),
    [
        ([("one", 1)], ["one"]),
        ([("three", 1), ("one", 0)], ["three"]),
        ([("one", 1), ("three", 2)], ["three", "one"]),
        ([("two", 1), ("three", 1)], ["two", "three"]),
        ([("other", 1)], ["two"]),
        ([("one", -1), ("other", 1)], ["two"]),
    ],
)
def test_a_relevant_copy_is_found(
    library: Database, relevant: list[tuple[str, int]], expected: list[str]
) -> None:
    query = "second fox jumps over"  # the title of two puts it first
    found = judged(library, *relevant, query=query)
    assert found[: len(expected)] == expected
    assert sorted(found[len(expected) :]) == ["almost", "other"]


def test_pages_without_a_text_or_other_candidates() -> None:
    pool = Fused([5, 6], [1, 2], order=[0, 1])

    def unasked(*_: object) -> list[Holder]:
        raise AssertionError("nothing is to be read")

    assert copies_on_page([0], pool, {5: " "}, unasked) == [[]]
    assert copies_on_page([0, 1], pool, {5: "a", 6: "a"}, unasked) == [[], []]
    assert copies_on_page([], pool, {}, unasked) == []
