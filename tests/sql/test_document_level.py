"""BM25 of whole documents: against bm25s, and whatever is sealed, pending or deleted."""

import json
import random
from collections import Counter
from typing import Any

import bm25s
import pytest

from support.database import Database, add_space, embed_waiting, vector_of
from support.word_lists import add_word_lists

NAMES = "apple banana cherry date elder fig grape hazel iris juniper kiwi lemon mango"
WORDS = NAMES.split()
QUERIES = ("apple", "kiwi lemon grape", "mango apple apple date", "nowhere cherry")
SEARCH = """
    SELECT source_key, (arms #>> '{lexical,score}')::float8
    FROM lexical_search(%s, 1000, options => %s)
"""
OPTIONS = {
    "level": "document",
    "title_weight": 1,
    "heading_weight": 1,
    "candidate_depth": 1000,
    "dedup": "off",
}
STATISTICS = """
    SELECT n, total_length, df FROM lexical_counts(ARRAY[%s::bigint], '{simple}', %s, true)
"""
Chunk = tuple[str | None, list[str], list[str]]  # heading, overlap, own words


def chunks(chance: random.Random) -> list[Chunk]:
    """Return a document's chunks, each repeating the end of the one before."""
    weights = [1 / place for place in range(1, len(WORDS) + 1)]
    made: list[Chunk] = []
    for _ in range(chance.choice([1, 1, 2, 5, 9])):
        overlap = made[-1][2][-chance.choice([0, 3, 20]) :] if made else []
        own = chance.choices(WORDS, weights, k=chance.choice([2, 10, 40]))
        made.append((chance.choice([None, "fig", "grape tree"]), overlap, own))
    return made


def ingest(db: Database, key: str, title: str, parts: list[Chunk]) -> None:
    rows = [
        {
            "heading": heading,
            "content": " ".join([*overlap, *own]),
            "own_start": len(" ".join([*overlap, ""])) if overlap else 0,
        }
        for heading, overlap, own in parts
    ]
    db.rows(
        "SELECT ingest_document('docs', %s, '', %s, content_hash => %s, chunks => %s)",
        key,
        title,
        json.dumps(rows),
        json.dumps(rows),
    )


def words_of(title: str, parts: list[Chunk]) -> list[str]:
    """Return a document's words, each once: what no chunk repeats."""
    words = title.split()
    before = None
    for heading, _, own in parts:
        if heading and heading != before:
            words += heading.split()
        before = heading
        words += own
    return words


def search(db: Database, query: str, **options: Any) -> list[tuple[str, float]]:
    return db.rows(SEARCH, query, json.dumps(OPTIONS | options))


def results(db: Database) -> list[Any]:
    """Return documents and scores, to the bit, of all queries."""
    return [search(db, query) for query in QUERIES]


@pytest.fixture
def documents(db: Database) -> dict[str, tuple[str, list[Chunk]]]:
    return fill(db)


def fill(db: Database) -> dict[str, tuple[str, list[Chunk]]]:
    """Add random documents; one has a word more often than a tsvector can count."""
    db.rows("SELECT add_collection('docs', 'simple')")
    chance = random.Random(4)
    made = {f"d{n}": (f"lemon {n}", chunks(chance)) for n in range(40)}
    made["often"] = ("often", [(None, [], ["kiwi"] * 200 + ["fig"])] * 4)
    for key, (title, parts) in made.items():
        ingest(db, key, title, parts)
    return made


def by_bm25s(documents: dict[str, tuple[str, list[Chunk]]], query: str) -> dict[str, float]:
    model = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    model.index([words_of(*document) for document in documents.values()], show_progress=False)
    expected: Counter[str] = Counter()
    for word, count in Counter(query.split()).items():
        for key, score in zip(documents, model.get_scores([word]), strict=True):
            expected[key] += float(score) * 2.2 * boost(count)
    return {key: score for key, score in expected.items() if score}


def boost(count: int) -> float:
    """Return what a word counts that stands so often in the query."""
    return 11 * count / (10 + count)


def test_scores_are_those_of_bm25s_over_whole_documents(
    db: Database, documents: dict[str, tuple[str, list[Chunk]]]
) -> None:
    def check() -> None:
        for query in QUERIES:
            assert dict(search(db, query)) == pytest.approx(by_bm25s(documents, query), abs=1e-4)

    check()
    pending = results(db)
    db.rows("SELECT lexical_seal('docs')")
    assert results(db) == pending
    for key in ["d3", "d4", "d20", "often"]:
        db.rows("SELECT delete_document('docs', %s)", key)
        del documents[key]
    check()
    buried = results(db)
    db.rows("SELECT lexical_seal('docs')")
    assert results(db) == buried
    chance = random.Random(5)
    for key in ["d7", "d8", "new"]:  # two replaced, one added
        documents[key] = ("mango", chunks(chance))
        ingest(db, key, *documents[key])
    check()
    mixed = results(db)
    db.rows("SELECT lexical_rebuild('docs')")
    assert results(db) == mixed


def test_statistics_count_documents(
    db: Database, documents: dict[str, tuple[str, list[Chunk]]]
) -> None:
    number = db.value("SELECT id FROM pgblend_data.collection")
    words = [words_of(*document) for document in documents.values()]
    lexemes = [*WORDS, "nowhere", "tree"]
    expected = (
        len(documents),
        sum(map(len, words)),
        [sum(lexeme in one for one in words) for lexeme in lexemes],
    )
    add_word_lists(db.connection)
    assert db.rows(STATISTICS, number, lexemes) == [expected]
    db.rows("SELECT lexical_seal('docs')")
    assert db.rows(STATISTICS, number, lexemes) == [expected]


def test_a_document_is_shown_by_its_best_chunk(db: Database) -> None:
    db.rows("SELECT add_collection('docs', 'simple')")
    parts: list[Chunk] = [
        (None, [], ["apple", "fig"]),
        (None, [], ["kiwi", "kiwi", "lemon"]),
        (None, ["lemon"], ["kiwi", "date"]),
    ]
    ingest(db, "a", "title", parts)
    ingest(db, "b", "apple", [(None, [], ["apple", "pear"])])
    rows = 'SELECT source_key, content FROM lexical_search(%s, options => \'{"level":"document"}\')'
    assert db.rows(rows, "kiwi") == [("a", "kiwi kiwi lemon")]
    assert db.rows(rows, "lemon date") == [("a", "lemon kiwi date")]
    assert db.rows(rows, "apple") == [("b", "apple pear"), ("a", "apple fig")]
    assert db.rows(rows, "nowhere") == []
    assert db.rows(rows, "") == []


def test_phrases_and_exclusions_bind_the_document(db: Database) -> None:
    db.rows("SELECT add_collection('docs', 'simple')")
    ingest(db, "a", "", [(None, [], ["apple", "pie"]), (None, [], ["fig", "apple"])])
    ingest(db, "b", "", [(None, [], ["apple", "fig"]), (None, [], ["kiwi"])])
    ingest(db, "c", "", [(None, [], ["fig"]), (None, [], ["pie", "lemon"])])

    def found(query: str) -> set[str]:
        return {key for key, _ in search(db, query)}

    assert found('"apple pie"') == {"a"}
    assert found('"apple pie" fig') == {"a"}
    assert found("apple -kiwi") == {"a"}
    assert found("fig -pie") == {"b"}
    assert found('"apple fig" or lemon') == {"b", "c"}
    assert found('fig -"fig apple"') == {"b", "c"}
    assert found('"apple fig" or fig -kiwi') == {"a", "b", "c"}


def test_a_filter_asks_for_a_chunk_that_passes(db: Database) -> None:
    db.rows("SELECT add_collection('docs', 'simple')")
    for key, pages in (("a", [1, 2]), ("b", [3])):
        rows = [{"content": f"apple {page}", "metadata": {"page": page}} for page in pages]
        db.rows(
            "SELECT ingest_document('docs', %s, '', %s, metadata => %s, chunks => %s)",
            key,
            "",
            json.dumps({"key": key}),
            json.dumps(rows),
        )
    rows = (
        "SELECT source_key, content FROM lexical_search('apple', 10, filter => %s,"
        ' options => \'{"level":"document"}\') ORDER BY 1'
    )
    assert db.rows(rows, '{"page": 2}') == [("a", "apple 2")]
    assert db.rows(rows, '{"key": "b"}') == [("b", "apple 3")]
    assert db.rows(rows, '{"page": 9}') == []


def test_many_documents_that_do_not_pass_are_looked_beyond(db: Database) -> None:
    db.rows("SELECT add_collection('docs', 'simple')")
    for n in range(60):
        ingest(db, f"a{n}", "", [(None, [], ["apple", "apple", "kiwi"])])
    ingest(db, "z", "", [(None, [], ["apple", "fig", "fig", "fig"])])
    assert [key for key, _ in search(db, "apple -kiwi", candidate_depth=2)] == ["z"]


def test_languages_share_one_bm25(db: Database) -> None:
    db.rows("SELECT add_collection('docs', 'simple')")
    for key, language in (("a", "english"), ("b", "simple"), ("c", "english")):
        db.rows(
            "SELECT ingest_document('docs', %s, 'houses of wine', language => %s)", key, language
        )
    number = db.value("SELECT id FROM pgblend_data.collection")
    add_word_lists(db.connection)
    for _ in range(2):
        assert db.rows(STATISTICS, number, ["hous", "houses"]) == [(3, 7, [2, 1])]
        assert [key for key, _ in search(db, "houses")] == ["b", "a", "c"]
        db.rows("SELECT lexical_seal('docs')")


def test_ties_and_depth(db: Database) -> None:
    db.rows("SELECT add_collection('docs', 'simple')")
    for key in "dcba":
        ingest(db, key, "", [(None, [], ["apple"])])
    rows = search(db, "apple")
    assert [key for key, _ in rows] == ["d", "c", "b", "a"]
    assert search(db, "apple", candidate_depth=2) == rows[:2]


def test_an_unknown_level_is_an_error(db: Database) -> None:
    error = db.error("SELECT * FROM lexical_search('a', options => '{\"level\": \"page\"}')")
    assert error.sqlstate == "22023"
    assert "level" in (error.message_primary or "")


def test_a_hybrid_search_gives_each_document_once(db: Database) -> None:
    db.rows("SELECT add_collection('docs', 'simple')")
    for key in ("a", "b"):
        words = [["apple", key], ["kiwi", key], ["apple", "kiwi", key]]
        ingest(db, key, "", [(None, [], one) for one in words])
    add_space(db)
    embed_waiting(db)
    search = (
        "SELECT source_key, content, arms ? 'vector', arms ? 'lexical'"
        " FROM hybrid_search('apple kiwi', 10, options => %s, query_embedding => %s)"
    )
    assert len(db.rows(search, '{"level": "chunk"}', vector_of("apple kiwi"))) == 6
    assert sorted(db.rows(search, '{"level": "document"}', vector_of("apple kiwi"))) == [
        ("a", "apple kiwi a", True, True),
        ("b", "apple kiwi b", True, True),
    ]


def test_relevance_is_that_of_the_passage_that_is_shown(db: Database) -> None:
    db.rows("SELECT add_collection('docs', 'simple')")
    ingest(db, "a", "", [(None, [], ["apple"]), (None, [], ["kiwi", "lemon"])])
    add_space(db)
    embed_waiting(db)
    options = {"level": "document", "weights": {"lexical": 9}, "feedback": {"passages": 0}}
    ((content, relevance, found),) = db.rows(
        "SELECT content, relevance, (arms #>> '{vector,score}')::float8"
        " FROM hybrid_search('apple', options => %s, query_embedding => %s)",
        json.dumps(options),
        vector_of("kiwi lemon"),
    )
    assert (content, found) == ("apple", pytest.approx(1))  # words choose what is shown
    assert relevance == pytest.approx(
        db.value("SELECT 1 - (%s::vector <=> %s)", vector_of("apple"), vector_of("kiwi lemon"))
    )
    assert relevance < 0.9
