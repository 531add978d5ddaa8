"""What a reranker reads: the first passages, of one book too, or one passage of each document."""

import json
from typing import Any

import psycopg
import pytest

from support.database import Database

CHAPTERS = 30
READ = 20


@pytest.fixture(scope="module")
def book(module_connection: psycopg.Connection) -> Database:
    """One document of many passages that have the word, and a short one."""
    db = Database(module_connection)
    db.rows("SELECT add_collection('c')")
    chunks = [
        {"content": f"chapter {n} of the harbour" + " and the sea" * n} for n in range(CHAPTERS)
    ]
    db.rows("SELECT ingest_document('c', 'book', '', chunks => %s::jsonb)", json.dumps(chunks))
    db.rows("SELECT ingest_document('c', 'note', 'a note on the harbour and the sea and boats')")
    return db


def search(db: Database, profile: str | None, **options: Any) -> list[tuple[int, float | None]]:
    """Return chunk id and relevance of each row."""
    given = {"timeouts_ms": {"lexical": 60000}, "rerank": "on", **options}
    return db.rows(
        "SELECT chunk_id, relevance FROM hybrid_search('harbour', 40, profile => %s,"
        " options => %s)",
        profile,
        json.dumps(given),
    )


def candidates(db: Database, profile: str | None) -> list[int]:
    return db.column(
        "SELECT chunk_id FROM rerank_candidates('harbour', profile => %s, options => %s)",
        profile,
        json.dumps({"timeouts_ms": {"lexical": 60000}}),
    )


@pytest.mark.parametrize("profile", [None, "three_arm"])
def test_a_perfect_reranker_puts_any_of_the_first_passages_first(
    book: Database, profile: str | None
) -> None:
    read = candidates(book, profile)
    assert len(read) == READ
    for right in read if profile is None else read[:1]:
        scores = {str(one): float(one == right) for one in read}
        rows = search(book, profile, rerank_scores=scores)
        assert rows[0] == (right, 1.0)
        assert sum(relevance is not None for _, relevance in rows) == READ


def test_a_reranker_reads_whole_words(book: Database) -> None:
    chunks = json.dumps([{"content": "harbour, " * 600}])
    with book.connection.transaction(force_rollback=True):
        book.rows("SELECT ingest_document('c', 'log', '', chunks => %s::jsonb)", chunks)
        passages = book.column("SELECT passage FROM rerank_candidates('harbour')")
    (longest,) = [one for one in passages if one.startswith("harbour,")]
    assert longest == " ".join(["harbour,"] * 444)  # 3,995 characters of 4,000


@pytest.mark.parametrize("profile", ["gno", "gno_epic"])
def test_their_sources_read_one_passage_of_each_document(book: Database, profile: str) -> None:
    assert len(candidates(book, profile)) == 2


@pytest.mark.parametrize(
    ("profile", "options", "told"),
    [
        ("gno_epic", {}, 1),
        ("gno_epic", {"fused_scale": "attainable"}, 0),
        ("gno_epic", {"fused_scale": "minmax"}, 0),
        ("gno_epic", {"rerank": "off"}, 0),
        ("gno", {}, 0),
        ("three_arm", {}, 0),
        (None, {}, 0),
        (None, {"fusion": "rrf", "fused_scale": "raw"}, 1),
    ],
)
def test_sums_that_do_not_mix_with_scores_are_told_once(
    book: Database, profile: str | None, options: dict[str, Any], told: int
) -> None:
    scores = {str(one): 0.5 for one in candidates(book, profile)}
    book.warnings()
    search(book, profile, rerank_scores=scores, **options)
    warnings = [one for one in book.warnings() if "reranker" in one]
    assert len(warnings) == told
    assert all("fused order counts next to nothing" in one for one in warnings)
