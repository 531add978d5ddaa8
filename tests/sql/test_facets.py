"""search_facets: counts of values over the pool of a search."""

import json
import lzma
from collections import Counter
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import psycopg
import pytest

from support.database import Database, add_documents, add_space, embed_waiting, vector_of

FACETS = "SELECT key, value, count, document_count, pool_size FROM search_facets(%s, %s)"


def add(db: Database, key: str, metadata: dict[str, Any], *chunks: dict[str, Any]) -> None:
    """Ingest a document of passages that all have the word `word`."""
    parts = [
        {"content": f"word {key} {i}", "metadata": part} for i, part in enumerate(chunks or ({},))
    ]
    db.rows(
        "SELECT ingest_document('c', %s, '', metadata => %s, chunks => %s, uri => %s,"
        " modified_at => '2026-01-31 23:30-05:00')",
        key,
        json.dumps(metadata),
        json.dumps(parts),
        key,
    )


@pytest.fixture
def library(db: Database) -> Database:
    db.rows("SELECT add_collection('c')")
    add(db, "a", {"author": "knuth", "year": 1974, "tags": ["x", "y", "x"], "deep": {"er": 1}}, {})
    add(db, "b", {"author": "hugh", "year": 1974.0, "tags": []}, {}, {"author": "knuth"})
    add(db, "c", {"author": None, "year": 1980, "tags": "x", "deep.er": 1})
    add(db, "d", {"year": True, "tags": ["y", None, {"z": 1}], "deep": [{"er": 1}]})
    return db


def facets(db: Database, *keys: str) -> list[tuple[Any, ...]]:
    return [row[:4] for row in db.rows(FACETS, "word", list(keys))]


def test_values_are_counted(library: Database) -> None:
    rows = library.rows(FACETS, "word", ["author"])
    assert rows == [
        ("author", "knuth", 2, 2, 5),
        ("author", "hugh", 1, 1, 5),
        ("author", None, 2, 2, 5),
    ]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("year", [(1974, 3, 2), (1980, 1, 1), (True, 1, 1)]),  # 1974 and 1974.0 are one
        ("tags", [("x", 2, 2), ("y", 2, 2), ({"z": 1}, 1, 1), (None, 2, 1)]),
        ("deep.er", [(1, 3, 3), (None, 2, 1)]),
        ("$metadata.deep.er", [(1, 3, 3), (None, 2, 1)]),
        ("nowhere", [(None, 5, 4)]),
        ("and", [(None, 5, 4)]),
        ("", [(None, 5, 4)]),
        ("a\"b'.c", [(None, 5, 4)]),
        ("$collection", [("c", 5, 4)]),
        ("$language", [("english", 5, 4)]),
        ("$kind", [("doc", 5, 4)]),
        ("$media_type", [(None, 5, 4)]),
        ("$uri", [("b", 2, 1), ("a", 1, 1), ("c", 1, 1), ("d", 1, 1)]),
        ("$source_key", [("b", 2, 1), ("a", 1, 1), ("c", 1, 1), ("d", 1, 1)]),
        ("$modified_at", [("2026-02-01", 5, 4)]),  # the day in UTC
        ("$date", [("2026-02-01", 5, 4)]),
        ("$title", [("", 5, 4)]),
    ],
)
def test_every_kind_of_key(library: Database, key: str, expected: list[tuple[Any, ...]]) -> None:
    assert facets(library, key) == [(key, *row) for row in expected]


def test_what_is_counted_is_what_a_filter_finds(library: Database) -> None:
    """A value put into a filter finds as many rows as the facet says."""
    for key in ("author", "year", "deep.er", "$uri", "$modified_at", "$collection"):
        for _, value, count, *_ in facets(library, key):
            wanted = {"exists": False} if value is None else {"eq": value}
            found = library.value(
                "SELECT count(*) FROM lexical_search('word', 100, filter => %s)",
                json.dumps({key: wanted}),
            )
            assert found == count, (key, value)


def test_keys_come_in_their_order_and_values_by_count(library: Database) -> None:
    rows = facets(library, "year", "author", "year")
    assert [row[0] for row in rows] == ["year"] * 3 + ["author"] * 3 + ["year"] * 3
    limited = library.rows("SELECT key, value FROM search_facets('word', '{tags,year}', 1)")
    assert limited == [("tags", "x"), ("tags", None), ("year", 1974)]
    none = library.rows("SELECT key, value FROM search_facets('word', '{tags,year}', 0)")
    assert none == [("tags", None)]


def test_the_pool_is_the_searchs(library: Database) -> None:
    sizes = "SELECT DISTINCT pool_size FROM search_facets('word', '{author}', options => %s)"
    assert library.column(sizes, '{"candidate_depth": 2}') == [2]
    assert library.column(sizes, '{"offset": 4}') == [5]
    assert library.column(sizes, '{"min_score": 1}') == []
    filtered = "SELECT value, count FROM search_facets('word', '{author}', filter => %s)"
    assert library.rows(filtered, '{"year": 1974}') == [("knuth", 2), ("hugh", 1)]
    assert library.rows(filtered, '{"year": 0}') == []
    dated = "SELECT sum(count) FROM search_facets('word', '{$kind}', options => %s)"
    assert library.value(dated, '{"since": "2026-02-01"}') == 5
    assert library.value(dated, '{"until": "2026-01-31"}') is None


@pytest.mark.parametrize("query", [None, "", " \t"])
def test_a_blank_query_has_no_facets(library: Database, query: str | None) -> None:
    assert library.rows(FACETS, query, ["author"]) == []


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("NULL", "keys is NULL: expected from 1 to 100 keys"),
        ("'{}'", "keys is {}: expected from 1 to 100 keys"),
        ("'{a,NULL}'", "keys is {a,NULL}: expected"),
        ("array_fill('a'::text, ARRAY[101])", "expected from 1 to 100 keys"),
        ("'{a,$nope}'", 'keys: there is no field "$nope": expected $chunk_id, '),
    ],
)
def test_wrong_keys(library: Database, keys: str, message: str) -> None:
    error = library.error(f"SELECT * FROM search_facets('word', {keys})")
    assert error.sqlstate == "22023"
    assert message in str(error.message_primary)
    assert error.message_hint


def test_errors_of_the_search(library: Database) -> None:
    for arguments in ("-1", "10, filter => '[]'", "10, options => '{\"rrf\": 1}'"):
        error = library.error(f"SELECT * FROM search_facets('word', '{{a}}', {arguments})")
        assert error.sqlstate == "22023"


def test_vectors_bring_candidates_too(db: Database) -> None:
    add_space(db)
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", [("a", "A", "word"), ("b", "B", "nothing alike")])
    embed_waiting(db)
    rows = db.rows(
        "SELECT value, count FROM search_facets('word', '{$title}', query_embedding => %s)",
        vector_of("word"),
    )
    assert rows == [("A", 1), ("B", 1)]


def test_facets_reveal_nothing_hidden(two_collections: Any) -> None:
    query = (
        "SELECT f.* FROM search_facets('deploy production wine',"
        f" '{{$collection,$title,$source_key}}', query_embedding => '{vector_of('deploy')}') AS f"
    )
    seen = two_collections.reader.rows(query)
    assert seen == two_collections.only_open.rows(query)
    assert len(seen) < len(two_collections.admin.rows(query))


FILTERS = [
    {"secret": True},
    {"secret": {"ne": True}},
    {"not": {"secret": {"exists": False}}},
    {"$title": {"prefix": "S"}},
    {"$collection": "secret"},
    {"not": {"$collection": "open"}},
    {"$document_id": {"gt": 0}},
    {"$date": {"gte": "2000-01-01"}},
]


@pytest.mark.parametrize("conditions", FILTERS, ids=json.dumps)
def test_filters_reveal_nothing_hidden(two_collections: Any, conditions: dict[str, Any]) -> None:
    with two_collections.admin.connection.transaction(force_rollback=True):
        two_collections.admin.rows(
            "UPDATE pgblend_data.document AS d SET metadata = '{\"secret\": true}'"
            " FROM pgblend_data.collection AS c WHERE c.id = d.collection_id AND c.name = 'secret'"
        )
        two_collections.admin.rows(
            "SELECT set_config('role', %s, true)", two_collections.reader_role
        )
        found = (
            "SELECT cardinality(pgblend._filtered_ids(%s, '{1,2}', NULL)),"
            " cardinality(pgblend._filter_candidates('{1,2,3,4,5,6,7,8}', %s)),"
            " (SELECT count(*) FROM hybrid_search('deploy wine', query_embedding => %s, filter =>"
            " %s)), (SELECT count(*) FROM vector_search(query_embedding => %s, filter => %s))"
        )
        text, vector = json.dumps(conditions), vector_of("wine")
        values = (text, text, vector, text, vector, text)
        assert two_collections.admin.row(found, *values) == two_collections.only_open.row(
            found, *values
        )


def news(folder: Path) -> list[dict[str, Any]]:
    """The first three hundred stories, dates as ISO 8601."""
    with lzma.open(folder / "ir" / "reuters21578" / "corpus.jsonl.xz", "rt") as lines:
        stories = [json.loads(line) for line in islice(lines, 300)]
    for story in stories:
        date = datetime.strptime(
            story["metadata"]["date"].strip().partition(".")[0], "%d-%b-%Y %H:%M:%S"
        )
        story["metadata"]["date"] = date.replace(tzinfo=UTC).isoformat()
    return stories


@pytest.fixture(scope="module")
def stories(
    module_connection: psycopg.Connection, shared_data: Path
) -> tuple[Database, dict[str, dict[str, Any]]]:
    """Stories with dates, topics and places, by key."""
    db = Database(module_connection)
    stories = news(shared_data)
    db.rows("SELECT add_collection('news')")
    with db.connection.cursor() as cursor:
        cursor.executemany(
            "SELECT blend.ingest_document('news', %s, %s, %s, metadata => %s)",
            [(s["_id"], s["text"], s["title"] or "", json.dumps(s["metadata"])) for s in stories],
        )
    return db, {story["_id"]: story["metadata"] for story in stories}


def test_facets_of_news(stories: tuple[Database, dict[str, dict[str, Any]]]) -> None:
    db, known = stories
    options = '{"candidate_depth": 1000, "fuzzy": "off", "weights": {"vector": 0}}'
    found = db.rows(
        "SELECT source_key FROM hybrid_search('oil prices', 1000, options => %s)", options
    )
    rows = db.rows(
        "SELECT key, value, count FROM search_facets('oil prices', '{topics,places,split}', 10000,"
        " options => %s)",
        options,
    )
    for key in ("topics", "places", "split"):
        values = [known[name][key] for (name,) in found]
        expected = Counter(
            one
            for value in values
            for one in ((value or [None]) if isinstance(value, list) else [value])
        )
        of_key = [(value, count) for name, value, count in rows if name == key]
        assert dict(of_key) == expected
        counts = [(-count, value) for value, count in of_key if value is not None]
        assert counts == sorted(counts)


@pytest.mark.parametrize(
    ("conditions", "keeps"),
    [
        ({"topics": {"contains": "crude"}}, lambda m: "crude" in m["topics"]),
        (
            {"places": {"contains": ["usa", "japan"]}, "split": "TRAIN"},
            lambda m: {"usa", "japan"} <= set(m["places"]) and m["split"] == "TRAIN",
        ),
        ({"date": {"lt": "1987-02-27"}}, lambda m: m["date"] < "1987-02-27"),
        ({"$date": {"gte": "1987-02-27T12:00"}}, lambda m: m["date"] >= "1987-02-27T12:00"),
        (
            {"or": [{"topics": {"contains": "earn"}}, {"not": {"places": {"contains": "usa"}}}]},
            lambda m: "earn" in m["topics"] or "usa" not in m["places"],
        ),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_filters_of_news(
    stories: tuple[Database, dict[str, dict[str, Any]]], conditions: dict[str, Any], keeps: Any
) -> None:
    db, known = stories
    options = '{"candidate_depth": 10000, "dedup": "off"}'
    query = "SELECT source_key FROM lexical_search('said reuter', 10000, options => %s{})"
    every = db.column(query.format(""), options)
    assert len(every) > 300
    found = db.column(query.format(", filter => %s"), options, json.dumps(conditions))
    assert found == [key for key in every if keeps(known[key])]
    assert 0 < len(found) < len(every)


ESTIMATED = (
    "SELECT value, count, count_estimate FROM search_facets(%s, %s, options => %s, filter => %s,"
    " collections => '{c}')"
)


def estimates(db: Database, query: str, key: str, filter_: Any = None, **options: Any) -> Any:
    given = json.dumps({"candidate_depth": 3, **options})
    rows = db.rows(ESTIMATED, query, [key], given, filter_ and json.dumps(filter_))
    return {json.dumps(value): (count, estimate) for value, count, estimate in rows}


@pytest.fixture
def many(db: Database) -> Database:
    """4,000 passages with a word, a tenth of them red; every other has another word."""
    db.rows("SELECT add_collection('c', 'english')")
    chunks = [
        {
            "content": f"lamp {number}" + " of glass" * (number % 2),
            "metadata": {"color": "red" if number % 10 == 0 else "blue", "n": number},
        }
        for number in range(4000)
    ]
    for start in range(0, 4000, 1000):
        part = json.dumps(chunks[start : start + 1000])
        db.rows("SELECT ingest_document('c', %s, '', chunks => %s)", f"d{start}", part)
    return db


def test_the_estimate_is_of_all_that_has_a_word(many: Database) -> None:
    counted = estimates(many, "lamp", "color")
    assert sum(count for count, _ in counted.values()) == 3
    blue = next(estimate for value, (_, estimate) in counted.items() if value == '"blue"')
    assert abs(blue - 3600) < 4 * 4000 * (0.9 * 0.1 / 1000) ** 0.5
    many.rows("SELECT lexical_seal('c')")
    assert estimates(many, "lamp", "color")['"blue"'][1] == blue


def test_few_passages_are_counted_exactly(many: Database) -> None:
    few = {"n": {"lt": 30}}
    counted = estimates(many, "lamp 7", "color", {"and": [few, {"color": "red"}]})
    # Of 4,000 passages with a word a sample is taken, of which few pass.
    assert counted['"red"'][1] >= counted['"red"'][0] > 0
    assert estimates(many, "7 17 27 30", "color") == {'"blue"': (2, 3), '"red"': (1, 1)}
    many.rows("SELECT lexical_seal('c')")
    assert estimates(many, "7 17 27 30", "color") == {'"blue"': (2, 3), '"red"': (1, 1)}
    assert estimates(many, '"lamp 7"', "color")['"blue"'] == (1, 1)
    many.rows("SELECT delete_document(id) FROM pgblend_data.document WHERE source_key = 'd0'")
    assert estimates(many, "7 17 1500 30", "color") == {'"red"': (1, 1)}


def test_without_words_there_is_no_estimate(many: Database) -> None:
    options = {"lexical_method": "ts_rank_cd", "fuzzy": "off"}
    found = estimates(many, "lamp", "color", **options)
    assert {estimate for _, estimate in found.values()} == {None}
    assert estimates(many, "lmap", "color")['"blue"'][1] >= 1  # put right: what was counted


BUCKETS = (
    "SELECT key, value, count, document_count FROM search_facets(%s, %s,"
    " collections => '{c}', buckets => %s)"
)
ONLY = " collections => '{c}')"
NUMBERS = {"a": 5, "b": [10, 12], "c": 25.5, "d": "x", "e": 100}
DAYS = {"a": "2025-12-31", "b": "2026-01-01T00:30:00+01:00", "c": "2026-02-03", "d": "soon"}


@pytest.fixture
def measured(db: Database) -> Database:
    db.rows("SELECT add_collection('c')")
    for key, number in NUMBERS.items():
        day = {"day": DAYS[key]} if key in DAYS else {}
        add(db, key, {"n": number, **day})
    return db


def buckets(db: Database, key: str, bucket: Any, most: int = 10) -> list[tuple[Any, ...]]:
    call = BUCKETS.replace("%s, %s,", "%s, %s, %s,", 1)
    rows = db.rows(call, "word", [key], most, json.dumps({key: bucket}))
    return [row[1:] for row in rows]


def test_ranges_of_numbers(measured: Database) -> None:
    assert buckets(measured, "n", [10, 20, 25.5]) == [
        ({"lt": 10}, 1, 1),
        ({"gte": 10, "lt": 20}, 1, 1),  # an array's elements in one bucket count once
        ({"gte": 25.5}, 2, 2),
        (None, 1, 1),
    ]
    assert buckets(measured, "n", [20], 1) == [({"gte": 20}, 2, 2), (None, 1, 1)]


@pytest.mark.parametrize(
    ("bucket", "expected"),
    [
        ("year", [("2025-01-01", "2026-01-01", 2), ("2026-01-01", "2027-01-01", 1)]),
        ("quarter", [("2025-10-01", "2026-01-01", 2), ("2026-01-01", "2026-04-01", 1)]),
        ("month", [("2025-12-01", "2026-01-01", 2), ("2026-02-01", "2026-03-01", 1)]),
        ("week", [("2025-12-29", "2026-01-05", 2), ("2026-02-02", "2026-02-09", 1)]),
        ("day", [("2025-12-31", "2026-01-01", 2), ("2026-02-03", "2026-02-04", 1)]),
        (["2026-01-01"], [(None, "2026-01-01", 2), ("2026-01-01", None, 1)]),
    ],
)
def test_buckets_of_dates(measured: Database, bucket: Any, expected: list[Any]) -> None:
    """In UTC, where b is still of the day before."""
    wanted = [
        ({name: day for name, day in (("gte", start), ("lt", end)) if day}, count, count)
        for start, end, count in expected
    ]
    assert buckets(measured, "day", bucket) == [*wanted, (None, 2, 2)]


def test_a_bucket_is_a_filter(measured: Database) -> None:
    add(measured, "f", {"n": [5, 15]})  # ranges of a filter look at no arrays
    for key, bucket in (("n", [26, 100]), ("day", "month"), ("$date", "year")):
        found = [value for value, *_ in buckets(measured, key, bucket) if value is not None]
        assert found
        for value in found:
            filter_ = {"and": [{key: value}, {"not": {"$source_key": {"in": ["b", "f"]}}}]}
            call = "SELECT count FROM search_facets('word', %s, filter => %s, buckets => %s," + ONLY
            given = [key], json.dumps(filter_), json.dumps({key: bucket})
            (counted,) = measured.column(call, *given)
            call = "SELECT count(*) FROM hybrid_search('word', filter => %s," + ONLY
            passed = measured.value(call, json.dumps(filter_))
            assert counted == passed, (key, value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "buckets is []: expected a JSON object"),
        ({"m": "day"}, 'buckets has the key "m", which is not counted'),
        ({"n": "hour"}, 'buckets: "n" is "hour": expected day, week'),
        ({"n": []}, 'buckets: "n" is []'),
        ({"n": [2, 1]}, 'buckets: "n" is [2, 1]'),
        ({"n": [1, 1]}, 'buckets: "n" is [1, 1]'),
        ({"n": [1, "2026-01-01"]}, 'buckets: "n" is [1, "2026-01-01"]'),
        ({"n": ["soon"]}, 'buckets: "n" is ["soon"]'),
        ({"n": [None]}, 'buckets: "n" is [null]'),
        ({"n": 5}, 'buckets: "n" is 5'),
        ({"n": [*range(101)]}, 'buckets: "n" is [0, 1, 2'),
    ],
)
def test_wrong_buckets_are_errors(measured: Database, given: Any, message: str) -> None:
    said = measured.error(BUCKETS, "word", ["n"], json.dumps(given))
    assert said.sqlstate == "22023"
    assert str(said.message_primary).startswith(message)
