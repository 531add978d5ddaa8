from collections import Counter
from math import log, sqrt

import pytest

from support.database import Database, add_documents
from support.word_lists import add_word_lists

ENGLISH = [
    ("a", "", "apple apple banana"),
    ("b", "", "banana cherry"),
    ("c", "", "cherry cherry cherry apple durian elderberry fig"),
    ("d", "", "grape"),
]
SIMPLE = [("s1", "", "apple banana banana"), ("s2", "", "kiwi lemon apple apple apple")]


def library(db: Database) -> None:
    """One collection in two configurations; the words have the same lexemes in `simple`."""
    db.rows("SELECT add_collection('fruit', 'simple')")
    add_documents(db, "fruit", SIMPLE)
    for key, _, content in ENGLISH:
        db.rows("SELECT ingest_document('fruit', %s, %s, language => 'english')", key, content)


def bm25(terms: dict[str, list[str]], k1: float, b: float) -> dict[str, float]:
    """Score each text by the textbook; `terms` gives the query's lexemes per configuration.

    With the idf of several languages: see language_idf.
    """
    texts = {key: ("simple", text.split()) for key, _, text in SIMPLE}
    stems = {"apple": "appl", "cherry": "cherri", "elderberry": "elderberri"}
    texts |= {
        key: ("english", [stems.get(word, word) for word in text.split()])
        for key, _, text in ENGLISH
    }
    average = sum(len(words) for _, words in texts.values()) / len(texts)
    own = {name: [words for of, words in texts.values() if of == name] for name in terms}
    known = {
        name: sum(any(term in words for words in own[name]) for term in lexemes) / len(lexemes)
        for name, lexemes in terms.items()
    }
    scores = {}
    for key, (language, words) in texts.items():
        frequencies = Counter(words)
        score = 0.0
        for term in sorted(terms[language]):
            df = sum(term in other for _, other in texts.values())
            own_df = sum(term in other for other in own[language])
            df = (own_df + 100 * df / len(texts)) / (len(own[language]) + 100) * len(texts)
            idf = log(1 + (len(texts) - df + 0.5) / (df + 0.5))
            idf *= sqrt(known[language] / max(known.values()))
            tf = frequencies[term]
            score += tf and idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * len(words) / average))
        if score:
            scores[key] = score
    return scores


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0, 0), (2, 0), (0.5, 1), (100, 1)])
def test_bm25_is_the_formula(db: Database, k1: float, b: float) -> None:
    library(db)
    found = db.rows(
        "SELECT source_key, (arms #>> '{lexical,score}')::float8 FROM lexical_search("
        "'apple cherry banana', options => jsonb_build_object('k1', %s::float8, 'b', %s::float8))",
        k1,
        b,
    )
    words = {"simple": ["apple", "banana", "cherry"], "english": ["appl", "banana", "cherri"]}
    expected = bm25(words, k1, b)
    assert len(found) == 5
    assert dict(found) == pytest.approx(expected, abs=1e-9)


def test_ranks_scores_and_arms(db: Database) -> None:
    library(db)
    rows = db.rows(
        "SELECT rank, score, relevance, degraded, context_before, arms, details,"
        " (arms #>> '{lexical,rank}')::int FROM lexical_search('apple cherry')"
    )
    assert [row[0] for row in rows] == [row[7] for row in rows] == [1, 2, 3, 4, 5]
    scores = [row[1] for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score < 1 for score in scores)
    for row in rows:
        assert row[2:5] == (None, [], None)
        assert row[5].keys() == {"lexical"}
        assert row[6]["relevance_basis"] is None


def test_statistics_are_of_the_searched_collections(db: Database) -> None:
    library(db)
    before = db.rows(
        "SELECT source_key, score FROM lexical_search('banana', collections => '{fruit}')"
    )
    db.rows("SELECT add_collection('more')")
    add_documents(db, "more", [(str(i), "", "banana split") for i in range(5)])
    query = "SELECT source_key, score FROM lexical_search('banana', collections => '{fruit}')"
    assert db.rows(query) == before


def test_scores_do_not_depend_on_filters_nor_languages(db: Database) -> None:
    library(db)
    db.rows("UPDATE pgblend_data.document SET metadata = '{\"x\": 1}' WHERE source_key = 'b'")
    query = "SELECT score FROM lexical_search('banana', %s) WHERE source_key = 'b'"
    score = db.value(query.replace("%s", "10"))
    assert db.value(query.replace("%s", "10, filter => '{\"x\": 1}'")) == score
    assert db.value(query.replace("%s", '10, options => \'{"language": "english"}\'')) == score


def test_title_and_heading_count_as_words(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    db.rows(
        "SELECT ingest_document('c', 'k', NULL, 'Zebra', content_hash => 'x', chunks => %s)",
        '[{"content": "text", "heading": "Yak"}]',
    )
    assert db.column("SELECT title FROM lexical_search('zebras')") == ["Zebra"]
    assert db.column("SELECT content FROM lexical_search('yaks')") == ["text"]


def test_ties_go_by_document_and_chunk(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    chunks = '[{"content": "equal"}, {"content": "equal"}, {"content": "equal"}]'
    for key in ("z", "m", "a"):
        db.rows("SELECT ingest_document('c', %s, '', chunks => %s)", key, chunks)
    query = "SELECT document_id, chunk_id FROM lexical_search('equal', 100, options => %s)"
    everything = db.rows(query, '{"dedup": "off"}')
    assert everything == sorted(everything)
    assert len(everything) == 9
    for depth in range(1, 9):
        options = f'{{"candidate_depth": {depth}, "dedup": "off"}}'
        assert db.rows(query, options) == everything[:depth]


def test_no_collection_no_rows(db: Database) -> None:
    assert db.rows("SELECT * FROM lexical_search('x')") == []
    db.rows("SELECT add_collection('empty')")
    assert db.rows("SELECT * FROM lexical_search('x')") == []
    assert db.rows("SELECT * FROM lexical_search('x', collections => '{}')") == []


def test_an_empty_document_is_not_found(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    assert db.value("SELECT chunk_count FROM ingest_document('c', 'blank', E' \\n ')") == 0
    db.rows("""SELECT ingest_document('c', 'empty', '', chunks => '[{"content": ""}]')""")
    assert db.rows("SELECT * FROM lexical_search('x')") == []
    add_word_lists(db.connection)
    counts = "SELECT n, total_length, df FROM lexical_counts('{0}', '{english}', '{x}', false)"
    assert db.row(counts) == (0, 0, [0])


def test_the_answer_has_all_of_the_row(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    db.rows(
        "SELECT ingest_document('c', 'k', NULL, 'Title', 'file:///k', '{\"a\": 1, \"b\": 1}',"
        " content_hash => 'x', chunks => %s)",
        '[{"content": "word", "start_line": 3, "end_line": 4, "pages": [7], "metadata": {"b": 2}}]',
    )
    columns = "collection, uri, title, snippet, content, start_line, end_line, pages, metadata"
    row = db.row(f"SELECT {columns}, source_key FROM lexical_search('words')")
    assert row == (
        *("c", "file:///k", "Title", "<mark>word</mark>", "word", 3, 4, [7], {"a": 1, "b": 2}),
        "k",
    )


def test_filters_find_the_same_rows_however_few_pass(db: Database) -> None:
    db.rows("SELECT add_collection('c', 'simple')")
    db.rows(  # those that pass a rare filter are long, so that they are not at the top
        "SELECT ingest_document('c', n::text, concat('apple', repeat(' pear', mod(n, 200)),"
        " ' own', translate(n::text, '0123456789', 'abcdefghij')), metadata => jsonb_build_object("
        " '1', true, '2', mod(n, 2) = 1, '40', mod(n, 40) = 39, '200', mod(n, 200) = 199))"
        " FROM generate_series(1, 400) AS n"
    )
    every = (
        "SELECT source_key, score FROM lexical_search(%s, 10000,"
        " options => '{\"candidate_depth\": 10000}')"
    )
    some = (
        "SELECT source_key, score FROM lexical_search(%s, 7, filter => %s,"
        " options => '{\"candidate_depth\": 7}')"
    )
    for _ in ("pending", "sealed"):
        for words in ("apple", "apple -kiwi"):
            rows = db.rows(every, words)
            assert len(rows) == 400
            for share in (1, 2, 40, 200):
                passing = [row for row in rows if int(row[0]) % share == share - 1]
                assert db.rows(some, words, f'{{"{share}": true}}') == passing[:7]
        db.rows("SELECT lexical_seal('c')")


def test_passages_without_text_are_no_repetitions(db: Database) -> None:
    db.rows("SELECT add_collection('titles', 'simple')")
    for key in ("a", "b"):
        db.rows(
            "SELECT ingest_document('titles', %s, '', %s, chunks => '[{\"content\": \"\"}]')",
            key,
            f"algebra {key}",
        )
    found = db.column("SELECT source_key FROM lexical_search('algebra', 10, '{titles}')")
    assert sorted(found) == ["a", "b"]


def test_known_words_weigh_in_the_fuzzy_list_as_they_do_in_the_lexical_one(db: Database) -> None:
    library(db)
    add_word_lists(db.connection)
    arm = (
        "SELECT u.chunk_id, u.score, a.perfect FROM word_list(%s, %s, (SELECT array_agg(id) FROM"
        ' collections), NULL, (SELECT pgblend._search_settings(\'{"fuzzy": "on"}\', NULL,'
        " array_agg(id)) FROM collections)) AS a,"
        " unnest(a.chunk_ids, a.scores) AS u (chunk_id, score)"
    )
    for query in ("apple cherry lemon", "grape", "banana banana fig"):
        words, fuzzy = (db.rows(arm, kind, query) for kind in ("lexical", "fuzzy"))
        assert len(words) > 0
        for one, other in zip(words, fuzzy, strict=True):
            assert other == pytest.approx(one, rel=1e-12)
