"""The filter language, row by row and against a model of it in Python."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pgblend.plpy.lexical.candidate_filter import CandidateFilter, candidate_filter
from support.database import Database
from support.filter_model import Passage, passes
from support.served_database import ServedDatabase

# key: (document's metadata, chunk's metadata, modified_at)
LIBRARY: dict[str, tuple[dict[str, Any], dict[str, Any], str | None]] = {
    "docs/a.md": (
        {
            "n": 1,
            "s": "b",
            "tags": ["x", "y"],
            "deep": {"er": 1},
            "prices": [1, 5, None],
            "items": [{"sku": "s1", "day": "2026-01-31T10:00Z"}, {"sku": "s2", "tags": ["p", "q"]}],
        },
        {},
        "2026-01-31 15:00Z",
    ),
    "docs/b.md": (
        {"n": 2.0, "s": "B", "tags": [], "deep.er": 1, "and": "reserved", "items": {"sku": "s3"}},
        {"prices": ["42"]},
        None,
    ),
    "docs/c.md": (
        {"n": "1", "s": "2026-02-28", "tags": "x", "$id": 7},
        {"n": 1, "items": [{"sku": ["s4", "s1"]}, {"sku": None}, {"in": [{"sku": "s5"}]}, 7]},
        "2026-02-01 00:00Z",
    ),
    "notes/d": (
        {"n": None, "s": "é", "b": True, "date": "2026-03-01"},
        {"tags": ["x"], "prices": ["2026-01-31T10:00+01:00", [9]]},
        None,
    ),
    "notes/e": (
        {"n": 1, "b": False, "date": "no date", "prices": [True, {"a": 9}, 4, 8]},
        {"n": None, "deep": {"er": {"est": 2}}},
        None,
    ),
    "notes/f%": ({}, {}, "2026-01-31 00:00Z"),
}
ALL = sorted(LIBRARY)
A, B, C, D, E, F = ALL


def add_library(db: Database) -> None:
    """Ingest the library: one chunk a document; the language of notes is german."""
    for name in ("docs", "notes"):
        db.rows("SELECT add_collection(%s)", name)
    for key in ALL:
        metadata, chunk_metadata, modified_at = LIBRARY[key]
        db.rows(
            "SELECT ingest_document(%s, %s, '', 'Title ' || %s::text, metadata => %s, uri => %s,"
            " media_type => %s, modified_at => %s, language => %s, chunks => %s)",
            key.partition("/")[0],
            key,
            key,
            json.dumps(metadata),
            key if key != F else None,
            "text/markdown" if key.endswith(".md") else None,
            modified_at,
            "english" if key.startswith("docs") else "german",
            json.dumps(
                [
                    {
                        "content": f"word {key}",
                        "metadata": chunk_metadata,
                        "kind": "code" if key == A else "doc",
                    }
                ]
            ),
        )
    db.rows("UPDATE pgblend_data.document SET ingested_at = '2026-05-05 12:00Z'")


@pytest.fixture(scope="module")
def library(module_connection: psycopg.Connection) -> Iterator[Database]:
    db = Database(module_connection)
    add_library(db)
    yield db
    db.rows("SELECT remove_collection('docs'), remove_collection('notes')")


def checked_by(db: Database, text: str | None, words: str | None = None) -> CandidateFilter:
    """Return the lexical arm's check of its candidates."""
    ids = db.column("SELECT id FROM pgblend_data.collection")
    check = candidate_filter(ServedDatabase(db.connection), ids, text, words)
    assert check is not None
    return check


def keys_of(db: Database, column: str, ids: list[int]) -> list[str]:
    """Return the documents' keys of chunks or documents."""
    name = {"chunk_ids": "c.id", "document_ids": "d.id"}[column]
    return db.column(
        "SELECT d.source_key FROM pgblend_data.document AS d JOIN pgblend_data.chunk AS c"
        f" ON c.document_id = d.id WHERE {name} = ANY(%s) ORDER BY 1",
        ids,
    )


def passing(db: Database, conditions: dict[str, Any]) -> list[str]:
    """Return the documents that pass, by all ways of finding out."""
    named = (
        "SELECT d.source_key FROM unnest({}) AS id JOIN pgblend_data.chunk AS c USING (id)"
        " JOIN pgblend_data.document AS d ON d.id = c.document_id"
    )
    collected, checked = (
        sorted(db.column(named.format(call), json.dumps(conditions)))
        for call in (
            "pgblend._filtered_ids(%s, ARRAY(SELECT id FROM pgblend_data.collection), NULL)",
            "pgblend._filter_candidates("
            "chunk_ids => ARRAY(SELECT id FROM pgblend_data.chunk), filter => %s)",
        )
    )
    assert collected == checked
    check = checked_by(db, json.dumps(conditions))
    table = check.column.removesuffix("_ids")
    every = db.column(f"SELECT id FROM pgblend_data.{table} ORDER BY id DESC")
    for found in (check.passing(every), check.look_up(6)):
        assert sorted(found.tolist()) == found.tolist()
        assert keys_of(db, check.column, found.tolist()) == collected
    return collected


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({}, ALL),
        # eq: by type; the chunk's metadata lie over the document's; null is missing
        ({"n": 1}, [A, C]),
        ({"n": 1.0}, [A, C]),
        ({"n": "1"}, []),
        ({"n": {"eq": 2}}, [B]),
        ({"b": True}, [D]),
        ({"b": {"ne": True}}, [A, B, C, E, F]),
        ({"n": {"ne": 1}}, [B, D, E, F]),
        ({"n": {"in": [2, "1", 1]}}, [A, B, C]),
        ({"n": {"in": []}}, []),
        # a path through an array of objects: any of its elements, ne: none of them
        ({"items.sku": "s1"}, [A, C]),
        ({"items.sku": "s3"}, [B]),
        ({"items.sku": {"ne": "s1"}}, [B, D, E, F]),
        ({"items.sku": {"in": ["s2", "s3"]}}, [A, B]),
        ({"items.sku": {"contains": ["s4", "s1"]}}, [C]),
        ({"items.sku": {"contains": ["s1", "s2"]}}, [A]),
        ({"items.sku": {"exists": True}}, [A, B, C]),
        ({"items.in": {"exists": True}, "items.none": {"exists": False}}, [C]),
        ({"items.in.sku": "s5"}, [C]),
        ({"items.tags": "q", "not": {"items.sku": "s3"}}, [A]),
        ({"items.day": "2026-01-31"}, [A]),
        ({"items.day": {"lt": "2026-01-31T11:00Z"}}, [A]),
        ({"items.sku": {"prefix": "s3"}}, [B]),
        ({"items.sku": {"gt": "s3"}}, [C]),
        ({"items.sku": {"gt": "s1", "lt": "s4"}}, [A, B]),  # one element is between
        ({"items.sku": {"gt": "s1", "lt": "s4", "ne": "s3"}}, [A]),
        # ranges and prefixes of an array of values: for any of its elements
        ({"prices": {"gte": 5}}, [A, E]),
        ({"prices": {"lt": 2}}, [A]),
        ({"prices": {"gt": 1, "lt": 5}}, [E]),
        ({"and": [{"prices": {"gt": 1}}, {"prices": {"lt": 5}}]}, [A, E]),
        ({"prices": {"prefix": "4"}}, [B]),
        ({"prices": {"gte": "2026-01-31", "lte": "2026-02-01T00:00Z"}}, [D]),
        ({"prices": {"gt": "4"}}, [B]),
        ({"not": {"prices": {"gte": 5}}}, [B, C, D, F]),
        ({"prices": {"gte": 5, "in": [1]}}, [A]),
        ({"tags": {"prefix": "y"}}, [A]),
        ({"tags": {"gte": "x"}}, [A, C, D]),
        # ranges: numbers with numbers, strings with strings, points in time with such
        ({"n": {"gt": 1}}, [B]),
        ({"n": {"gte": 1, "lt": 2}}, [A, C]),
        ({"n": {"gte": "0"}}, []),
        ({"s": {"gt": "B"}}, [A, D]),
        ({"s": {"lte": "B"}}, [B, C]),
        ({"s": {"gte": "2026-02-28"}}, [C]),
        ({"s": {"gt": "2026-02-28"}}, []),
        ({"s": {"lt": "2026-02-28T00:00:01Z"}}, [C]),
        ({"s": {"lt": "2026-02-28T00:30+01:00"}}, []),
        ({"s": {"gte": "2026-02-30"}}, [A, B, D]),  # no date, so a string
        ({"b": {"gte": 0}}, []),
        # exists
        ({"n": {"exists": True}}, [A, B, C]),
        ({"n": {"exists": False}}, [D, E, F]),
        # contains
        ({"tags": {"contains": "x"}}, [A, D]),
        ({"tags": {"contains": ["y", "x"]}}, [A]),
        ({"tags": {"contains": []}}, [A, B, D]),
        # eq, ne and in of a key whose value is an array: whether it has such an element
        ({"tags": "x"}, [A, C, D]),
        ({"tags": {"ne": "x"}}, [B, E, F]),
        ({"tags": {"in": ["y", "z"]}}, [A]),
        ({"tags": "x", "n": 1}, [A, C]),
        ({"s": {"prefix": "20"}}, [C]),
        ({"n": {"prefix": ""}}, []),
        ({"s": {"prefix": ""}}, [A, B, C, D]),
        # paths: the key of that name, else within objects, which a chunk replaces whole
        ({"deep.er": 1}, [A, B]),
        ({"deep.er": {"exists": True}}, [A, B, E]),
        ({"deep.er.est": 2}, [E]),
        ({"$metadata.and": "reserved"}, [B]),
        ({"$metadata.$id": 7}, [C]),
        ({"$metadata.deep.er": {"gte": 1}}, [A, B]),
        # connectives
        ({"n": 1, "s": "b"}, [A]),
        ({"and": [{"n": 1}, {"s": "b"}]}, [A]),
        ({"and": []}, ALL),
        ({"or": [{"n": 2}, {"s": "b"}]}, [A, B]),
        ({"or": []}, []),
        ({"not": {"n": 1}}, [B, D, E, F]),
        ({"not": {"n": {"gt": 1}}}, [A, C, D, E, F]),
        ({"not": {"not": {"n": 1}}}, [A, C]),
        ({"not": {}}, []),
        ({"not": {"or": [{"n": {"exists": True}}, {"b": False}]}}, [D, F]),
        # built-in fields
        ({"$collection": "docs"}, [A, B, C]),
        ({"$collection": {"ne": "docs"}}, [D, E, F]),
        ({"$language": {"in": ["german", "french"]}}, [D, E, F]),
        ({"$uri": {"prefix": "docs/"}}, [A, B, C]),
        ({"$uri": {"exists": False}}, [F]),
        ({"$uri": {"ne": A}}, [B, C, D, E, F]),
        ({"$source_key": {"prefix": "notes/f%"}}, [F]),
        ({"$source_key": {"prefix": "notes/_"}}, []),
        ({"$source_key": {"gte": "notes/e"}}, [E, F]),
        ({"$title": "Title notes/d"}, [D]),
        ({"$title": {"contains": "notes/"}}, [D, E, F]),
        ({"$title": {"contains": "NOTES/"}}, []),
        ({"$title": {"contains": ["Title", "f%"]}}, [F]),
        ({"$title": {"contains": "s_"}}, []),  # no pattern
        ({"$uri": {"contains": ["s/b", "docs"]}}, [B]),
        ({"$uri": {"contains": ""}}, [A, B, C, D, E]),
        ({"$uri": {"contains": []}}, [A, B, C, D, E]),
        ({"not": {"$uri": {"contains": "docs"}}}, [D, E, F]),
        ({"$title": "Title notes/f%"}, [F]),
        ({"$kind": "code"}, [A]),
        ({"$media_type": "text/markdown"}, [A, B, C]),
        ({"$document_id": {"lt": 0}}, []),
        ({"$chunk_id": {"gte": 0.5}}, ALL),
        # points in time: a date stands for its whole day, in UTC
        ({"$modified_at": "2026-01-31"}, [A, F]),
        ({"$modified_at": "2026-01-31T15:00Z"}, [A]),
        ({"$modified_at": {"in": ["2026-02-01", "2026-01-31T16:00:00.0+01"]}}, [A, C]),
        ({"$modified_at": {"lte": "2026-01-31"}}, [A, F]),
        ({"$modified_at": {"lt": "2026-01-31"}}, []),
        ({"$modified_at": {"gt": "2026-01-31"}}, [C]),
        ({"$modified_at": {"gte": "2026-01-31T15:00"}}, [A, C]),
        ({"$modified_at": {"ne": "2026-01-31"}}, [B, C, D, E]),
        ({"$modified_at": {"exists": False}}, [B, D, E]),
        ({"$ingested_at": "2026-05-05"}, ALL),
        ({"$date": {"gt": "2026-02-28"}}, [B, D, E]),
        ({"$date": "2026-03-01"}, [D]),
        ({"$date": {"exists": True}}, ALL),
        ({"not": {"$date": {"gt": "2026-02-28"}}}, [A, C, F]),
        ({"date": {"gte": "2026-01-01"}}, [D]),
        ({"date": "2026-03-01T00:00:00Z"}, [D]),
        ({"date": {"in": ["2026-03-01T01:00+01:00", "2026-02-28T24:00"]}}, [D]),
        ({"date": "2026-03-01"}, [D]),
        ({"date": "2026-02-28"}, []),
    ],
    ids=json.dumps,
)
def test_what_passes(library: Database, conditions: dict[str, Any], expected: list[str]) -> None:
    assert passing(library, conditions) == expected


def too_deep(depth: int) -> dict[str, Any]:
    return {"not": too_deep(depth - 1)} if depth else {"n": 1}


@pytest.mark.parametrize(
    ("conditions", "message"),
    [
        ([1], "filter is [1]: expected a JSON object"),
        ({"a": {}}, 'filter: "a" is {}: expected an operator and a value'),
        ({"a": {"like": "x"}}, 'filter: "a" is {"like": "x"}: "like" is no operator here,'),
        ({"a": {"lt": True}}, 'filter: "a" "lt" is true: expected a string or a number'),
        ({"a": {"in": 1}}, 'filter: "a" "in" is 1: expected an array of values'),
        ({"a": {"in": [None]}}, 'filter: "a" "in" is [null]: expected an array'),
        ({"a": {"in": [0] * 1001}}, "filter has 1001 values of one key: expected at most 1000"),
        ({"a": {"exists": "yes"}}, 'filter: "a" "exists" is "yes": expected true or false'),
        ({"a": {"contains": {}}}, 'filter: "a" "contains" is [{}]: expected a string'),
        ({"a": {"prefix": 1.5}}, 'filter: "a" "prefix" is 1.5: expected a string'),
        ({"a": None}, 'filter: "a" is null: expected a string, a number, true or false'),
        ({"$nope": 1}, 'filter: there is no field "$nope": expected $chunk_id, $collection,'),
        ({"$date": {"contains": "a"}}, '"contains" is no operator here, expected eq, ne,'),
        ({"$title": {"contains": 1}}, 'filter: "$title" "contains" is [1]: expected a string'),
        ({"$uri": 1}, 'filter: "$uri" is 1: expected a string'),
        ({"$modified_at": "soon"}, 'filter: "$modified_at" is "soon": expected a date or a'),
        ({"$date": {"gte": "2026-02-29"}}, '"$date" "gte" is "2026-02-29": expected a date'),
        ({"$date": {"gte": "0000-01-01"}}, "expected a date or a timestamp of ISO 8601"),
        ({"$document_id": "1"}, 'filter: "$document_id" is "1": expected a number'),
        ({"and": {"a": 1}}, 'filter: "and" is {"a": 1}: expected an array of filters'),
        ({"or": [1]}, 'filter: "or" is [1]: expected an array of filters'),
        ({"not": 1}, 'filter: "not" is 1: expected a filter'),
        (too_deep(16), "is nested more than 16 deep"),
        ({"and": [{"a": 1}] * 201}, "filter has 201 conditions: expected at most 200"),
        ({"x" * 300: [1]}, 'filter: "' + "x" * 200 + "…"),
    ],
    ids=lambda value: json.dumps(value)[:40],
)
def test_wrong_filters(library: Database, conditions: Any, message: str) -> None:
    error = library.error("SELECT pgblend._search_filter(%s, '{}')", json.dumps(conditions))
    assert error.sqlstate == "22023"
    assert message in str(error.message_primary)
    assert error.message_hint


def test_limits_that_are_just_kept(library: Database) -> None:
    assert passing(library, too_deep(14)) == [A, C]
    assert passing(library, {"or": [{"n": 1}] * 200}) == [A, C]
    assert passing(library, {"n": {"in": list(range(1000))}}) == [A, B, C]


@pytest.mark.parametrize("number", ["1e400", "1" * 30000, "0.1e-300", "-0"])
def test_numbers_of_any_size(library: Database, number: str) -> None:
    text = f'{{"or": [{{"n": {number}}}, {{"n": {{"gt": {number}}}}}, {{"$chunk_id": {number}}}]}}'
    library.rows("SELECT pgblend._search_filter(%s, '{}')::text", text)
    found = library.value(
        "SELECT cardinality(pgblend._filtered_ids(%s,"
        " ARRAY(SELECT id FROM pgblend_data.collection), NULL))",
        text,
    )
    assert found == (3 if number in ("-0", "0.1e-300") else 0)


def test_at_most_so_many(library: Database) -> None:
    query = "SELECT cardinality(pgblend._filtered_ids(%s, %s, %s))"
    collections = library.column("SELECT id FROM pgblend_data.collection")
    assert library.value(query, '{"n": 1}', collections, 2) == 2
    assert library.value(query, '{"n": 1}', collections, 1) is None
    assert library.value(query, '{"n": 7}', collections, 0) == 0
    assert library.value(query, None, collections, None) == 6
    assert library.value(query, "{}", [], None) == 0


def test_candidates_are_checked_on_documents_where_these_decide(library: Database) -> None:
    by_uri, by_key = '{"$uri": {"prefix": "notes"}}', '{"n": 1}'
    assert checked_by(library, by_uri).column == "document_ids"
    assert checked_by(library, by_uri).look_up(1) is None
    assert checked_by(library, by_key).column == "chunk_ids"
    for text, expected in (('{"$uri": {"prefix": "docs/b"}}', [B]), (None, [A, B, C])):
        check = checked_by(library, text, "'doc'")
        ids = library.column("SELECT id FROM pgblend_data.chunk")
        assert keys_of(library, check.column, check.passing(ids).tolist()) == expected
        assert check.passing([]).tolist() == []
    assert check.look_up(6) is None
    assert candidate_filter(ServedDatabase(library.connection), [], None, None) is None


def test_how_many_documents_are_read_for_a_filter(library: Database) -> None:
    by_range = '{"n": {"gt": 0}}'
    with library.connection.transaction(force_rollback=True):
        library.rows("UPDATE pg_class SET reltuples = 20000 WHERE relname = 'document'")
        read = {
            text: checked_by(library, text).documents_read
            for text in (by_range, '{"$uri": {"prefix": "docs"}}', '{"n": 1}')
        }
        assert list(read.values()) == [20000, 0, 0]
        library.rows("UPDATE pg_class SET reltuples = -1 WHERE relname = 'document'")
        assert checked_by(library, by_range).documents_read == 0
        library.rows("UPDATE pg_class SET reltuples = 20000 WHERE relname = 'document'")
        library.rows("CREATE INDEX ON pgblend_data.document ((metadata -> 'n'))")
        assert checked_by(library, by_range).documents_read == 0


def test_documents_are_looked_up_where_these_decide(library: Database) -> None:
    query = "SELECT cardinality(pgblend._filtered_ids(%s, ARRAY(SELECT id FROM"
    query += " pgblend_data.collection), %s, true))"
    for text, count in (('{"n": {"gt": 0}}', 3), ('{"$uri": {"prefix": "docs"}}', 3)):
        assert library.value(query, text, count) == count
        assert library.value(query, text, count - 1) is None


def test_candidates_keep_their_order(library: Database) -> None:
    ids = library.column("SELECT id FROM pgblend_data.chunk ORDER BY id DESC")
    query = "SELECT pgblend._filter_candidates(%s, %s)"
    assert library.value(query, [*ids, -1], None) == ids
    assert library.value(query, ids, '{"$language": "english"}') == ids[3:]
    assert library.value(query, [], "{}") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-31", "2026-01-31 00:00:00+00"),
        ("2026-01-31T10:20", "2026-01-31 10:20:00+00"),
        ("2026-01-31 10:20:30.123456Z", "2026-01-31 10:20:30.123456+00"),
        ("2026-01-31T10:20:30+0530", "2026-01-31 04:50:30+00"),
        ("2026-01-31T10:20-08", "2026-01-31 18:20:00+00"),
        ("2024-02-29", "2024-02-29 00:00:00+00"),
        ("2000-02-29", "2000-02-29 00:00:00+00"),
        ("1900-02-29", None),
        ("2026-02-29", None),
        ("2026-04-31", None),
        ("2026-13-01", None),
        ("0000-01-01", None),
        ("0001-01-01", "0001-01-01 00:00:00+00"),
        ("9999-12-31T23:59:59.999999", "9999-12-31 23:59:59.999999+00"),
        ("2026-01-31T24:00", None),
        ("2026-01-31T10:20:60", None),
        ("2026-01-31Z", None),
        ("2026-1-31", None),
        ("20260131", None),
        ("infinity", None),
        ("now", None),
        ("\u0662026-01-31", None),
        ("2026-01-31\n", None),
        ("", None),
        (None, None),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_iso_timestamp(db: Database, text: str | None, expected: str | None, zone: str) -> None:
    db.rows("SELECT set_config('TimeZone', %s, true)", zone)
    db.rows("SET LOCAL DateStyle = 'SQL, DMY'")
    query = "SELECT pgblend._iso_timestamp(%s) IS NOT DISTINCT FROM %s::timestamptz"
    assert db.value(query, text, expected)


# Random documents and filters, from few keys and values so that they meet.
KEYS = ["a", "b", "a.b", "and", "é"]
SCALARS: list[Any] = [
    0, 1, -1.5, 1e20, True, False, "", "a", "ab", "é", "\U0001f600", "1",
    "2026-01-31", "2026-01-31T12:00:00Z", "2026-02-30", "{}", "'; --", "$1", "%s",
]  # fmt: skip
DATES = ["2026-01-31", "2026-01-30T23:00-02:00", "2026-02-01T00:00:00.5", "2024-02-29"]
TEXTS = ["", "docs", "docs/a", "docs/b", "docs/\U0010ffff", "english", "code", "c", "é"]


def random_metadata(rng: random.Random, depth: int = 2) -> dict[str, Any]:
    def value() -> Any:
        kind = rng.randrange(10)
        if kind == 0:
            return None
        if kind == 1:
            return [
                rng.choice([*SCALARS, None, [1], {"a": 1}, random_metadata(rng, 0)])
                for _ in range(rng.randrange(4))
            ]
        if kind in (2, 3) and depth:
            return random_metadata(rng, depth - 1)
        return rng.choice(SCALARS)

    keys = rng.sample([*KEYS, "date"], rng.randrange(len(KEYS)))
    return {key: value() for key in keys}


@dataclass(frozen=True, repr=False)
class RandomLibrary:
    """A database, and (chunk id, passage) of all that is in it."""

    db: Database
    passages: list[tuple[int, Passage]]


@pytest.fixture(scope="module")
def random_library(module_connection: psycopg.Connection) -> Iterator[RandomLibrary]:
    """Random documents in two collections."""
    db = Database(module_connection)
    rng = random.Random(7)
    for name in ("c", "é"):
        db.rows("SELECT add_collection(%s)", name)
    for number in range(150):
        db.rows(
            "SELECT ingest_document(%s, %s, '', %s, metadata => %s, uri => %s, modified_at => %s,"
            " media_type => %s, chunks => %s)",
            rng.choice(["c", "é"]),
            rng.choice(TEXTS[1:]) + str(number),
            rng.choice(TEXTS),
            json.dumps(random_metadata(rng)),
            rng.choice([None, *TEXTS]),
            rng.choice([None, "2026-01-31 12:00Z", "2026-01-31 00:00Z", "2026-02-01 00:00:00.5Z"]),
            rng.choice([None, "c"]),
            json.dumps(
                [
                    {
                        "content": f"{number} {i}",
                        "kind": rng.choice(["doc", "code"]),
                        "metadata": random_metadata(rng) if rng.random() < 0.4 else {},
                    }
                    for i in range(2)
                ]
            ),
        )
    db.rows("UPDATE pgblend_data.document SET ingested_at = '2026-01-31 23:00Z'")
    rows = db.connection.execute(
        "SELECT c.id AS chunk_id, c.document_id, n.name AS collection, d.source_key, d.uri,"
        " d.title, d.text_search_config AS language, c.kind, d.media_type, d.modified_at,"
        " d.ingested_at, d.metadata, c.metadata AS own"
        " FROM pgblend_data.chunk AS c JOIN pgblend_data.document AS d ON d.id = c.document_id"
        " JOIN pgblend_data.collection AS n ON n.id = d.collection_id"
    )
    names = [f"${column.name}" for column in rows.description or ()][:-2]
    passages = [
        (row[0], Passage(dict(zip(names, row[:-2], strict=True)), row[-2], row[-1])) for row in rows
    ]
    yield RandomLibrary(db, passages)
    db.rows("SELECT remove_collection('c'), remove_collection('é')")


def operators(values: st.SearchStrategy[Any], ordered: st.SearchStrategy[Any]) -> dict[str, Any]:
    return {
        **dict.fromkeys(("eq", "ne"), values),
        **dict.fromkeys(("lt", "lte", "gt", "gte"), ordered),
        "in": st.lists(values, max_size=3),
        "exists": st.booleans(),
    }


def one_of_operators(operators: dict[str, Any]) -> st.SearchStrategy[Any]:
    pairs = [st.tuples(st.just(name), values) for name, values in operators.items()]
    return st.lists(st.one_of(pairs), min_size=1, max_size=2).map(dict)


SCALAR = st.sampled_from(SCALARS)
ORDERED = st.sampled_from([value for value in SCALARS if not isinstance(value, bool)])
TEXT = st.sampled_from(TEXTS)
DATE = st.sampled_from(DATES)
NUMBER = st.sampled_from([0, 10, 50.5, 1e20])
METADATA = operators(SCALAR, ORDERED) | {
    "contains": SCALAR | st.lists(SCALAR, max_size=2),
    "prefix": st.sampled_from(["", "a", "2026-01", "\U0001f600"]),
}
OF_TEXT = {"prefix": TEXT, "contains": TEXT | st.lists(TEXT, max_size=2)}
LEAVES = st.one_of(
    st.dictionaries(
        st.sampled_from([key for key in KEYS if key != "and"] + ["$metadata.and", "b.a", "a.a.a"]),
        SCALAR | one_of_operators(METADATA),
        max_size=2,
    ),
    st.dictionaries(
        st.sampled_from(["$collection", "$uri", "$title", "$kind", "$media_type", "$language"]),
        TEXT | one_of_operators(operators(TEXT, TEXT) | OF_TEXT),
        min_size=1,
        max_size=1,
    ),
    st.dictionaries(
        st.sampled_from(["$modified_at", "$ingested_at", "$date"]),
        DATE | one_of_operators(operators(DATE, DATE)),
        min_size=1,
        max_size=1,
    ),
    st.dictionaries(
        st.sampled_from(["$document_id", "$chunk_id"]),
        NUMBER | one_of_operators(operators(NUMBER, NUMBER)),
        min_size=1,
        max_size=1,
    ),
)
FILTERS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"and": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"or": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"not": inner}),
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
    ),
    max_leaves=8,
)


@given(conditions=FILTERS)
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_compiled_filters_are_what_the_model_says(
    random_library: RandomLibrary, conditions: dict[str, Any]
) -> None:
    db, passages = random_library.db, random_library.passages
    expected = sorted(chunk for chunk, passage in passages if passes(conditions, passage))
    text = json.dumps(conditions)
    db.rows("SELECT pgblend._search_filter(%s, '{}')::text", text)
    collected = db.value(
        "SELECT pgblend._filtered_ids(%s, ARRAY(SELECT id FROM pgblend_data.collection), NULL)",
        text,
    )
    assert sorted(collected) == expected
    ids = [chunk for chunk, _ in passages]
    assert db.value("SELECT pgblend._filter_candidates(%s, %s)", ids, text) == [
        chunk for chunk in ids if chunk in set(expected)
    ]


def test_the_model_knows_the_library(random_library: RandomLibrary) -> None:
    passages = random_library.passages
    some = sum(passes({"a": {"exists": True}}, passage) for _, passage in passages)
    assert 0 < some < len(passages)
    assert passages[0][1].columns["$ingested_at"] == datetime(2026, 1, 31, 23, tzinfo=UTC)


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ({"type": "slack"}, ["s1", "s2"]),
        ({"type": {"in": ["slack", "linear"]}, "slackAuthor": {"ne": "ann"}}, ["l1", "s2"]),
        ({"slackChannelId": "C1", "slackAuthor": "ann"}, ["s1"]),
        ({"slackAuthor": "bob"}, ["s2", "s3"]),
        ({"notionPageId": {"exists": True}}, ["n1"]),
        ({"or": [{"linearIssueId": {"prefix": "ENG-"}}, {"slackChannelId": "C2"}]}, ["l1", "s2"]),
    ],
    ids=json.dumps,
)
def test_keys_of_several_sources(
    db: Database, conditions: dict[str, Any], expected: list[str]
) -> None:
    db.rows("SELECT add_collection('team')")
    for key, metadata in {
        "s1": {"type": "slack", "slackChannelId": "C1", "slackAuthor": "ann"},
        "s2": {"type": "slack", "slackChannelId": "C2", "slackAuthor": "bob"},
        "s3": {"slackAuthor": ["cy", "bob"]},
        "n1": {"type": "notion", "notionPageId": "3f2c"},
        "l1": {"type": "linear", "linearIssueId": "ENG-42"},
    }.items():
        db.rows(
            "SELECT ingest_document('team', %s, %s, metadata => %s)",
            key,
            f"word {key}",
            json.dumps(metadata),
        )
    found = db.column(
        "SELECT source_key FROM hybrid_search('word', collections => '{team}', filter => %s)",
        json.dumps(conditions),
    )
    assert sorted(found) == expected
