"""The fuzzy arm: what it puts right, what it leaves alone, and whose words it knows."""

import json
from typing import Any

import pytest

from support.database import Database, add_documents

DOCUMENTS = [
    ("deploy", "Deployment", "How to deploy a deployment to production servers"),
    ("vitamin", "", "Vitamin deficiency raises homocysteine concentration"),
    ("quote", "", "The caretaker's o'brien back\\slash naïveté straße"),
    ("chinese", "", "数据库 全文 检索"),
    ("russian", "", "восстановление базы данных"),
]
# A busy machine takes long for the first call in a session.
PATIENT: dict[str, Any] = {"timeouts_ms": {"lexical": 60000}}


@pytest.fixture
def library(db: Database) -> Database:
    db.rows("SELECT add_collection('library')")
    add_documents(db, "library", DOCUMENTS)
    return db


def search(db: Database, query: str, function: str = "fuzzy_search", **options: Any) -> list[Any]:
    """Return (source key, arms) of each row."""
    return db.rows(
        f"SELECT source_key, arms FROM {function}(%s, options => %s)",
        query,
        json.dumps(PATIENT | options),
    )


def corrections(db: Database, query: str) -> dict[str, list[str]]:
    """Return what the best row's fuzzy arm put right."""
    rows = search(db, query)
    return dict(rows[0][1]["fuzzy"].get("corrections") or {}) if rows else {}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("vitamn", "vitamin"),
        ("vitaimn", "vitamin"),
        ("vittamin", "vitamin"),
        ("vitanin", "vitamin"),
        ("deplyoment", "deploy"),
        ("deploymnet", "deploy"),
        ("prodution", "deploy"),
        ("homocystene concentraton", "vitamin"),
        ("homocys", "vitamin"),
        ("deploym", "deploy"),
        ("rasies", "vitamin"),  # stemmed as rasi, and raises as rais
        ("VITAMN", "vitamin"),
        ("caretakr's", "quote"),
        ("obrein naïvté", "quote"),
        ("востановление", "russian"),
    ],
)
def test_misspelt_and_unfinished_words_are_put_right(
    library: Database, query: str, found: str
) -> None:
    assert search(library, query, "lexical_search") == []
    ((source_key, arms),) = search(library, query)
    assert source_key == found
    assert arms["fuzzy"]["method"] == "vocabulary"
    assert arms["fuzzy"]["corrections"]


def test_words_that_come_and_go_are_guesses_at_once(library: Database) -> None:
    assert search(library, "harbuor lighthuose") == []
    with library.connection.transaction(force_rollback=True):
        add_documents(library, "library", [("harbour", "", "a harbour")])
        assert corrections(library, "harbuor lighthuose") == {"harbuor": ["harbour"]}
        add_documents(library, "library", [("lighthouse", "", "a lighthouse and a harbour")])
        assert set(corrections(library, "harbuor lighthuose")) == {"harbuor", "lighthuos"}
    assert search(library, "harbuor lighthuose") == []
    assert corrections(library, "vitamn") == {"vitamn": ["vitamin"]}
    library.rows("SELECT lexical_seal('library')")
    assert corrections(library, "vitamn") == {"vitamn": ["vitamin"]}
    library.rows("SELECT delete_document('library', 'vitamin')")
    assert search(library, "vitamn") == []


def test_known_words_stand_for_themselves(library: Database) -> None:
    ((key, arms),) = search(library, "vitamin deficiency")
    ((_, words),) = search(library, "vitamin deficiency", "lexical_search")
    assert key == "vitamin"
    assert arms["fuzzy"]["score"] == words["lexical"]["score"]
    assert "corrections" not in arms["fuzzy"]


@pytest.mark.parametrize(
    "query",
    [
        "",
        " ",
        "the of and",
        "xqzjkw",
        "x" * 3000,
        "a" * 61,
        "'\"\\ %_ $1 :x",
        "\\'; DROP TABLE x; --",
        "🦊🦊🦊",
        "-vitamn",
        '"',
    ],
)
def test_what_is_like_no_word_finds_nothing(library: Database, query: str) -> None:
    assert search(library, query) == []


def test_no_chunks(db: Database) -> None:
    assert search(db, "vitamn") == []
    db.rows("SELECT add_collection('empty')")
    assert search(db, "vitamn") == []


def test_the_option_fuzzy(library: Database) -> None:
    alone = {"weights": {"vector": 0}}
    query = "vitamn deploy"
    (words,) = search(library, query, "hybrid_search", fuzzy="off", **alone)
    assert list(words[1]) == ["lexical"]
    both = dict(search(library, query, "hybrid_search", **alone))
    assert set(both) == {"vitamin", "deploy"}
    assert both["vitamin"]["fuzzy"]["corrections"] == {"vitamn": ["vitamin"]}
    for fuzzy, arms in (("auto", {"lexical"}), ("on", {"lexical", "fuzzy"})):
        ((_, clean),) = search(library, "vitamin", "hybrid_search", fuzzy=fuzzy, **alone)
        assert set(clean) == arms
    for wrong in ("1", '"maybe"'):
        error = library.error(
            "SELECT * FROM hybrid_search('x', options => %s)", f'{{"fuzzy": {wrong}}}'
        )
        assert error.sqlstate == "22023"


def test_scores_are_at_most_one_and_fall(library: Database) -> None:
    scores = library.column(
        "SELECT score FROM hybrid_search('vitamn deploy homocystene', options => %s)",
        json.dumps(PATIENT | {"weights": {"vector": 0}}),
    )
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


def test_phrases_and_exclusions_hold_as_written(library: Database) -> None:
    assert search(library, "vitamn -deficiency") == []
    assert search(library, 'vitamn "deficiency raises"')[0][0] == "vitamin"
    assert search(library, '"vitamn deficiency"', strict=True) == []


def test_the_snippet_marks_the_right_word(library: Database) -> None:
    snippet = library.value(
        "SELECT snippet FROM fuzzy_search('vitamn', options => %s)", json.dumps(PATIENT)
    )
    assert "<mark>Vitamin</mark>" in snippet


def test_words_of_deleted_chunks_are_no_correction(library: Database) -> None:
    library.rows("SELECT delete_document('library', 'vitamin')")
    assert search(library, "vitamn") == []
    assert "vitamin" in vocabulary(library)
    library.rows("SELECT lexical_rebuild('library')")
    assert "vitamin" not in vocabulary(library)
    assert corrections(library, "prodution") == {"produt": ["product"]}


def test_a_mistake_that_a_text_had_is_put_right_after_a_rebuild(library: Database) -> None:
    """As docs/searching.md says; no result names a word that only deleted texts had."""
    add_documents(library, "library", [("typo", "", "a vitamn of zeppelins")])
    library.rows("SELECT delete_document('library', 'typo')")
    assert search(library, "vitamn") == []
    assert "zeppelin" not in str(search(library, "zeppelyn prodution"))
    library.rows("SELECT lexical_rebuild('library')")
    assert corrections(library, "vitamn") == {"vitamn": ["vitamin"]}


@pytest.mark.parametrize("sealed", [False, True])
def test_the_vocabulary_has_each_word_once(library: Database, sealed: bool) -> None:
    if sealed:
        library.rows("SELECT lexical_seal('library')")
    add_documents(library, "library", [("again", "", "vitamin again")])
    words = vocabulary(library)
    assert len(words) == len(set(words))
    assert set(words) == set(
        library.column(
            "SELECT DISTINCT lexeme FROM pgblend_data.chunk,"
            " unnest(tsvector_to_array(lexemes)) AS lexeme WHERE lexeme NOT LIKE '==%%'"
        )
    )


def test_a_collection_takes_its_words_along(library: Database) -> None:
    library.rows("SELECT remove_collection('library')")
    assert vocabulary(library) == []


def vocabulary(db: Database) -> list[str]:
    """Return all rows of the vocabulary."""
    return db.column("SELECT lexeme FROM pgblend_data.vocabulary")


def test_a_reader_knows_the_words_of_its_collections_only(two_collections: Any) -> None:
    words = two_collections.admin.rows(
        "SELECT c.name, v.lexeme FROM pgblend_data.vocabulary AS v"
        " JOIN collections AS c ON c.id = v.collection_id"
    )
    hidden = {word for name, word in words if name == "secret"} - {
        word for name, word in words if name == "open"
    }
    assert any(len(word) > 4 for word in hidden)
    for word in hidden:
        for database, sees in ((two_collections.admin, True), (two_collections.reader, False)):
            with database.connection.transaction(force_rollback=True):
                database.rows("SELECT set_config('pgblend.fuzzy_lexeme', %s, true)", word)
                found = database.column("SELECT lexeme FROM pgblend._similar_lexeme")
                assert (word in found) == sees
        ids = two_collections.admin.column("SELECT id FROM collections")
        assert word not in two_collections.reader.column(
            "SELECT lexeme FROM pgblend._alike_lexemes(%s, 'english', %s)", ids, word + "x"
        )
        query = "SELECT source_key, score, arms FROM fuzzy_search(%s, options => %s)"
        arguments = (word + "x", json.dumps(PATIENT))
        assert two_collections.reader.rows(query, *arguments) == two_collections.only_open.rows(
            query, *arguments
        )


def test_a_readers_own_function_sees_no_hidden_word(two_collections: Any) -> None:
    """A cheap, leaky condition is not run before the barrier."""
    reader, admin = two_collections.reader, two_collections.admin
    admin.rows(f"GRANT CREATE ON SCHEMA public TO {reader.connection.info.user}")
    reader.rows(
        "CREATE FUNCTION public.leak(word text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS"
        " $$ BEGIN RAISE WARNING '%', word; RETURN true; END $$"
    )
    secret = admin.value("SELECT id FROM collections WHERE name = 'secret'")
    words = set(
        admin.column("SELECT lexeme FROM pgblend_data.vocabulary WHERE collection_id = %s", secret)
    )
    own = set(
        admin.column("SELECT lexeme FROM pgblend_data.vocabulary WHERE collection_id <> %s", secret)
    )
    for word in words - own:
        reader.rows("SELECT set_config('pgblend.fuzzy_lexeme', %s, false)", word)
        reader.rows("SELECT * FROM pgblend._similar_lexeme WHERE public.leak(lexeme)")
    assert not set(reader.warnings()) & (words - own)
    reader.rows("DROP FUNCTION public.leak(text)")
    admin.rows(f"REVOKE CREATE ON SCHEMA public FROM {reader.connection.info.user}")


@pytest.mark.slow
def test_the_trigram_index_serves_a_reader(two_collections: Any) -> None:
    admin = two_collections.admin
    with admin.connection.transaction(force_rollback=True):
        admin.rows(
            "INSERT INTO pgblend_data.vocabulary SELECT c.id, 'english', md5(n::text)"
            " FROM collections AS c, generate_series(1, 20000) AS n"
        )
        admin.rows("ANALYZE pgblend_data.vocabulary")
        admin.rows(f"SET LOCAL ROLE {two_collections.reader_role}")
        admin.rows("SELECT set_config('pgblend.fuzzy_lexeme', 'production', true)")
        plans = [
            "\n".join(admin.column(f"EXPLAIN SELECT * FROM {source}"))
            for source in (
                "pgblend._similar_lexeme",
                "pgblend_data.vocabulary WHERE lexeme % 'production'",
            )
        ]
    assert ["vocabulary_lexeme_gin" in plan for plan in plans] == [True, False]


def test_a_word_misspelt_in_two_ways_counts_as_repeated(db: Database) -> None:
    db.rows("SELECT add_collection('docs', 'simple')")
    for key, text in (("a", "protein membrane"), ("b", "membrane protein"), ("c", "other words")):
        db.rows("SELECT ingest_document('docs', %s, %s)", key, text)
    scores = [
        db.rows(
            "SELECT (arms #>> '{fuzzy,score}')::float8 FROM fuzzy_search(%s, options => %s)",
            query,
            '{"title_weight": 0}',
        )[0][0]
        for query in ("protien", "protien protine")
    ]
    assert scores[1] == pytest.approx(scores[0] * 11 * 2 / 12, rel=0.1)


@pytest.mark.parametrize(
    ("query", "is_exact"),
    [
        ("pump chimeny", True),
        ("chimeny cellar", True),
        ("pump cellar chimeny", True),
        ("chimeny", False),
        ("pump chimeny sprign", False),  # what is misspelt is most of the query
    ],
)
def test_a_corrected_word_does_not_outweigh_an_exact_one(
    db: Database, query: str, is_exact: bool
) -> None:
    db.rows("SELECT add_collection('c')")
    pumps = [(f"p{n}", "", f"The pump in cellar {n} leaks") for n in range(30)]
    swept = ("swept", "", "The chimney of the old house by the lake was swept in spring")
    add_documents(db, "c", [*pumps, swept])
    assert (search(db, query)[0][0] != "swept") is is_exact
    assert any(key == "swept" for key, *_ in search(db, "chimeny"))


def test_words_that_other_collections_had_are_not_remembered_for_this_one(db: Database) -> None:
    """The session keeps what a word may stand for; of trigrams the 50 most alike."""
    db.rows("SELECT add_collection('open'), add_collection('emptied')")
    add_documents(db, "open", [("one", "", "wolkenkratzer")])
    near = " ".join(f"wolkenkrtaz{one}{other}" for one in "abcdefgh" for other in "mnopqrst")
    add_documents(db, "emptied", [("two", "", near)])
    db.rows("SELECT delete_document('emptied', 'two'), lexical_seal('open')")
    search = "SELECT source_key FROM fuzzy_search('wolkenkrtazre', collections => %s)"
    db.rows(search, ["open", "emptied"])
    assert db.rows(search, ["open"]) == [("one",)]
