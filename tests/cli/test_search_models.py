"""`pgblend query --client-models`: models asked from here give what the database would ask for."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import Result

from support.database import Database, embed_waiting
from support.model_library import EXPANSION, QUERY, WEAK, fill, use_models
from support.model_provider import Behaviour, GatewayProcess, ModelProvider
from support.places import take_places

Pgblend = Callable[..., Result]
OPTIONS = ("--option", f"strong_signal={json.dumps(WEAK['strong_signal'])}", "--json")


@pytest.fixture
def models(
    connection: psycopg.Connection, gateway: GatewayProcess, model_provider: ModelProvider
) -> ModelProvider:
    db = Database(connection)
    fill(db)
    use_models(db, gateway, model_provider)
    return model_provider


def told(result: Result, *names: str) -> list[Any]:
    assert result.exit_code == 0, result.stderr
    return [[row[name] for name in names] for row in json.loads(result.stdout)["results"]]


@pytest.mark.parametrize(
    "switches", [["--thorough"], [], ["--fast"], ["--thorough", "--no-rerank"]]
)
def test_the_same_rows_and_no_call_from_the_database(
    pgblend: Pgblend, connection: psycopg.Connection, models: ModelProvider, switches: list[str]
) -> None:
    names = ("source_key", "score", "relevance", "arms")
    in_database = pgblend("query", QUERY, *switches, *OPTIONS)
    # No place is left for a call of the server's: it would be named in degraded.
    connection.execute("""SELECT set_setting('model_calls', '{"most": 1}')""")
    take_places(Database(connection))
    from_here = pgblend("query", QUERY, *switches, *OPTIONS, "--client-models")
    assert json.loads(from_here.stdout)["degraded"] == []
    assert from_here.stderr == ""
    for row, other in zip(told(from_here, *names), told(in_database, *names), strict=True):
        assert row[0] == other[0]
        assert row[1:3] == pytest.approx(other[1:3], abs=1e-5)
        assert row[3].keys() == other[3].keys()


def test_sub_questions_of_a_chats_last_question(
    pgblend: Pgblend, models: ModelProvider, tmp_path: Path
) -> None:
    parts = ["rollout of the release", "ships sail"]
    models.reply = lambda _: json.dumps(EXPANSION | {"subQuestions": parts})
    chat = tmp_path / "chat.json"
    chat.write_text('[{"role": "user", "content": "What of the release?"}]', "utf-8")
    split = ("--history", str(chat), "--option", 'sub_questions={"most": 4}', "--no-rerank")
    in_database, from_here = (
        json.loads(pgblend("query", QUERY, *split, *where, *OPTIONS).stdout)["results"]
        for where in ([], ["--client-models"])
    )
    assert [row["source_key"] for row in from_here] == [row["source_key"] for row in in_database]
    for row, other in zip(from_here, in_database, strict=True):
        assert row["details"].get("answers") == other["details"].get("answers")
    assert {name for row in from_here for name in row["details"].get("answers", [])} == set(parts)


def test_the_query_joined_with_its_hypothetical_answer(
    pgblend: Pgblend, models: ModelProvider
) -> None:
    models.reply = lambda _: "One deploys to production with a script."
    switches = ("--thorough", "--profile", "three_arm", *OPTIONS)
    in_database = told(pgblend("query", QUERY, *switches), "source_key", "relevance")
    assert told(
        pgblend("query", QUERY, *switches, "--client-models"), "source_key", "relevance"
    ) == (in_database)


@pytest.mark.parametrize(
    ("task", "named"),
    [("chat", "expand stage"), ("embed", "vector arm"), ("rerank", "rerank stage")],
)
def test_what_fails_is_left_out_and_told(
    pgblend: Pgblend, models: ModelProvider, task: str, named: str
) -> None:
    models.behaviours[task] = Behaviour(status=400)
    result = pgblend("query", QUERY, "--thorough", *OPTIONS, "--client-models")
    assert told(result, "source_key")
    assert f"searching without the {named}: the model gateway answered" in result.stderr


def test_a_wrong_answer_is_left_out_and_told(pgblend: Pgblend, models: ModelProvider) -> None:
    models.behaviours["embed"] = Behaviour(dimensions=3)
    result = pgblend("query", QUERY, "--thorough", *OPTIONS, "--client-models")
    assert told(result, "source_key")
    assert "searching without the vector arm: the gateway gave 3 dimensions" in result.stderr


def test_without_a_gateway(
    pgblend: Pgblend, connection: psycopg.Connection, models: ModelProvider
) -> None:
    connection.execute("SELECT reset_setting('gateway_url')")
    result = pgblend("query", QUERY, "--thorough", *OPTIONS, "--client-models")
    assert result.stderr.count("no model gateway is set") == 3
    assert told(result, "source_key")


def test_the_vector_is_of_the_space_that_is_searched(
    pgblend: Pgblend, connection: psycopg.Connection, models: ModelProvider
) -> None:
    db = Database(connection)
    db.rows(
        "SELECT create_embedding_space("
        "'other', 'openai/other-model', 384, active => false, probe => false)"
    )
    embed_waiting(db, "other")
    result = pgblend("query", "a quiet bay", "--fast", "--option", "space=other", "--client-models")
    assert (result.exit_code, result.stderr) == (0, "")
    assert [body["model"] for body in models.bodies] == ["other-model"]


def test_the_search_says_whether_vectors_are_asked_for(
    pgblend: Pgblend, models: ModelProvider
) -> None:
    by_words = ("--fast", "--option", 'weights={"vector": 0}', *OPTIONS, "--client-models")
    assert told(pgblend("query", QUERY, *by_words), "source_key")
    lost = pgblend("query", QUERY, "--thorough", "--option", 'space="gone"', "--client-models")
    assert 'there is no embedding space "gone"' in lost.stderr
    assert models.requests == 0


def test_an_explanation_tells_of_what_was_passed_in(
    pgblend: Pgblend, models: ModelProvider
) -> None:
    result = pgblend("query", QUERY, "--thorough", *OPTIONS, "--explain", "--client-models")
    stages = {s["name"]: s for s in json.loads(result.stdout)["explain"]["stages"]}
    assert stages["expand"]["details"]["hyde"] == EXPANSION["hyde"]
    assert stages["rerank"]["details"] == {"given": True}
    assert stages["embed"]["skipped"] == "the caller gave the vector"
