"""A document comes first where it is asked for by its file's name, in words alone and fused."""

import json
from math import inf
from typing import Any

import pytest

from pgblend.plpy.lexical import query as parse
from pgblend.plpy.lexical.arm import LexicalArm, ListScope
from pgblend.plpy.lexical.own_index import Node
from pgblend.plpy.lexical.terms import query_terms
from support.database import Database, add_space, embed_waiting
from support.served_database import ServedDatabase

MEMO = "docs/2024/fake-memo.pdf"
KEYS = [
    MEMO,
    "docs/fr_olap.pdf",
    "factbook.xml",
    "de/Notizen verknüpfen.md",
    "mid_test.docx",
    "1042",
]
# What is asked for, and what comes first; every name is mentioned in other passages as well.
ASKED = [
    ("fake-memo.pdf", MEMO),
    ("FAKE-MEMO.PDF", MEMO),
    ("what is in fake-memo.pdf?", MEMO),
    ('"fake-memo.pdf"', MEMO),
    ("fake-memo", MEMO),
    (MEMO, MEMO),
    ("fr_olap.pdf", "docs/fr_olap.pdf"),
    ("fr_olap", "docs/fr_olap.pdf"),
    ("factbook.xml", "factbook.xml"),
    ("mid_test.docx", "mid_test.docx"),
    ("Notizen verknüpfen.md", "de/Notizen verknüpfen.md"),
    ("de/Notizen verknüpfen.md", "de/Notizen verknüpfen.md"),
]

NEAREST = """
    SELECT e.embedding::text FROM pgblend_data.embedding_test_space AS e
    JOIN pgblend_data.document AS d ON d.id = e.document_id
    WHERE d.source_key = %s
"""


@pytest.fixture
def library(db: Database) -> Database:
    """Documents whose texts and titles say nothing of their names, and others that mention them."""
    db.rows("SELECT add_collection('c')")
    add_space(db)
    for key in KEYS:
        chunks = [{"content": f"Unrelated prose, part {part}."} for part in range(30)]
        db.rows(
            "SELECT ingest_document('c', %s, '', title => 'A report', content_hash => 'x',"
            " chunks => %s)",
            key,
            json.dumps(chunks),
        )
        for number in range(3):
            mention = f"See {key} {key.split('/')[-1]} " + "fake memo pdf and more, " * number
            db.rows("SELECT ingest_document('c', %s, %s)", f"{number} {len(key)}", mention)
    embed_waiting(db)
    return db


@pytest.mark.parametrize("sealed", [False, True])
def test_first_by_its_name(library: Database, sealed: bool) -> None:
    if sealed:
        library.rows("SELECT lexical_seal('c')")
    for query, key in ASKED:
        # The vector of a passage that mentions the name, as a model would find it likeliest.
        vector = library.value(NEAREST, f"2 {len(key)}")
        for search in ("lexical_search(%s)", f"hybrid_search(%s, query_embedding => '{vector}')"):
            row = library.rows(
                f"SELECT source_key, snippet, content FROM {search} WHERE rank = 1", query
            )
            assert row == [(key, "Unrelated prose, part 0.", "Unrelated prose, part 0.")], query
        options = '{"level": "document"}'
        found = "SELECT source_key FROM lexical_search(%s, 1, options => %s)"
        assert library.column(found, query, options) == [key]


def test_among_several_languages(library: Database) -> None:
    library.rows("SELECT ingest_document('c', 'x.md', 'Ein deutscher Text.', language => 'german')")
    for query, key in [*ASKED, ("x.md", "x.md")]:
        assert library.column("SELECT source_key FROM lexical_search(%s, 1)", query) == [key]


def test_many_of_one_name_come_before_what_mentions_it(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    db.rows("SELECT ingest_document('c', 'notes', 'See README.md, the README.md.')")
    for number in range(20):
        key = f"{number}/README.md"
        db.rows("SELECT ingest_document('c', %s, %s, title => 'Part')", key, f"Part {number}.")
    found = db.column("SELECT source_key FROM lexical_search('README.md', 21)")
    assert found[-1] == "notes"
    assert len(found) == 21


def test_a_part_of_a_name_is_a_word(library: Database) -> None:
    assert library.column("SELECT source_key FROM lexical_search('olap', 1)") == [
        "docs/fr_olap.pdf"
    ]
    assert "factbook.xml" in library.column("SELECT source_key FROM lexical_search('factbook')")


def test_names_do_not_change_lengths_or_other_chunks(library: Database) -> None:
    rows = library.rows(
        "SELECT c.chunk_index, p.length, c.lexemes::text FROM pgblend_data.chunk AS c"
        " JOIN pgblend_data.pending AS p ON p.chunk_id = c.id"
        " JOIN pgblend_data.document AS d ON d.id = c.document_id WHERE d.source_key = %s"
        " ORDER BY 1",
        MEMO,
    )
    assert {length for index, length, _ in rows} == {rows[1][1]}
    assert ["==" in lexemes for _, _, lexemes in rows] == [True] + [False] * 29


@pytest.mark.parametrize("key", ["31715818", "2024/17", "550e8400-e29b-41d4-a716-446655440000"])
def test_numbers_and_codes_are_no_names(db: Database, key: str) -> None:
    db.rows("SELECT add_collection('c')")
    db.rows("SELECT ingest_document('c', %s, 'plain words')", key)
    found = db.value("SELECT tsvector_to_array(lexemes) FROM pgblend_data.chunk")
    assert found == ["plain", "word"]


def test_names_are_no_words_of_the_vocabulary(library: Database) -> None:
    library.rows("SELECT lexical_rebuild('c')")
    library.rows("SELECT ingest_document('c', 'later-name.txt', 'x')")
    words = library.column("SELECT lexeme FROM pgblend_data.vocabulary")
    assert "memo" in words
    assert not [word for word in words if word.startswith("==")]


def test_what_is_no_name_is_ranked_as_before(
    library: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that no document has leaves every score as it is."""
    server = ServedDatabase(library.connection)
    ids = library.value("SELECT array_agg(id) FROM collections")
    scope = ListScope(
        collection_ids=ids, filter=None, language=None, by_document=False, k1=1.2, b=0.75,
        field_weights=(3.0, 1.5, 1.0), timeout_ms=60_000, deadline=inf, checks_index=True,
        strict=False, corrects_all=False,
    )  # fmt: skip
    names_of = parse._names

    def no_names(*asked: Any) -> dict[str, float]:
        named = names_of(*asked).items()
        return {name: boost for name, boost in named if not name.startswith("==")}

    def asked(query: str) -> tuple[bool, Any]:
        """Whether it may be a name, and what words find."""
        (part,) = query_terms(server, Node(server), query, ids, None).parts
        found = LexicalArm(server, Node(server), scope).words(query, 20).found
        named = any(lexeme.startswith("==") for lexeme in part.lexemes)
        return named, found._replace(perfect=None)

    like_names = ["well-known", "IL-6", "no_such_file.pdf"]
    for query in (*like_names, "plain words", "what is it?", "a report"):
        is_named, found = asked(query)
        assert is_named == (query in like_names)
        with monkeypatch.context() as without:
            without.setattr(parse, "_names", no_names)
            assert asked(query) == (False, found), query


@pytest.mark.parametrize(
    "key", ["it's.txt", "a\\b'c.md", "C:\\tmp\\x.md", "C#.md", "é" * 300 + ".md"]
)
def test_any_key(db: Database, key: str) -> None:
    db.rows("SELECT add_collection('c')")
    db.rows("SELECT ingest_document('c', %s, 'text', title => 't')", key)
    name = key.split("\\")[-1]
    assert db.column("SELECT source_key FROM lexical_search(%s)", name) == [key] or len(key) > 255
