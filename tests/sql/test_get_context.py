"""get_context: passages chosen and stitched within budgets; and the text around a search's rows."""

import json
from typing import Any

import pytest

from support.database import Database

CONTEXT = "SELECT get_context('word', %s, options => %s)"


def chunk(text: str, tokens: int = 10, **more: Any) -> dict[str, Any]:
    """A chunk of so many tokens, counted."""
    return {"content": text, "token_count": tokens, "piece_tokens": [tokens], **more}


def add(db: Database, key: str, *chunks: dict[str, Any]) -> None:
    db.rows("SELECT ingest_document('c', %s, '', chunks => %s)", key, json.dumps(chunks))


@pytest.fixture
def library(db: Database) -> Database:
    """Passages with `word`, best first: a0, a2, b0 (code), c0 (signature); a1 lacks it."""
    db.rows("SELECT add_collection('c')")
    add(
        db,
        "a",
        chunk("word word word word first", start_line=1, end_line=1, pages=[1]),
        chunk("the middle", start_line=3, end_line=3, pages=[1]),
        chunk("word word word last", start_line=5, end_line=5, pages=[2]),
    )
    add(db, "b", chunk("word word code(); here", kind="code"))
    add(db, "c", chunk("word signature(); here is long", kind="signature"))
    return db


def context(db: Database, limit: int = 10, **options: Any) -> Any:
    return db.value(CONTEXT, limit, json.dumps({"dedup": "off"} | options))


def texts(found: Any) -> list[str]:
    return [part["text"] for part in found["parts"]]


A0, A1, A2 = "word word word word first", "the middle", "word word word last"
B, C = "word word code(); here", "word signature(); here is long"


def test_parts_say_where_they_come_from(library: Database) -> None:
    found = context(library)
    assert texts(found) == [A0, A2, B, C]
    assert [part["citation"] for part in found["parts"]] == [1, 2, 3, 4]
    first = found["parts"][0]
    assert {name: first[name] for name in ("source_key", "spans", "pages", "kind", "tokens")} == {
        "source_key": "a",
        "spans": [[1, 1]],
        "pages": [1],
        "kind": "doc",
        "tokens": 11,
    }
    assert (first["arm"], first["reason"]) == ("lexical", "lexical #1")
    assert found["parts"][2]["spans"] == []
    ms = found["stats"].pop("ms")
    assert ms["search"] > 0 < ms["assembly"]
    assert found["stats"] == {
        "tokens": 44,
        "estimated_tokens": 0,
        "max_tokens": 4000,
        "parts": 4,
        "files": 3,
        "passages": 4,
        "left_out": 0,
        "duplicates": 0,
        "duplication_ratio": 0,
        "coverage": {
            "code": {"parts": 1, "tokens": 11},
            "doc": {"parts": 2, "tokens": 22},
            "metadata": {"parts": 0, "tokens": 0},
            "signature": {"parts": 1, "tokens": 11},
        },
    }


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"max_tokens": 44}, [A0, A2, B, C]),
        ({"max_tokens": 43}, [A0, A2, B]),
        ({"max_tokens": 11}, [A0]),
        ({"max_tokens": 10}, []),
        ({"max_file_tokens": 21}, [A0, B, C]),
        ({"max_part_tokens": 9}, []),
        ({"max_tokens": 22, "reserve_tokens": {"signature": 11}}, [A0, C]),
        ({"max_tokens": 22, "reserve_tokens": {"signature": 11, "code": 11}}, [B, C]),
        ({"max_tokens": 22, "reserve_tokens": {"metadata": 22}}, [A0, A2]),
        ({"max_tokens": 22, "reserve_tokens": {"signature": None}}, None),
        ({"context_order": "structure"}, [C, B, A0, A2]),
        ({"context_order": "document"}, [A0, A2, B, C]),
        ({"context_chars": {"after": 10}}, [f"{A0}\n\n{A1}\n\n{A2}", B, C]),
        ({"context_chars": {"before": 10}, "max_file_tokens": 22}, [A0, A2, B, C]),
    ],
)
def test_budgets_and_orders(
    library: Database, options: dict[str, Any], expected: list[str] | None
) -> None:
    if expected is None:
        assert library.error(CONTEXT, 10, json.dumps(options)).sqlstate == "22023"
    else:
        assert texts(context(library, **options)) == expected


def test_the_best_document_comes_first_in_its_own_order(library: Database) -> None:
    add(library, "d", chunk("word late"), chunk("a gap"), chunk("word word word word word word"))
    found = context(library, context_order="document", per_document=2)
    assert texts(found)[:2] == ["word late", "word word word word word word"]


def test_what_is_there_already_is_dropped(library: Database) -> None:
    add(library, "copy", chunk(A0))
    span = {"start_offset": 0, "end_offset": 30}
    add(
        library,
        "spans",
        chunk("word " * 6, **span),
        chunk("word " * 2, start_offset=10, end_offset=20),
    )
    found = context(library)
    assert sorted(texts(found)) == sorted([("word " * 6).strip(), A0, A2, B, C])
    assert found["stats"]["duplicates"] == 2
    assert found["stats"]["duplication_ratio"] == pytest.approx(2 / 7, abs=1e-3)


def test_without_counts_tokens_are_estimated_and_said_to_be(db: Database) -> None:
    db.rows("SELECT add_collection('c')")
    text = "A word about deploying. " * 100
    db.rows("SELECT ingest_document('c', 'k', %s)", text)
    found = db.value(CONTEXT, 10, '{"max_tokens": 300}')
    stats = found["stats"]
    assert 200 < stats["tokens"] <= 300
    assert stats["estimated_tokens"] >= stats["tokens"] - stats["parts"]
    assert found["parts"][0]["is_cut"]
    wrong = [{"content": "word word\nword", "piece_tokens": [1]}]  # a count of another text
    db.rows("SELECT ingest_document('c', 'l', '', chunks => %s)", json.dumps(wrong))
    assert db.value(CONTEXT, 1, "{}")["stats"]["estimated_tokens"] > 0


@pytest.mark.parametrize("query", [None, "", " \n"])
def test_nothing_asked(library: Database, query: str | None) -> None:
    found = library.value("SELECT get_context(%s)", query)
    assert (found["parts"], found["stats"]["tokens"], found["degraded"]) == ([], 0, [])


def test_nothing_found_and_nothing_wanted(library: Database) -> None:
    assert library.value("SELECT get_context('xylophone')")["parts"] == []
    assert library.value("SELECT get_context('word', 0)")["parts"] == []


@pytest.mark.parametrize("shape", ["text", "", None])
def test_a_wrong_format_is_an_error(library: Database, shape: str | None) -> None:
    problem = library.error("SELECT get_context('word', output_format => %s)", shape)
    assert problem.sqlstate == "22023"
    assert "expected json, markdown or messages" in str(problem.message_primary)


def test_reserves_beyond_the_budget_are_an_error(library: Database) -> None:
    options = '{"max_tokens": 10, "reserve_tokens": {"doc": 6, "code": 5}}'
    problem = library.error(CONTEXT, 1, options)
    assert problem.sqlstate == "22023"
    assert problem.message_primary == (
        'options: "reserve_tokens" are 11 together: expected at most max_tokens (10)'
    )


def test_budgets_come_from_profiles_and_collections(library: Database) -> None:
    library.rows("SELECT set_collection_settings('c', '{\"max_tokens\": 11}')")
    assert texts(library.value("SELECT get_context('word', collections => '{c}')")) == [A0]


def test_piece_tokens_are_checked(library: Database) -> None:
    for wrong in ("1", '["1"]', "[-1]", "[1.5]", "[40000]", "[null]"):
        problem = library.error(
            "SELECT ingest_document('c', 'w', '', chunks => %s)",
            f'[{{"content": "a", "piece_tokens": {wrong}}}]',
        )
        assert problem.sqlstate == "22023", wrong


def around(db: Database, before: int, after: int) -> list[tuple[Any, ...]]:
    return db.rows(
        "SELECT source_key, context_before, context_after"
        " FROM hybrid_search('word', options => %s)",
        json.dumps({"dedup": "off", "context_chars": {"before": before, "after": after}}),
    )


def test_rows_have_the_text_around_them(library: Database) -> None:
    assert around(library, 500, 500) == [
        ("a", "", f"{A1}\n\n{A2}"),
        ("a", f"{A0}\n\n{A1}", ""),
        ("b", "", ""),
        ("c", "", ""),
    ]
    assert around(library, 8, 0)[:2] == [("a", "", None), ("a", "middle", None)]
    assert around(library, 0, 0)[:1] == [("a", None, None)]


@pytest.mark.parametrize(
    ("options", "row"),
    [
        ({"mode": "agent"}, ("a", "", f"{A1}\n\n{A2}")),
        ({"mode": "agent", "context_chars": {"before": 0}}, ("a", None, f"{A1}\n\n{A2}")),
        ({"mode": "agent", "context_chars": {"before": 0, "after": 0}}, ("a", None, None)),
        ({"mode": "api"}, ("a", None, None)),
        ({}, ("a", None, None)),
    ],
)
def test_an_agent_gets_the_text_around_passages(
    library: Database, options: dict[str, Any], row: tuple[Any, ...]
) -> None:
    search = (
        "SELECT source_key, context_before, context_after FROM hybrid_search('word', options => %s)"
    )
    assert library.rows(search, json.dumps({"dedup": "off", **options}))[0] == row
    library.rows("SELECT set_setting('mode', %s)", json.dumps(options.get("mode", "default")))
    others = {name: value for name, value in options.items() if name != "mode"}
    assert library.rows(search, json.dumps({"dedup": "off", **others}))[0] == row


def test_overlaps_are_not_repeated_around(library: Database) -> None:
    content = "word one.\n\nword two is longer.\n\nword three ends it."
    spans = [(0, 9, 0), (5, 30, 6), (23, 51, 9)]
    add(
        library,
        "o",
        *(
            chunk(content[start:end], own_start=own, start_offset=start, end_offset=end)
            for start, end, own in spans
        ),
    )
    rows = library.rows(
        "SELECT content, context_before, context_after FROM hybrid_search('word', filter => %s,"
        " options => %s) ORDER BY content",
        '{"$source_key": "o"}',
        '{"context_chars": {"before": 100, "after": 100}}',
    )
    for start, end, _ in spans:
        before, after = content[:start].rstrip(), content[end:].lstrip()
        assert (content[start:end], before, after) in rows


def test_a_reader_gets_what_a_database_without_the_rest_would_give(
    two_collections: Any,
) -> None:
    for call in (
        "SELECT get_context('deploy wine', options => %s)",
        "SELECT get_context('deploy wine', options => %s, output_format => 'messages')",
        "SELECT ask('deploy wine', options => %s, answer => true)",
    ):
        options = '{"context_chars": {"before": 99, "after": 99}, "weights": {"vector": 0}}'
        found = [
            db.value(call, options) for db in (two_collections.reader, two_collections.only_open)
        ]
        for one in found:
            one.get("stats", {}).pop("ms", None)
            for row in one.get("results", []):
                row.pop("chunk_id"), row.pop("document_id")
            for part in one.get("parts", []) + one.get("citations", []):
                for name in ("chunk_ids", "document_id", "docid"):
                    part.pop(name, None)
        assert found[0] == found[1]
        assert "secret" not in json.dumps(found[0])
