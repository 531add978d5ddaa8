"""What all three searches have in common: limits, pages, collections, filters, thresholds."""

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from support.database import Database, add_documents, add_space, embed_waiting, vector_of

Search = Callable[..., str]
SEARCHES = {
    "hybrid_search": "hybrid_search('word', {}, query_embedding => '{vector}')",
    "lexical_search": "lexical_search('word', {})",
    "vector_search": "vector_search('word', {}, query_embedding => '{vector}')",
}


@pytest.fixture(params=SEARCHES)
def search(request: pytest.FixtureRequest) -> Search:
    """Make a FROM item of a limit and more arguments."""
    call = SEARCHES[request.param].replace("{vector}", vector_of("word"))
    return lambda arguments="10": call.replace("{}", arguments, 1)


@pytest.fixture(scope="module", autouse=True)
def library(module_connection: psycopg.Connection) -> None:
    db = Database(module_connection)
    add_space(db)
    for name in ("even", "odd"):
        db.rows("SELECT add_collection(%s)", name)
    for number in range(12):
        (document,) = add_documents(
            db,
            ("even", "odd")[number % 2],
            [(str(number), "", "word " * (number + 1) + f"n{number}")],
        )
        metadata = (
            f'{{"number": {number}, "third": {str(number % 3 == 0).lower()}, "name": "n{number}"}}'
        )
        db.rows("SELECT set_metadata(%s, %s)", document, metadata)
    embed_waiting(db)


def keys(db: Database, search: Search, arguments: str = "10") -> list[str]:
    return db.column(f"SELECT source_key FROM {search(arguments)}")


@pytest.mark.parametrize("limit", [0, 1, 5, 12, 10000])
def test_limits(db: Database, search: Search, limit: int) -> None:
    assert len(keys(db, search, str(limit))) == min(limit, 12)


@pytest.mark.parametrize("limit", ["10001", "-1", "NULL"])
def test_wrong_limits(db: Database, search: Search, limit: str) -> None:
    error = db.error(f"SELECT * FROM {search(limit)}")
    assert error.sqlstate == "22023"
    assert (
        error.message_primary == f"result_limit is {limit}: expected a whole number from 0 to 10000"
    )
    assert error.message_hint


def test_pages_make_up_the_whole(db: Database, search: Search) -> None:
    query = "SELECT rank, source_key, score, relevance FROM "
    whole = db.rows(query + search("12"))
    pages = [
        row
        for offset in (0, 5, 10)
        for row in db.rows(query + search(f"5, options => '{json.dumps({'offset': offset})}'"))
    ]
    assert pages == whole
    assert [row[0] for row in whole] == list(range(1, 13))
    assert all(0 <= row[2] <= 1 for row in whole)
    assert db.warnings() == []


@pytest.mark.parametrize(("offset", "rows"), [(0, 8), (4, 4), (8, 0), (9000, 0)])
def test_the_pool_ends_at_candidate_depth(
    db: Database, search: Search, offset: int, rows: int
) -> None:
    options = f'{{"candidate_depth": 8, "offset": {offset}}}'
    assert len(keys(db, search, f"20, options => '{options}'")) == rows
    (warning,) = db.warnings()
    assert warning.startswith("rows beyond candidate_depth (8) are not found")


def test_depth_alone_sets_the_scores(db: Database, search: Search) -> None:
    query = "SELECT source_key, score FROM "
    assert db.rows(query + search("12"))[:1] == db.rows(query + search("1"))


def test_collections(db: Database, search: Search) -> None:
    odd = {"1", "3", "5", "7", "9", "11"}
    assert set(keys(db, search, "20, collections => '{odd}'")) == odd
    assert set(keys(db, search, "20, collections => '{odd,odd}'")) == odd
    assert len(keys(db, search, "20, collections => '{odd,even}'")) == 12
    for wrong, name in (("{nope}", '"nope"'), ("{odd,nope}", '"nope"'), ("{NULL}", '"NULL"')):
        error = db.error("SELECT * FROM " + search(f"10, collections => '{wrong}'"))
        assert error.sqlstate == "42704"
        assert str(error.message_primary).startswith(f"there is no collection {name} that ")
        assert error.message_hint


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        ('{"number": 3}', {"3"}),
        ('{"third": true}', {"0", "3", "6", "9"}),
        ('{"third": true, "name": "n6"}', {"6"}),
        ('{"name": "n"}', set()),
        ('{"number": "3"}', set()),  # a string is no number
        ('{"nope": 1}', set()),
        ("{}", {str(i) for i in range(12)}),
    ],
)
def test_filter(db: Database, search: Search, only: str, expected: set[str]) -> None:
    assert set(keys(db, search, f"20, filter => '{only}'")) == expected


@pytest.mark.parametrize(
    ("only", "part"),
    [
        ("[]", "filter is []: expected a JSON object"),
        ('"x"', "expected a JSON object"),
        ("null", "expected a JSON object"),
        ('{"a": null}', '"a" is null: expected a string'),
        ('{"a": [1]}', '"a" is [1]'),
        ('{"a": {"b": 1}}', '"a" is {"b": 1}: "b" is no operator here'),
    ],
)
def test_wrong_filter(db: Database, search: Search, only: str, part: str) -> None:
    error = db.error("SELECT * FROM " + search(f"10, filter => '{only}'"))
    assert error.sqlstate == "22023"
    assert part in str(error.message_primary)
    assert error.message_hint


def test_chunk_metadata_lies_over_the_documents(db: Database, search: Search) -> None:
    db.rows(
        """UPDATE pgblend_data.chunk SET metadata = '{"number": 99}' WHERE content LIKE '%n5'"""
    )
    query = "SELECT source_key, metadata ->> 'number' FROM "
    assert db.rows(query + search("""20, filter => '{"number": 99}'""")) == [("5", "99")]
    assert db.rows(query + search("""20, filter => '{"number": 5}'""")) == []


def test_min_score_cuts_before_the_page(db: Database, search: Search) -> None:
    scores = db.column("SELECT score FROM " + search("20"))
    options = json.dumps({"min_score": scores[6]})
    some = db.rows("SELECT rank, score FROM " + search(f"3, options => '{options}'"))
    assert some == list(zip((1, 2, 3), scores[:3], strict=True))
    kept = keys(db, search, f"20, options => '{options}'")
    assert len(kept) == sum(score >= scores[6] for score in scores)


def test_min_relevance(db: Database, search: Search) -> None:
    rows = db.rows("SELECT source_key, relevance FROM " + search("20"))
    found = keys(db, search, """20, options => '{"min_relevance": 0.8}'""")
    assert found == [key for key, relevance in rows if relevance is not None and relevance >= 0.8]


def test_language(db: Database, search: Search) -> None:
    db.rows("SELECT ingest_document('odd', 'de', 'word Wort', language => 'german')")
    embed_waiting(db)
    assert keys(db, search, '20, options => \'{"language": "german"}\'') == ["de"]
    assert keys(db, search, '20, options => \'{"language": "french"}\'') == []


INJECTIONS = [
    "'; DROP TABLE pgblend_data.document CASCADE; --",
    "') OR true --",
    '"; SELECT pg_sleep(9); --',
    "$$; DELETE FROM pgblend_data.chunk; $$",
    "\\'; --",
    "%I %s %1$L {}",
    "E'\\x27'",
]


def metadata_is(text: str) -> str:
    """Return a filter by a hostile key and value."""
    return json.dumps({f"$metadata.{text}": text})


@pytest.mark.parametrize("text", INJECTIONS)
def test_hostile_strings_are_only_text(db: Database, text: str) -> None:
    before = db.value("SELECT count(*) FROM chunks")
    vector = vector_of("word")
    calls: list[tuple[str, list[Any], str | None]] = [
        ("hybrid_search(%s, query_embedding => %s)", [text, vector], None),
        ("lexical_search(%s)", [text], None),
        ("vector_search(%s, query_embedding => %s)", [text, vector], None),
        ("lexical_search('word', collections => %s)", [[text]], "42704"),
        ("hybrid_search('word', profile => %s)", [text], "22023"),
        ("lexical_search('word', filter => %s)", [metadata_is(text)], None),
        ("vector_search(filter => %s, query_embedding => %s)", [metadata_is(text), vector], None),
        ("lexical_search('word', filter => %s)", [json.dumps({"$" + text: text})], "22023"),
        ("lexical_search('word', filter => %s)", [json.dumps({text: {text: 1}})], "22023"),
        ("lexical_search('word', options => %s)", [json.dumps({text: 1})], "22023"),
    ]
    names = db.column("SELECT name FROM setting_catalog() WHERE scope = 'search'")
    names.remove("tenant")  # any text is one
    calls.append(("hybrid_search('word', options => %s)", [json.dumps({"tenant": text})], None))
    calls += [
        ("hybrid_search('word', options => %s)", [json.dumps({name: text})], "22023")
        for name in names
    ]
    calls += [
        ("hybrid_search('word', options => %s)", [json.dumps({name: {text: 1}})], "22023")
        for name in ("weights", "timeouts_ms")
    ]
    for call, parameters, sqlstate in calls:
        if sqlstate:
            assert db.error(f"SELECT * FROM {call}", *parameters).sqlstate == sqlstate
        else:
            db.rows(f"SELECT * FROM {call}", *parameters)
    db.rows("SELECT add_collection(%s)", text)
    add_documents(db, text, [(text, text, f"{text} zebra")])
    db.rows("SELECT set_metadata(document_id, %s) FROM documents WHERE source_key = %s",
            json.dumps({text: text}), text)  # fmt: skip
    found = db.column(
        "SELECT source_key FROM lexical_search('zebra', collections => %s, filter => %s)",
        [text],
        metadata_is(text),
    )
    assert found == [text]
    assert db.value("SELECT delete_document(%s, %s)", text, text) is True
    assert db.value("SELECT remove_collection(%s)", text) is True
    assert db.value("SELECT count(*) FROM chunks") == before


ALWAYS = ["rank", "score", "relevance", "document_id", "chunk_id", "degraded"]


def whole_rows(db: Database, call: str) -> list[dict[str, Any]]:
    return db.column(f"SELECT to_jsonb(r) FROM {call} AS r")


@pytest.mark.parametrize("wanted", [["source_key", "content"], ["snippet"], ["arms", "details"]])
def test_rows_have_the_columns_that_are_wanted(
    db: Database, search: Search, wanted: list[str]
) -> None:
    whole = whole_rows(db, search("7"))
    narrow = whole_rows(db, narrowed(search, wanted))
    assert len(narrow) == 7
    kept = {*ALWAYS, *wanted}
    expected = [{name: row[name] if name in kept else None for name in row} for row in whole]
    assert narrow == expected


def narrowed(search: Search, columns: list[str], limit: int = 7) -> str:
    told = json.dumps({"columns": columns})
    return search(f"{limit}, options => '{told}'")


def test_no_column_named_is_all(db: Database, search: Search) -> None:
    assert whole_rows(db, narrowed(search, [])) == whole_rows(db, search("7"))


def test_an_unknown_column_is_an_error(db: Database, search: Search) -> None:
    error = db.error(f"SELECT * FROM {narrowed(search, ['rang'])}")
    assert error.sqlstate == "22023"
    assert error.message_primary is not None
    assert "source_key" in error.message_primary


def test_text_around_is_read_where_it_is_wanted(db: Database, search: Search) -> None:
    around = '{"context_chars": 100, "columns": ["context_after"]}'
    rows = whole_rows(db, search(f"7, options => '{around}'"))
    assert {(row["context_before"], row["context_after"]) for row in rows} == {(None, "")}


@pytest.mark.parametrize(
    "call",
    [
        "get_context('word', options => {}) -> 'parts'",
        "search_explain('word', options => {}) -> 'results'",
        "(SELECT json_agg(g)::text FROM graph_search("
        "query_embedding => '{vector}', options => {}) AS g)",
    ],
)
def test_what_reads_rows_itself_has_them_whole(db: Database, call: str) -> None:
    call = call.replace("{vector}", vector_of("word"))
    of_words = '"weights": {"vector": 0}' if "'word'" in call else '"min_score": 0'
    whole, narrow = f"'{{{of_words}}}'", f'\'{{{of_words}, "columns": ["arms"]}}\''
    asked = [db.value(f"SELECT {call.replace('{}', one)}") for one in (narrow, whole)]
    assert asked[0] == asked[1]


def test_a_profile_does_not_narrow_rows(db: Database) -> None:
    settings = json.dumps({"columns": ["title"], "weights": {"vector": 0}})
    db.rows("SELECT set_profile('narrow', settings => %s)", settings)
    rows = db.column("SELECT source_key FROM hybrid_search('word', 3, profile => 'narrow')")
    assert len(rows) == 3
    assert None not in rows
