"""What a query means: words, phrases, exclusions, alternatives, and whatever people paste."""

import pytest

from support.database import Database, add_documents

DOCUMENTS = [
    ("red", "", "The red fox jumps over the lazy dog"),
    ("brown", "", "A brown fox sleeps; a dog barks"),
    ("cat", "", "The cat's whiskers are red and long"),
    ("path", "", r"C:\temp\new holds O'Reilly's books 🦊 and naïve prose"),
]


@pytest.fixture(autouse=True)
def documents(db: Database) -> None:
    db.rows("SELECT add_collection('animals')")
    add_documents(db, "animals", DOCUMENTS)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("fox", {"red", "brown"}),
        ("FOXES", {"red", "brown"}),
        ("fox cat", {"red", "brown", "cat"}),  # any word may match
        ('"red fox"', {"red"}),
        ('"fox red"', set()),
        ('"lazy dog" cat', {"red"}),  # a phrase must hold
        ("fox -brown", {"red"}),
        ('fox -"lazy dog"', {"brown"}),
        ("-brown", set()),  # nothing to rank by
        ("fox --brown", {"red", "brown"}),  # an option of a command is a word
        ("fox - brown", {"red", "brown"}),  # a lone minus is no operator
        ('"red fox"-jumps', {"red"}),  # after a quotation a hyphen makes a compound
        ("„red fox“-jumps", {"red"}),
        ('"lazy dog"-"red fox"', {"red"}),  # two phrases, and both must hold
        ('"lazy dog"-"brown fox"', set()),
        ('"lazy dog" -"brown fox"', {"red"}),
        ("fox or cat", {"red", "brown", "cat"}),
        ('"red fox" or "cat whiskers"', {"red"}),
        ('"red fox" or "cat\'s whiskers"', {"red", "cat"}),
        ('"red fox" or cat', {"red", "cat"}),
        ('"lazy dog" or cat -whiskers', {"red"}),
        ("fox -brown or cat", {"red", "cat"}),
        ('"red fox" or', {"red"}),
        ('or "red fox"', {"red"}),
        ("or", set()),
        ('"red fox', {"red"}),  # never closed: to the end
        ('"', set()),
        ('""', set()),
        ('fox ""', {"red", "brown"}),
        ("the", set()),  # stop words only
        ('"the" fox', {"red", "brown"}),  # a phrase of stop words puts no condition
        ("fox -the", {"red", "brown"}),
        ("O'Reilly", {"path"}),
        (r"C:\temp\new", {"path"}),
        ("🦊", {"path"}),
        ("🎉", set()),
        ("naïve", {"path"}),
        ("' | & ! <-> ( ) : * \\", set()),
        ("fox' | dog:* & !cat", {"red", "brown", "cat"}),
        ("%s %(x)s {} $1", set()),
    ],
)
def test_found(db: Database, query: str, expected: set[str]) -> None:
    search = "SELECT source_key FROM lexical_search(%s, options => '{\"strict\": true}')"
    assert set(db.column(search, query)) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"fox red"', {"red", "brown", "cat"}),
        ('"dog lazy" -brown', {"red"}),  # what is excluded stays so
        ('"dog lazy" -"brown fox"', {"red"}),
        ('"red or lazy"', {"red", "cat"}),  # a word of a phrase is no operator
        ('"fox -brown"', {"red", "brown"}),
        ('"fox unicorn" or "cat dog"', {"red", "brown", "cat"}),
        ('"fox red', {"red", "brown", "cat"}),
        ("„fox red“", {"red", "brown", "cat"}),
        ('"unicorn rainbow"', set()),
    ],
)
@pytest.mark.parametrize("function", ["lexical_search", "hybrid_search"])
def test_a_phrase_that_no_passage_has_is_searched_as_words(
    db: Database, function: str, query: str, expected: set[str]
) -> None:
    rows = db.rows(f"SELECT source_key, degraded FROM {function}(%s)", query)
    assert {source_key for source_key, _ in rows} == expected
    note = (
        "phrases: no passage has what is in quotes. These rows are by its words, and the option"
        " strict leaves them out"
    )
    assert all(note in degraded for _, degraded in rows)
    assert any("phrases" in warning for warning in db.warnings()) == bool(expected)


@pytest.mark.parametrize(
    ("query", "expected"),
    [("lands -A380", {"tons"}), ('lands "A380"', {"plane"}), ("A380", {"plane"})],
)
def test_a_spelling_that_loses_its_stop_word_is_no_name(
    db: Database, query: str, expected: set[str]
) -> None:
    add_documents(db, "animals", [("plane", "", "The A380 lands"), ("tons", "", "380 tons land")])
    assert set(db.column("SELECT source_key FROM lexical_search(%s)", query)) == expected


def test_pages_of_a_phrase_stay_pages(db: Database) -> None:
    found = "SELECT source_key, degraded FROM lexical_search('\"red fox\"', 1, options => %s)"
    assert db.rows(found, '{"offset": 1}') == []
    assert db.warnings() == []
    options = '{"offset": 1}'
    second = db.rows(
        "SELECT source_key FROM lexical_search('\"fox red\"', 1, options => %s)", options
    )
    assert len(second) == 1


@pytest.mark.parametrize("query", [None, "", " ", "\t\r\n"])
def test_blank_queries_find_nothing(db: Database, query: str | None) -> None:
    for function in ("hybrid_search", "lexical_search", "vector_search"):
        assert db.rows(f"SELECT * FROM {function}(%s)", query) == []
    assert db.warnings() == []


@pytest.mark.parametrize(
    "query",
    ["fox " * 25_000, '"' * 100_000, "-" * 100_000, "or " * 33_000, "é" * 50_000, "fox" * 33_000],
    ids=["words", "quotes", "minus", "or", "accents", "one-word"],
)
def test_a_hundred_kilobytes(db: Database, query: str) -> None:
    patient = '{"timeouts_ms": {"lexical": 60000}}'
    db.rows("SELECT set_setting('limits', '{\"query_operators\": 50000}')")
    found = db.column("SELECT source_key FROM lexical_search(%s, options => %s)", query, patient)
    assert set(found) == ({"red", "brown"} if query.startswith("fox ") else set())
    assert db.notices == []


def test_many_words(db: Database) -> None:
    query = " ".join(f"word{i}" for i in range(2_000)) + " fox"
    db.rows("SELECT set_setting('limits', '{\"query_words\": 3000}')")
    search = "SELECT source_key FROM lexical_search(%s, options => %s)"
    patient = '{"timeouts_ms": {"lexical": 60000}}'
    assert set(db.column(search, query, patient)) == {"red", "brown"}


def test_each_language_parses_for_itself(db: Database) -> None:
    db.rows(
        "SELECT ingest_document('animals', 'de', 'Die Häuser der Füchse', language => 'german')"
    )
    assert db.column("SELECT source_key FROM lexical_search('Haus')") == ["de"]
    assert db.column("SELECT source_key FROM lexical_search('foxes')") == ["brown", "red"][::-1]
    german = (
        """SELECT source_key FROM lexical_search('Haus fox', options => '{"language": "german"}')"""
    )
    assert db.column(german) == ["de"]
