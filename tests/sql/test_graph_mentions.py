"""Documents that name each other."""

import pytest

from support.database import Database, add_documents

LIBRARY = [
    ("film", "The Heart (film)", "The Heart is a film by JANE ROE, and Jane Roe's first."),
    ("jane", "Jane Roe", "Jane Roe was born in Lisbon, she made The Heart."),
    ("alias", "Lisboa", "The sea is near."),
    ("a", "A", "A is a letter."),
    ("longer", "Jane Roe Institute", "No name is here but its own: Jane Roe Institute."),
    ("reader", "Reader", "The Jane Roe Institute is named after somebody."),
]
MENTIONS = (
    "SELECT s.source_key, t.source_key, e.metadata ->> 'name', e.origin, e.document_id = s.id"
    " FROM blend.edges AS e JOIN pgblend_data.document AS s ON e.source = 'document:' || s.id"
    " JOIN pgblend_data.document AS t ON e.target = 'document:' || t.id ORDER BY 1, 2"
)


@pytest.fixture
def library(db: Database) -> Database:
    db.rows("SELECT blend.add_collection('c')")
    add_documents(db, "c", LIBRARY)
    db.rows(
        'SELECT set_metadata(id, \'{"aliases": ["Lisbon"]}\') FROM pgblend_data.document'
        " WHERE source_key = 'alias'"
    )
    return db


def test_titles_and_aliases_in_texts(library: Database) -> None:
    expected = [
        ("film", "jane", "jane roe", "mention", True),
        ("jane", "alias", "lisbon", "mention", True),
        ("jane", "film", "the heart", "mention", True),
        ("reader", "longer", "jane roe institute", "mention", True),
    ]
    assert library.value("SELECT link_mentions('c')") == len(expected)
    assert library.rows(MENTIONS) == expected
    assert library.value("SELECT link_mentions('c')") == len(expected)  # anew, not twice
    assert library.rows(MENTIONS) == expected
    assert library.value("SELECT count(*) FROM pgblend_data.edge") == 2 * len(expected)


def test_they_go_with_their_passage(library: Database) -> None:
    library.rows("SELECT link_mentions('c')")
    add_documents(library, "c", [("film", "The Heart (film)", "Nobody is named.")])
    assert [row[0] for row in library.rows(MENTIONS)] == ["jane", "jane", "reader"]
    library.rows("SELECT delete_document('c', 'jane')")
    assert [row[0] for row in library.rows(MENTIONS)] == ["reader"]


def test_once_more_writes_what_changed(library: Database) -> None:
    library.rows("SELECT link_mentions('c')")
    rows = "SELECT array_agg(ROW(ctid, xmin)::text ORDER BY ctid) FROM pgblend_data.edge"
    before = library.value(rows)
    library.rows("SELECT link_mentions('c')")
    assert library.value(rows) == before
    # Another name for who is named already, one name less, and one more.
    # Titles alone: to replace a document would replace its edges as well.
    library.rows("ALTER TABLE pgblend_data.document DISABLE TRIGGER document_05_keep_names")
    library.rows(
        "UPDATE pgblend_data.document SET title = CASE source_key WHEN 'alias' THEN 'Sea'"
        " WHEN 'reader' THEN 'Somebody' ELSE 'Roe''s' END"
        " WHERE source_key IN ('alias', 'reader', 'film')"
    )
    add_documents(library, "c", [("isle", "", "Somebody swims to Jane Roe Institute.")])
    assert library.value("SELECT link_mentions('c')") == 5
    assert [row[:3] for row in library.rows(MENTIONS)] == [
        ("film", "jane", "jane roe"), ("isle", "longer", "jane roe institute"),
        ("isle", "reader", "somebody"), ("jane", "alias", "lisbon"),
        ("reader", "longer", "jane roe institute"),
    ]  # fmt: skip
    kept = library.value(rows)
    assert len(set(before) & set(kept)) == 6
    assert library.value("SELECT count(*) FROM pgblend_data.edge") == 10


def test_words_that_everybody_says_are_no_names(library: Database) -> None:
    add_documents(library, "c", [("sea", "Sea", ""), *(
        (f"k{number}", "", "The sea is blue.") for number in range(11))])  # fmt: skip
    library.rows("SELECT link_mentions('c')")
    assert all(row[1] != "sea" for row in library.rows(MENTIONS))


def test_only_writers(library: Database) -> None:
    assert library.error("SELECT link_mentions('x')").sqlstate == "42704"
