"""Words that many passages have, so that their scores tie, come before what lacks them."""

import json
import math

import psycopg
import pytest

from support.database import Database, add_documents, stage, vector_literal

QUERY = vector_literal([1, 0])


def add_library(db: Database, name: str, texts: dict[str, tuple[str, float]]) -> None:
    """Store texts by key, each with the angle of its vector to the query's, in degrees."""
    db.rows("SELECT add_collection(%s, 'simple')", name)
    add_documents(db, name, [(key, "", text) for key, (text, _) in texts.items()])
    rows = db.rows(
        "SELECT h.chunk_id, d.source_key FROM chunks AS h JOIN documents AS d USING (document_id)"
        " WHERE h.chunk_id IN (SELECT chunk_id FROM pgblend._next_embeddings('flat', NULL))"
    )
    angles = [(chunk, math.radians(texts[key][1])) for chunk, key in rows]
    stage(db, [(chunk, (math.cos(angle), math.sin(angle))) for chunk, angle in angles])
    db.rows("SELECT pgblend._store_embeddings('flat')")


def first(db: Database, query: str, name: str = "tickets", **options: object) -> str:
    return db.value(
        "SELECT content FROM hybrid_search(%s, 1, ARRAY[%s], query_embedding => %s, options => %s)",
        query,
        name,
        QUERY,
        json.dumps(options),
    )


@pytest.fixture(scope="module")
def tickets(module_connection: psycopg.Connection) -> Database:
    """Passages that have a word, and near ones without it.

    In `tickets` they are nearly as near, and lengths differ or not; in `letters` they say more.
    """
    db = Database(module_connection)
    db.rows("SELECT create_embedding_space('flat', 'openai/test-embedding', 2, probe => false)")
    topics = {
        f"t{n}": (f"record {n} about topic{n % 10} on E40{n % 8} fine", 35 + n % 7)
        for n in range(320)
    }
    bills = {
        f"r{n}": (f"Rechnung {n} ist überfällig seit Montag " + "und offen " * (n % 9), 34)
        for n in range(30)
    }
    near = {f"near{n}": (f"über fällig, Thema {n}", 31 + n) for n in range(3)}
    near |= {"part": ("topic of its own", 30), "number": ("400 records", 30)}
    add_library(db, "tickets", topics | bills | near)
    mails = {
        f"m{n}": (f"Mahnung {n} an {('Seidel', 'Brandt', 'Kaiser')[n % 3]}", 60 + n % 5)
        for n in range(90)
    }
    others = {f"o{n}": (f"Gutschrift {n}", 80 + n % 9) for n in range(30)}
    add_library(db, "letters", mails | others | {"near": ("Mahnungen", 2)})
    return db


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("überfällig", ["überfällig"]),
        ("topic3", ["topic3"]),
        ("E403", ["E403"]),
        ("E400", ["E400"]),
        ("topic3 fine", ["topic3", "fine"]),
        ("Rechnung überfällig", ["Rechnung", "überfällig"]),
        ("topic5 E405", ["topic5", "E405"]),
    ],
)
def test_the_first_row_has_the_words(tickets: Database, query: str, words: list[str]) -> None:
    found = first(tickets, query).split()
    assert [word for word in words if word not in found] == []


@pytest.mark.parametrize(
    ("query", "words"), [("Mahnung", ["Mahnung"]), ("Mahnung Seidel", ["Mahnung", "Seidel"])]
)
def test_a_text_of_a_variant_alone_comes_after_the_word(
    tickets: Database, query: str, words: list[str]
) -> None:
    found = first(tickets, query, "letters").split()
    assert [word for word in words if word not in found] == []


def test_variants_do_not_outweigh_the_querys_own_word(tickets: Database) -> None:
    expansion = {"lexicalQueries": ["Thema"], "vectorQueries": [], "hyde": ""}
    assert "überfällig" in first(tickets, "überfällig", expansion=expansion)
