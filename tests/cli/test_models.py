"""models: list, test and set, with a real gateway before a provider for tests."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from click.testing import Result

from support.model_provider import Behaviour, GatewayProcess, ModelProvider

Pgblend = Callable[..., Result]
ParseValid = Callable[[Result, str], Any]
CHAT = ModelProvider.chat_model
EVERY_MODEL = {
    "embedding": ModelProvider.model,
    "expansion": CHAT,
    "rerank": ModelProvider.rerank_model,
    "answer": CHAT,
    "summary": CHAT,
    "vision": CHAT,
    "entity": CHAT,
}


@pytest.fixture
def provider(
    model_provider: ModelProvider, gateway: GatewayProcess, connection: psycopg.Connection
) -> ModelProvider:
    """The provider, behind a gateway that the test's database knows."""
    connection.execute("SELECT blend.set_setting('gateway_url', to_jsonb(%s::text))",
                       [gateway.url])  # fmt: skip
    return model_provider


def test_list(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    rows = parse_valid(pgblend("models", "list", "--json"), "models-list")["models"]
    assert [row["task"] for row in rows] == list(EVERY_MODEL)
    assert {row["task"]: row["model"] for row in rows if row["model"]} == {
        "embedding": "local/all-minilm-l6-v2"
    }
    assert {row["source"] for row in rows} == {"default"}
    assert "expansion,,default,expansion_model" in pgblend("models", "list", "--csv").stdout


def test_embedding_is_the_model_of_the_space_in_use(
    pgblend: Pgblend,
    parse_valid: ParseValid,
    provider: ModelProvider,
    connection: psycopg.Connection,
) -> None:
    connection.execute(
        "SELECT blend.create_embedding_space('mine', %s, 384, probe => false)", [provider.model]
    )
    row = parse_valid(pgblend("models", "list", "--json"), "models-list")["models"][0]
    assert (row["task"], row["model"], row["source"]) == ("embedding", provider.model, "space")
    assert row["description"] == "vectors of passages and queries, in the space mine"
    result = pgblend("models", "test", "embedding", "--timeout", "600", "--json")
    (tested,) = parse_valid(result, "models-test")["tests"]
    assert (tested["model"], tested["outcome"]) == (provider.model, "ok")
    other = "openai/another-embedding"
    result = pgblend("models", "set", "embedding", other)
    assert result.stderr.splitlines() == [
        f"embedding: {other}",
        f"searches use the space mine, of {provider.model}",
        f"hint: pgblend space create NAME --model {other}, then fill it and switch",
    ]


def test_set_and_test_each_task(
    pgblend: Pgblend, parse_valid: ParseValid, provider: ModelProvider
) -> None:
    for task, model in EVERY_MODEL.items():
        result = pgblend("models", "set", task, model)
        assert (result.exit_code, result.stderr.splitlines()[0]) == (0, f"{task}: {model}")
    assert provider.requests == len(EVERY_MODEL)
    listed = parse_valid(pgblend("models", "list", "--json"), "models-list")["models"]
    assert {row["task"]: row["model"] for row in listed} == EVERY_MODEL
    tested = pgblend("models", "test", "--json")
    assert tested.exit_code == 0
    rows = parse_valid(tested, "models-test")["tests"]
    assert {row["task"]: row["model"] for row in rows} == EVERY_MODEL
    assert {row["outcome"] for row in rows} == {"ok"}
    assert all(row["milliseconds"] > 0 for row in rows)
    assert rows[0]["detail"] == "384 dimensions"
    assert rows[1]["detail"] == "4 variants, a passage"
    assert rows[2]["detail"] == "passage 1 is best, with 0.14"
    assert provider.requests == 2 * len(EVERY_MODEL)  # no cache has answered
    result = pgblend("models", "set", "answer", "none")
    assert (result.exit_code, result.stderr) == (0, "answer: no model\n")
    assert pgblend("config", "get", "answer_model").stdout == "\n"


def test_a_model_that_fails_is_not_set(
    pgblend: Pgblend, parse_valid: ParseValid, provider: ModelProvider
) -> None:
    provider.behaviours["chat"] = Behaviour(status=500)
    refused = pgblend("models", "set", "expansion", CHAT)
    assert refused.exit_code == 1
    assert f"{CHAT} does not serve expansion: model '{CHAT}': openai failed" in refused.stderr
    assert pgblend("config", "get", "expansion_model").stdout == "\n"
    assert pgblend("models", "set", "expansion", CHAT, "--no-test").exit_code == 0
    tested = pgblend("models", "test", "expansion", "rerank", "--json")
    assert tested.exit_code == 1
    rows = parse_valid(tested, "models-test")["tests"]
    assert [(row["task"], row["outcome"]) for row in rows] == [
        ("expansion", "failed"),
        ("rerank", "no_model"),
    ]


def test_without_a_gateway(pgblend: Pgblend) -> None:
    for arguments in (("test",), ("set", "answer", CHAT)):
        result = pgblend("models", *arguments)
        assert result.exit_code == 1
        assert "gateway_url is not set" in result.stderr
    pgblend("config", "set", "gateway_url", "http://127.0.0.1:9")
    result = pgblend("models", "test", "embedding")
    assert result.exit_code == 1
    assert "cannot be reached" in result.stdout


@pytest.mark.parametrize(("task", "switch"), [("summary", "summaries"), ("entity", "entities")])
def test_a_model_that_would_not_be_asked_is_told(
    pgblend: Pgblend, connection: psycopg.Connection, task: str, switch: str
) -> None:
    set_it = ("models", "set", task, "test/chat", "--no-test")
    assert pgblend(*set_it).stderr.splitlines() == [
        f"{task}: test/chat",
        f"{switch} are off, so it is not asked yet",
        f"hint: turn them on: pgblend config set {switch} true",
        f"hint: or for one collection: pgblend config set {switch} true --collection NAME",
    ]
    connection.execute("SELECT add_collection('c')")
    assert pgblend("config", "set", switch, "true", "--collection", "c").exit_code == 0
    assert pgblend(*set_it).stderr == f"{task}: test/chat\n"
    pgblend("config", "reset", switch, "--collection", "c")
    assert pgblend("config", "set", switch, "true").exit_code == 0
    assert pgblend(*set_it).stderr == f"{task}: test/chat\n"
    assert "are off" not in pgblend("models", "set", "answer", "test/chat", "--no-test").stderr


def test_a_task_that_is_none(pgblend: Pgblend) -> None:
    assert pgblend("models", "set", "cooking", CHAT).exit_code == 2
