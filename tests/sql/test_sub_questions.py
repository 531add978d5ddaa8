"""Questions that need several searches: sub-questions of an expansion, and the chat before them."""

import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from support.database import Database
from support.model_library import EXPANSION, WEAK, fill, use_models
from support.model_provider import GatewayProcess, ModelProvider

QUERY = "how is it put live, and where does the grape drink come from?"
PARTS = ["rollout of the release", "production of wine"]
SPLIT = EXPANSION | {"lexicalQueries": [], "vectorQueries": [], "hyde": "", "subQuestions": PARTS}
THOROUGH = {"mode": "thorough", "rerank": "off", "sub_questions": {"most": 4}, **WEAK}
CHAT = [{"role": "user", "content": "What of the release?"}]


@pytest.fixture(scope="module")
def filled(module_connection: psycopg.Connection) -> Database:
    db = Database(module_connection)
    fill(db)
    return db


@pytest.fixture
def db(
    filled: Database, gateway: GatewayProcess, model_provider: ModelProvider
) -> Iterator[Database]:
    with filled.connection.transaction(force_rollback=True):
        use_models(filled, gateway, model_provider)
        model_provider.reply = lambda _: json.dumps(SPLIT)
        filled.warnings()
        yield filled


def found(db: Database, options: dict[str, Any], query: str = QUERY) -> dict[str, Any]:
    """Return the sub-questions that each row answers, best row first."""
    rows = db.rows(
        "SELECT source_key, details -> 'answers' FROM hybrid_search(%s, 6, options => %s)",
        query,
        json.dumps(options),
    )
    return dict(rows)


def test_each_row_says_which_part_it_answers(db: Database, model_provider: ModelProvider) -> None:
    answers = found(db, THOROUGH)
    assert set(list(answers)[:2]) == {"rollout", "wine"}
    assert (answers["rollout"][0], answers["wine"][0]) == (PARTS[0], PARTS[1])
    sent = [body for body in model_provider.bodies if "input" in body or "messages" in body]
    assert [body.get("input") for body in sent] == [None, [QUERY, *PARTS]]  # one call each
    assert sent[0]["response_format"]["json_schema"]["strict"] is True
    trace = db.value("SELECT search_explain(%s, options => %s)", QUERY, json.dumps(THOROUGH))
    (stage,) = [one for one in trace["stages"] if one["name"] == "expand"]
    assert stage["details"]["subQuestions"] == PARTS
    first = next(row for row in trace["results"] if row["source_key"] == "wine")
    assert first["arms"]["lexical_question_2"]["rank"] == 1


def test_without_the_setting_nothing_is_split(db: Database, model_provider: ModelProvider) -> None:
    assert set(found(db, THOROUGH | {"sub_questions": {"most": 0}}).values()) == {None}
    asked = [body for body in model_provider.bodies if "messages" in body]
    assert "subQuestions" not in json.dumps(asked)


def test_a_phrase_binds_all_parts(db: Database) -> None:
    assert set(found(db, THOROUGH, 'put live "wine in"')) == {"wine"}


@pytest.mark.parametrize("mode", ["default", "thorough"])
def test_the_chat_says_what_a_question_refers_to(
    db: Database, model_provider: ModelProvider, mode: str
) -> None:
    model_provider.reply = lambda _: json.dumps(SPLIT | {"subQuestions": PARTS[:1]})
    options = {"mode": mode, "history": CHAT, "rerank": "off"}
    answers = found(db, options, "how is it put live?")
    assert next(iter(answers.items())) == ("rollout", PARTS[:1])
    (asked,) = [body for body in model_provider.bodies if "messages" in body]
    told = json.loads(asked["messages"][1]["content"])
    assert told == {"chat": CHAT, "query": "how is it put live?"}


def test_a_chat_is_not_read_where_no_model_may_be_asked(
    db: Database, model_provider: ModelProvider
) -> None:
    found(db, {"mode": "fast", "history": CHAT})
    assert not any("messages" in body for body in model_provider.bodies)
    db.rows("SELECT reset_setting('expansion_model')")
    found(db, {"history": CHAT})
    assert [one for one in db.warnings() if "expand" in one] == [
        "searching without the expand stage: no model is set for it. The mode fast does without"
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"history": [{"role": "system", "content": "a"}]}, "one of assistant, user"),
        ({"history": [{"role": "user"}]}, 'lacks the key "[1].content"'),
        ({"history": [CHAT[0]] * 21}, "at most 20 values"),
        ({"sub_questions": {"most": 5}}, "from 0 to 4"),
        ({"expansion": {"subQuestions": ["a"] * 5}}, "at most 4 values"),
    ],
)
def test_what_cannot_be_taken(db: Database, options: dict[str, Any], message: str) -> None:
    error = db.error("SELECT * FROM hybrid_search('a', options => %s)", json.dumps(options))
    assert error.sqlstate == "22023"
    assert message in str(error.message_primary)


def ask(db: Database, provider: ModelProvider, answer: str) -> dict[str, Any]:
    """Ask, where the answer model says this; {} is the number of the passage on wine."""

    def reply(body: dict[str, Any]) -> str:
        if "response_format" in body:
            return json.dumps(SPLIT)
        before = body["messages"][1]["content"].split("production of wine in the valley")[0]
        return answer.format(before.rsplit("--- passage ", 1)[1].split(" ", 1)[0])

    provider.reply = reply
    db.rows("SELECT set_setting('answer_model', to_jsonb(%s::text))", provider.chat_model)
    told: dict[str, Any] = db.value("SELECT ask(%s, options => %s)", QUERY, json.dumps(THOROUGH))
    return told


def test_ask_names_the_part_without_evidence(db: Database, model_provider: ModelProvider) -> None:
    said = '#1: NO ANSWER\n#2: Wine is made in the valley [{}: "wine in the valley"].'
    told = ask(db, model_provider, said)
    assert told["answer"].startswith("Wine is made in the valley [")
    assert [(one["question"], one["hasEvidence"]) for one in told["questions"]] == [
        (PARTS[0], False),
        (PARTS[1], True),
    ]
    system, user = model_provider.bodies[-1]["messages"]
    assert "#1" in system["content"]
    assert user["content"].endswith(f"Question: {QUERY}\n#1: {PARTS[0]}\n#2: {PARTS[1]}")
    without = db.value(
        "SELECT ask(%s, options => %s, answer => false)", QUERY, json.dumps(THOROUGH)
    )
    assert [one["hasEvidence"] for one in without["questions"]] == [True, True]
    plain = db.value("SELECT ask('production of wine', answer => false)")
    assert "questions" not in plain
