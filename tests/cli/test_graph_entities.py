"""Entities found by a chat model: asked once, checked, merged, joined to passages."""

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pgblend.cli.graph.entities import checked_answer
from pgblend.plpy.graph.names import entity_edges
from support.model_provider import ModelProvider

FACTS: dict[str, dict[str, Any]] = {
    "film": {
        "entities": [
            {"name": "Jane Roe", "type": "Person", "description": "A director."},
            {"name": "The Heart", "type": "work", "description": ""},
        ],
        "relations": [
            {"source": "JANE ROE", "target": "The  Heart", "type": "Directed"},
            {"source": "Jane Roe", "target": "Nobody", "type": "knows"},
        ],
    },
    "born": {
        "entities": [
            {"name": "jane roe.", "type": "person", "description": ""},
            {"name": "Lisbon", "type": "place", "description": "A city."},
        ],
        "relations": [],
    },
    "nothing": {"entities": [], "relations": []},
}
A_FILM, A_BIRTH = "The Heart, a film by Jane Roe", "Jane Roe was born in Lisbon"
TEXTS = {"a.txt": A_FILM, "b.txt": A_BIRTH, "c.txt": "nothing here"}
EDGES = """
    SELECT coalesce(s.name, d.source_key), e.edge_type, t.name, e.origin, c.content
    FROM blend.edges AS e
    JOIN pgblend_data.entity AS t ON e.target = 'entity:' || t.id
    LEFT JOIN pgblend_data.entity AS s ON e.source = 'entity:' || s.id
    JOIN pgblend_data.document AS d ON d.id = e.document_id
    JOIN pgblend_data.chunk AS c ON c.id = e.chunk_id
    ORDER BY 1, 2, 3
"""
JOINED = [
    ("Jane Roe", "directed", "The Heart", "model", A_FILM),
    ("a.txt", "mentions", "Jane Roe", "model", A_FILM),
    ("a.txt", "mentions", "The Heart", "model", A_FILM),
    ("b.txt", "mentions", "Jane Roe", "model", A_BIRTH),
    ("b.txt", "mentions", "Lisbon", "model", A_BIRTH),
]


def answer(body: dict[str, Any]) -> str:
    assert body["response_format"]["type"] == "json_schema"
    text = body["messages"][-1]["content"]
    return json.dumps(next(facts for word, facts in FACTS.items() if word in text))


@pytest.fixture
def library(
    connection: psycopg.Connection, model_provider: ModelProvider, tmp_path: Path, pgblend
) -> Path:
    model_provider.reply = answer
    for name, value in {"gateway_url": model_provider.url, "entity_model": "test/chat"}.items():
        connection.execute("SELECT set_setting(%s, to_jsonb(%s::text))", [name, value])
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def ingest(pgblend, folder: Path, *more: str) -> Any:
    arguments = ["ingest", str(folder), "-c", "c"]
    arguments[2:3] = ["--collection"]
    return pgblend(*arguments, "--no-embed", "--lang", "english", "--prune", *more)


def asked(model_provider: ModelProvider) -> int:
    return sum("messages" in body for body in model_provider.bodies)


def test_entities_at_ingest(
    library: Path, pgblend, connection: psycopg.Connection, model_provider: ModelProvider
) -> None:
    for _ in range(2):  # again: nothing is asked, nothing changes
        assert ingest(pgblend, library, "--entities").exit_code == 0
        assert connection.execute(EDGES).fetchall() == JOINED
        assert asked(model_provider) == 3
    rows = connection.execute("SELECT name, entity_type, passages FROM entities ORDER BY 1")
    assert rows.fetchall() == [
        ("Jane Roe", "person", 2),
        ("Lisbon", "place", 1),
        ("The Heart", "work", 1),
    ]


def test_only_what_changed_is_asked_about(
    library: Path, pgblend, connection: psycopg.Connection, model_provider: ModelProvider
) -> None:
    connection.execute("SELECT set_setting('entities', 'true')")
    ingest(pgblend, library)
    (library / "c.txt").write_text("Jane Roe made another film, The Heart")
    (library / "d.txt").write_text(TEXTS["b.txt"])  # the same text in another document
    (library / "b.txt").unlink()
    ingest(pgblend, library)
    assert asked(model_provider) == 4
    assert [row[:3] for row in connection.execute(EDGES)] == [
        ("Jane Roe", "directed", "The Heart"),
        ("Jane Roe", "directed", "The Heart"),  # two passages say so
        ("a.txt", "mentions", "Jane Roe"),
        ("a.txt", "mentions", "The Heart"),
        ("c.txt", "mentions", "Jane Roe"),
        ("c.txt", "mentions", "The Heart"),
        ("d.txt", "mentions", "Jane Roe"),
        ("d.txt", "mentions", "Lisbon"),
    ]
    (library / "d.txt").unlink()
    ingest(pgblend, library)
    names = connection.execute("SELECT name FROM entities ORDER BY 1").fetchall()
    assert names == [("Jane Roe",), ("The Heart",)]  # Lisbon went with its last passage


def test_another_model_is_asked_anew(
    library: Path, pgblend, connection: psycopg.Connection, model_provider: ModelProvider
) -> None:
    ingest(pgblend, library, "--entities")
    connection.execute("SELECT set_setting('entity_model', '\"test/other\"')")
    result = pgblend("graph", "entities", "-c", "c")
    assert "asked about 3 texts, joined 2 passages" in result.stderr
    assert connection.execute(EDGES).fetchall() == JOINED


def test_an_answer_that_is_none_is_told_and_asked_for_again(
    library: Path, pgblend, model_provider: ModelProvider
) -> None:
    model_provider.reply = lambda body: "no" if "film" in str(body["messages"][1]) else answer(body)
    result = ingest(pgblend, library, "--entities")
    assert result.exit_code == 4
    assert "the model failed with 1 texts: the model's answer is not JSON" in result.stderr
    result = pgblend("graph", "entities", "-c", "c")
    assert result.exit_code == 4
    assert "failed: the model's answer is not JSON" in result.stderr
    model_provider.reply = answer
    assert (
        "asked about 1 texts, joined 1 passages" in pgblend("graph", "entities", "-c", "c").stderr
    )


@pytest.mark.parametrize("missing", ["gateway_url", "entity_model"])
def test_without_a_gateway_or_a_model(
    library: Path, pgblend, connection: psycopg.Connection, missing: str
) -> None:
    connection.execute("SELECT reset_setting(%s)", [missing])
    result = ingest(pgblend, library, "--entities")
    assert result.exit_code == 0
    assert "without entities: no model" in result.stderr
    assert pgblend("graph", "entities", "-c", "c").exit_code == 1


def test_passages_are_found_through_their_entities(
    library: Path, pgblend, connection: psycopg.Connection
) -> None:
    ingest(pgblend, library, "--entities")
    rows = connection.execute(
        "SELECT source_key, score FROM graph_search((SELECT array_agg('chunk:' || id)"
        " FROM pgblend_data.chunk WHERE content = %s), 2)",
        [A_FILM],
    ).fetchall()
    assert rows == [("a.txt", 1.0), ("b.txt", 1 / 3)]


NAMED = [
    "Jane Roe",
    "The Who",  # nothing but stop words
    "Films",  # as English inflects it
    "Moby Dick",  # in the title
    "北京",
    "서울",
]
NOT_NAMED = ["Napoleon", "Jane Austen", "Roe Jane", "The It", "上海"]
NAMES_TEXT = "<title>Moby Dick</title><p>The Who met Jane Roe after a film: 北京大学, 서울은."


def test_only_what_a_passage_names_is_joined_to_it(
    library: Path, pgblend, connection: psycopg.Connection, model_provider: ModelProvider
) -> None:
    entities = [{"name": name, "type": "x"} for name in (*NAMED, *NOT_NAMED)]
    ends = [("Jane Roe", "Napoleon"), ("Napoleon", "The Who"), ("Jane Roe", "The Who")]
    relations = [{"source": a, "target": b, "type": "met"} for a, b in ends]
    model_provider.reply = lambda _: json.dumps({"entities": entities, "relations": relations})
    for text in TEXTS:
        (library / text).unlink()
    (library / "a.html").write_text(NAMES_TEXT)
    assert ingest(pgblend, library, "--entities").exit_code == 0
    names = connection.execute("SELECT name FROM entities").fetchall()
    assert {name for (name,) in names} == set(NAMED)
    relation = connection.execute(EDGES).fetchall()[0]
    assert relation[:3] == ("Jane Roe", "met", "The Who")
    assert len(connection.execute(EDGES).fetchall()) == len(NAMED) + 1


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"entities": 1}', '{"entities": [{"name": 1, "type": "x"}]}',
     '{"entities": [], "relations": ["x"]}'],
)  # fmt: skip
def test_answers_that_break_the_schema(text: str) -> None:
    with pytest.raises(ValueError, match="the model's answer"):
        checked_answer(text)


def test_answers_in_a_fence_and_with_more_than_asked() -> None:
    text = '```json\n{"entities": [{"name": "a\\u0000", "type": "b", "odd": 1}], "x": 2}\n```'
    assert checked_answer(text) == {"entities": [{"name": "a", "type": "b"}], "relations": []}


def test_half_a_letter_in_a_name() -> None:
    text = '{"entities": [{"name": "a\\ud83cb", "type": "c"}]}'
    assert checked_answer(text)["entities"] == [{"name": "a\ufffdb", "type": "c"}]


def test_names_without_letters_and_circles_are_left_out() -> None:
    result = {
        "entities": [{"name": " ", "type": "x"}, {"name": "A", "type": "x"}],
        "relations": [{"source": "a", "target": "A", "type": "is"}],
    }
    entities, relations = entity_edges(result)
    assert ([entity["key"] for entity in entities], relations) == (["a"], [])
