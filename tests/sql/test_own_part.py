"""What of a chunk is its own, and what repeats the chunk before it."""

import json

from support.database import Database

COUNTS = """
    SELECT c.chunk_index, l.lexeme,
        count(*) FILTER (WHERE o.position > c.own_position),
        count(*) FILTER (WHERE o.position <= c.own_position)
    FROM pgblend_data.chunk AS c
    CROSS JOIN unnest(c.lexemes) AS l
    CROSS JOIN LATERAL unnest(l.positions) AS o (position)
    GROUP BY 1, 2 ORDER BY 1, 2
"""
LENGTHS = "SELECT length, own_length FROM pgblend_data.pending ORDER BY chunk_index"


def ingest(db: Database, *chunks: tuple[str | None, str, int], title: str = "Wine") -> None:
    """Ingest one document of chunks (heading, content, own_start)."""
    names = ("heading", "content", "own_start")
    rows = [dict(zip(names, chunk, strict=True)) for chunk in chunks]
    db.rows(
        "SELECT blend.ingest_document('docs', '1', '', %s, content_hash => %s, chunks => %s)",
        title,
        json.dumps(rows),
        json.dumps(rows),
    )


def test_title_heading_and_overlap_count_once(db: Database) -> None:
    db.rows("SELECT add_collection('docs', 'english')")
    ingest(
        db,
        ("Red", "Grapes of the south.", 0),
        ("Red", "the south. Barrels of grapes", len("the south. ")),
        ("White", "grapes. Cellars", len("grapes. ")),
        (None, "south south", 0),
    )
    assert db.rows(COUNTS) == [
        (0, "grape", 1, 0),
        (0, "red", 1, 0),
        (0, "south", 1, 0),
        (0, "wine", 1, 0),
        (1, "barrel", 1, 0),
        (1, "grape", 1, 0),
        (1, "red", 0, 1),
        (1, "south", 0, 1),
        (1, "wine", 0, 1),
        (2, "cellar", 1, 0),
        (2, "grape", 0, 1),
        (2, "white", 1, 0),
        (2, "wine", 0, 1),
        (3, "south", 2, 0),
        (3, "wine", 0, 1),
    ]
    assert db.rows(LENGTHS) == [(4, 4), (5, 2), (4, 2), (3, 2)]


def test_scripts_without_spaces_and_an_overlap_of_everything(db: Database) -> None:
    db.rows("SELECT add_collection('docs', 'simple')")
    ingest(db, (None, "東京都", 0), (None, "京都大学", 2), (None, "大学", 2), title="")
    assert db.rows(COUNTS) == [
        (0, "京", 1, 0),
        (0, "京都", 1, 0),
        (0, "東", 1, 0),
        (0, "東京", 1, 0),
        (0, "都", 1, 0),
        (1, "京都", 0, 1),
        (1, "大", 1, 0),
        (1, "大学", 1, 0),
        (1, "学", 1, 0),
        (1, "都大", 1, 0),
        (2, "大学", 0, 1),
    ]
    assert db.rows(LENGTHS) == [(2, 2), (3, 2), (1, 0)]


def test_a_document_without_words_has_lengths_of_zero(db: Database) -> None:
    db.rows("SELECT add_collection('docs', 'english')")
    ingest(db, ("", "the", 0), ("", "the of", 4), title="")
    assert db.rows(COUNTS) == []
    assert db.rows(LENGTHS) == [(0, 0), (0, 0)]


def test_a_heading_that_comes_back_later_counts_again(db: Database) -> None:
    db.rows("SELECT add_collection('docs', 'simple')")
    ingest(db, ("h", "a", 0), ("i", "b", 0), ("h", "c", 0), title="")
    assert [row for row in db.rows(COUNTS) if row[1] == "h"] == [(0, "h", 1, 0), (2, "h", 1, 0)]
