"""Summaries at ingest, from a real gateway: asked once, part of what is embedded."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import Result

from support.model_provider import Behaviour, ModelProvider

Ingest = Callable[..., dict[str, Any]]
_numbers = itertools.count()
ON = '{"summaries": true, "embedding_prefix": "summary"}'


@pytest.fixture
def ingest(
    pgblend: Callable[..., Result],
    parse_valid: Callable[[Result, str], Any],
    gateway_connection: psycopg.Connection,
    model_provider: ModelProvider,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Ingest:
    """Two files, a collection with summaries, and a model that makes them; returns the report."""
    monkeypatch.setattr("pgblend.cli.embed.embedding_client.time.sleep", lambda seconds: None)
    (tmp_path / "a.txt").write_text("The walrus swims in the north. {title}")
    (tmp_path / "b.txt").write_text("The seal swims in the south.")
    (tmp_path / "mail.eml").write_text("Subject: hello\nFrom: a@b.c\n\nA mail about nothing.")
    gateway_connection.execute("SELECT add_collection('c', settings => %s)", [ON])
    another_model(gateway_connection)
    model_provider.reply = summarize

    def run(exit_code: int = 0) -> dict[str, Any]:
        result = pgblend("ingest", str(tmp_path), "--collection", "c", "--json")
        assert result.exit_code == exit_code, result.output
        return parse_valid(result, "ingest-report")

    return run


def another_model(connection: psycopg.Connection) -> None:
    """Take a model that has not failed yet: the gateway leaves one alone that failed often."""
    model = f"openai/test-summaries-{next(_numbers)}"
    connection.execute("SELECT set_setting('summary_model', to_jsonb(%s::text))", [model])


def summarize(body: dict[str, Any]) -> str:
    prompt = body["messages"][-1]["content"]
    return "About walruses." if "walrus" in prompt.lower() else "About seals."


def asked(provider: ModelProvider) -> list[str]:
    return [body["messages"][-1]["content"] for body in provider.bodies if "messages" in body]


def embedded(provider: ModelProvider) -> set[str]:
    return {text for body in provider.bodies for text in body.get("input", ()) if "?" not in text}


def test_each_document_is_summed_up_once(
    ingest: Ingest, gateway_connection: psycopg.Connection, model_provider: ModelProvider
) -> None:
    report = ingest()
    assert (report["embedded"], report["waiting"], report["degraded"]) == (3, 0, [])
    assert len(asked(model_provider)) == 2  # the mail speaks for itself
    assert any("Title: a.txt" in prompt and "{title}" in prompt for prompt in asked(model_provider))
    inputs = embedded(model_provider)
    assert "About walruses.\n---\nThe walrus swims in the north. {title}" in inputs
    assert "About seals.\n---\nThe seal swims in the south." in inputs
    assert len(inputs) == 3
    model_provider.bodies.clear()
    assert ingest()["documents"]["unchanged"] == 3
    # The same text in another collection: the summary is known.
    gateway_connection.execute("SELECT add_collection('d', settings => %s)", [ON])
    gateway_connection.execute(
        "SELECT ingest_document('d', 'k', 'The seal swims in the south.', title => 'b.txt')"
    )
    assert ingest()["embedded_others"] == 1
    assert asked(model_provider) == []
    assert embedded(model_provider) == {"About seals.\n---\nThe seal swims in the south."}
    # Another text, and only that, is summed up and embedded anew.
    model_provider.bodies.clear()
    gateway_connection.execute(
        "SELECT ingest_document('d', 'k', 'The seal sleeps.', title => 'b.txt')"
    )
    ingest()
    assert len(asked(model_provider)) == 1
    assert embedded(model_provider) == {"About seals.\n---\nThe seal sleeps."}


def test_half_a_letter_of_a_model(ingest: Ingest, model_provider: ModelProvider) -> None:
    model_provider.reply = lambda body: f"Half a \ud83c letter. {summarize(body)}"
    assert ingest()["degraded"] == []
    assert any("Half a \ufffd letter." in text for text in embedded(model_provider))


def test_switching_it_on_and_off(
    ingest: Ingest, gateway_connection: psycopg.Connection, model_provider: ModelProvider
) -> None:
    gateway_connection.execute("SELECT set_collection_settings('c', '{\"summaries\": false}')")
    assert ingest()["embedded"] == 3
    assert asked(model_provider) == []
    model_provider.bodies.clear()
    gateway_connection.execute("SELECT set_collection_settings('c', '{\"summaries\": true}')")
    assert ingest()["embedded_others"] == 2
    assert len(asked(model_provider)) == 2
    assert len(embedded(model_provider)) == 2


@pytest.mark.slow
def test_a_model_that_fails_costs_the_summaries_only(
    ingest: Ingest, gateway_connection: psycopg.Connection, model_provider: ModelProvider
) -> None:
    model_provider.behaviours["chat"] = Behaviour(status=500, error_message="it broke")
    report = ingest(exit_code=4)
    assert (report["embedded"], report["waiting"]) == (3, 0)
    (line,) = report["degraded"]
    assert line["part"] == "summaries"
    assert "2 documents were not summed up" in line["reason"]
    model_provider.reset()
    model_provider.reply = summarize
    another_model(gateway_connection)
    assert ingest()["embedded_others"] == 2


def test_summaries_that_a_model_refuses_are_named(
    ingest: Ingest, gateway_connection: psycopg.Connection, model_provider: ModelProvider
) -> None:
    gateway_connection.execute("SELECT add_collection('d', settings => %s)", [ON])
    gateway_connection.execute("SELECT ingest_document('d', 'k', 'Another.', title => 'k')")
    model_provider.behaviours["chat"] = Behaviour(status=400, error_message="too long")
    report = ingest(exit_code=4)
    (line,) = report["degraded"]
    assert "3 documents were not summed up (k, a.txt, b.txt): " in line["reason"]
    assert (report["refused"], report["embedded"]) == (2, 3)  # of this collection


def test_without_a_model_the_report_says_so(
    ingest: Ingest, gateway_connection: psycopg.Connection
) -> None:
    gateway_connection.execute("SELECT reset_setting('summary_model')")
    report = ingest()
    assert report["embedded"] == 3
    (line,) = report["degraded"]
    assert "2 documents wait for one, and no model makes them" in line["reason"]


def test_the_worker_makes_them_too(
    ingest: Ingest,
    pgblend: Callable[..., Result],
    gateway_connection: psycopg.Connection,
    model_provider: ModelProvider,
) -> None:
    ingest()
    model_provider.bodies.clear()
    gateway_connection.execute("SELECT ingest_document('c', 'w', 'Walruses sleep.')")
    result = pgblend("worker", "--once")
    assert result.exit_code == 0, result.output
    assert embedded(model_provider) == {"About walruses.\n---\nWalruses sleep."}


@pytest.mark.slow
def test_summaries_of_another_model_are_renewed(
    ingest: Ingest,
    pgblend: Callable[..., Result],
    parse_valid: Callable[[Result, str], Any],
    gateway_connection: psycopg.Connection,
    model_provider: ModelProvider,
) -> None:
    def count(*options: str) -> tuple[int, ...]:
        result = pgblend("worker", "summaries", "--json", *options)
        (row,) = parse_valid(result, "worker-summaries")["summaries"]
        return row["summaries"], row["other"], row["waiting"], row["given_up"]

    ingest()
    gateway_connection.execute(
        "SELECT set_summary(document_id, 'Mine.') FROM documents WHERE source_key = 'b.txt'"
    )
    assert count() == (2, 0, 0, 0)
    another_model(gateway_connection)
    assert count() == (2, 1, 0, 0)  # that which was set by hand is nobody's
    assert "1 of another model" in pgblend("status").stdout
    doctor = pgblend("doctor").stdout
    assert "1 of 2 are of another model or prompt" in " ".join(doctor.split())
    assert count("--renew", "--collection", "c") == (2, 0, 1, 0)
    assert count("--renew") == (2, 0, 1, 0)  # once is enough
    summaries = "SELECT array_agg(summary ORDER BY source_key) FROM documents"
    # The old one serves until the new one is there, also where the model fails.
    model_provider.behaviours["chat"] = Behaviour(status=400, error_message="too long")
    for _ in range(3):
        pgblend("worker", "--once")
    assert gateway_connection.execute(summaries).fetchone() == (["About walruses.", "Mine.", None],)
    model_provider.reset()
    model_provider.reply = lambda body: "New."
    another_model(gateway_connection)
    count("--renew")
    model_provider.bodies.clear()
    assert pgblend("worker", "--once").exit_code == 0
    assert gateway_connection.execute(summaries).fetchone() == (["New.", "Mine.", None],)
    assert embedded(model_provider) == {"New.\n---\nThe walrus swims in the north. {title}"}
    assert count() == (2, 0, 0, 0)
    gateway_connection.execute("SELECT reset_setting('summary_model')")
    assert count() == (2, 0, 0, 0)
    assert pgblend("worker", "summaries", "--renew").exit_code == 1
    assert pgblend("worker", "summaries", "--collection", "c").exit_code == 2
