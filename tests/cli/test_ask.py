"""pgblend ask: citations and checked answers, in every format, and streamed."""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import Result

from pgblend.cli.answers.ask import ask_streamed
from pgblend.cli.base.errors import UserError
from support.database import Database
from support.model_provider import Behaviour, ModelProvider

Pgblend = Callable[..., Result]
ParseValid = Callable[[Result, str], Any]
_numbers = itertools.count()
QUESTION = "how to deploy to production"
WORDS_ONLY = ("--option", 'weights={"vector": 0}')
PATIENT = ("--option", 'timeouts_ms={"expand": 60000, "total": 60000, "lexical": 60000}')


def reply(body: dict[str, Any]) -> str:
    """Cite the deploy guide, and say something else that nothing bears out."""
    before = body["messages"][1]["content"].split("How to deploy")[0]
    number = before.rsplit("--- passage ", 1)[1].split(" ", 1)[0]
    return (
        f'Run make deploy, then wait [{number}: "run <b>make deploy</b> & wait"]. '
        "\x1b[31mIt is always green."
    )


@pytest.fixture
def model(
    library: list[int], gateway_connection: psycopg.Connection, model_provider: ModelProvider
) -> ModelProvider:
    """A gateway whose answer model cites the deploy guide."""
    for name, value in (
        # another one for each test: the gateway leaves one alone that has failed often
        ("answer_model", f"openai/pgblend-ask-{next(_numbers)}"),
        ("timeouts_ms", {"answer": 30000, "lexical": 60000}),
    ):
        gateway_connection.execute("SELECT set_setting(%s, %s)", [name, json.dumps(value)])
    model_provider.reply = reply
    return model_provider


@pytest.mark.slow
def test_a_chat_in_a_file(
    pgblend: Pgblend,
    parse_valid: ParseValid,
    gateway_connection: psycopg.Connection,
    model: ModelProvider,
    tmp_path: Path,
) -> None:
    parts = ["how to deploy to production", "who pays for it"]

    def split(body: dict[str, Any]) -> str:
        if "response_format" not in body:
            return f"#1: {reply(body)}\n#2: NO ANSWER"
        return json.dumps({"lexicalQueries": [], "vectorQueries": [], "subQuestions": parts})

    model.reply = split
    gateway_connection.execute(
        "SELECT set_setting('expansion_model', to_jsonb(%s::text))", [model.chat_model]
    )
    chat = tmp_path / "chat.json"
    chat.write_text('[{"role": "user", "content": "We ship on Fridays."}]', "utf-8")
    split_in_two = ("--option", 'sub_questions={"most": 2}')
    asked = ("ask", "how, and who pays?", "--history", str(chat), *PATIENT, *split_in_two)
    result = pgblend(*asked, *WORDS_ONLY)
    assert f"pgblend: no evidence for: {parts[1]}" in result.stderr
    document = parse_valid(pgblend(*asked, *WORDS_ONLY, "--json"), "ask")
    assert [one["hasEvidence"] for one in document["questions"]] == [True, False]
    context = parse_valid(pgblend("context", *asked[1:], *WORDS_ONLY, "--json"), "context")
    assert f"answers: {parts[0]}" in context["parts"][0]["reason"]
    chat.write_text("nonsense", "utf-8")
    refused = pgblend(*asked)
    assert (refused.exit_code, "holds no chat" in refused.stderr) == (1, True)


@pytest.mark.usefixtures("model")
def test_every_format(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    found = parse_valid(pgblend("ask", QUESTION, *WORDS_ONLY, "--json"), "ask")
    first = found["citations"][0]
    number = first["citation"]
    assert found["answer"] == f"Run make deploy, then wait [{number}]."
    assert (first["source_key"], first["isChecked"]) == ("deploy.md", True)
    assert first["quote"] == "run <b>make deploy</b> & wait"
    assert found["checks"]["dropped"] == 1
    assert found["queryLanguage"] == "en"
    # A docid is taken wherever a document is named.
    assert int(first["docid"][1:], 16) == first["document_id"]
    assert "source_key: deploy.md" in pgblend("document", "show", first["docid"]).stdout
    told = pgblend("diagnose", "deploy", first["docid"], "--json")
    assert json.loads(told.stdout)["document"]["id"] == first["document_id"]
    text = pgblend("ask", QUESTION, *WORDS_ONLY)
    assert text.exit_code == 0
    assert f"[{number}] Deploy guide\n    file:///deploy.md:1-3\n" in text.stdout
    assert "“run <b>make deploy</b> & wait”" in text.stdout
    assert text.stdout.endswith(f"Run make deploy, then wait [{number}].\n")
    assert "1 of 2 sentences are borne out, 1 of 1 quotation found" in text.stderr
    assert "left out (no citation): " in text.stderr
    assert "\x1b[31m" not in text.stderr
    markdown = pgblend("ask", QUESTION, *WORDS_ONLY, "--md")
    assert markdown.stdout.startswith(f"{number}. **Deploy guide** (file:///deploy.md:1-3)\n\n   >")
    assert "\x1b" not in text.stdout + markdown.stdout


@pytest.mark.usefixtures("library")
def test_without_a_model(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    found = parse_valid(pgblend("ask", QUESTION, *WORDS_ONLY, "--json"), "ask")
    assert (found["answer"], found["checks"], found["warnings"]) == (None, None, [])
    assert found["citations"][0]["quote"].startswith("How to deploy to production")
    wanted = pgblend("ask", QUESTION, *WORDS_ONLY, "--answer")
    assert wanted.exit_code == 0
    assert "citations only: no model is set for it" in wanted.stderr
    by_default = pgblend("ask", QUESTION, *WORDS_ONLY)
    assert "citations only: no answer model is set (pgblend models set" in by_default.stderr
    declined = pgblend("ask", QUESTION, *WORDS_ONLY, "--no-answer")
    assert "citations only: no answer was asked for" in declined.stderr
    assert "no results" in pgblend("ask", "xylophone", *WORDS_ONLY).stderr


def streamed(connection: psycopg.Connection, seen: list[str], **options: Any) -> dict[str, Any]:
    parameters = {
        "query": QUESTION,
        "limit": 10,
        "collections": None,
        "filter": None,
        "profile": None,
        "query_embedding": None,
        "options": json.dumps({"weights": {"vector": 0}} | options),
        "answer": None,
    }
    return ask_streamed(connection, parameters, seen.append)


def test_streamed_is_the_same(connection: psycopg.Connection, model: ModelProvider) -> None:
    seen: list[str] = []
    found = streamed(connection, seen)
    assert found == Database(connection).value(
        'SELECT ask(%s, options => \'{"weights": {"vector": 0}}\')', QUESTION
    )
    assert len(seen) > 1
    assert seen == sorted(seen, key=len)
    assert "It is always green." in seen[-1]
    assert "green" not in found["answer"]
    assert [body.get("stream", False) for body in model.bodies] == [True, False]


@pytest.mark.parametrize(
    "behaviour",
    [
        Behaviour(status=500),
        Behaviour(drop=True),
        Behaviour(drop_halfway=True),
        Behaviour(hang=True),
        Behaviour(garbage=True),
    ],
)
def test_a_stream_that_fails_leaves_the_citations(
    connection: psycopg.Connection, model: ModelProvider, behaviour: Behaviour
) -> None:
    model.behaviours["chat"] = behaviour
    found = streamed(connection, [], timeouts_ms={"answer": 1500})
    assert (found["answer"], found["checks"]) == (None, None)
    assert found["citations"]
    assert found["degraded"][0].startswith("answer: ")
    with pytest.raises(UserError):
        streamed(connection, [], timeouts_ms={"answer": 1500}, strict=True)


@pytest.mark.usefixtures("model")
def test_the_database_asks_where_the_gateway_is_out_of_reach(
    connection: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pgblend.cli.answers import ask
    from pgblend.cli.answers.ask import stream_answer

    def elsewhere(url: str, *arguments: Any) -> Any:
        return stream_answer("http://127.0.0.1:9", *arguments)

    monkeypatch.setattr(ask, "stream_answer", elsewhere)
    seen: list[str] = []
    assert streamed(connection, seen)["answer"].startswith("Run make deploy")
    assert seen == []
    connection.execute("SELECT set_setting('gateway_url', '\"http://127.0.0.1:9\"')")
    found = streamed(connection, seen)
    assert (found["answer"], bool(found["citations"])) == (None, True)
    assert "answer: the model gateway at http://127.0.0.1:9 cannot" in found["degraded"][-1]
    with pytest.raises(UserError, match="cannot be reached"):
        streamed(connection, seen, strict=True)


def test_the_unchecked_answer_is_marked_and_taken_away(capsys: pytest.CaptureFixture[str]) -> None:
    from pgblend.cli.answers.ask import unchecked_text

    with unchecked_text() as show:
        show("half an\x1b answer")
    assert "\x1b answer" not in capsys.readouterr().out
