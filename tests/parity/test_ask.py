"""The pure functions of ask, in Python and as they are deployed."""

import json
from typing import Any

import psycopg
import pytest

from pgblend.plpy.answers.answer import ask_document
from pgblend.plpy.answers.render import answer_messages
from support.program import loading

pytestmark = pytest.mark.extended

PART = {
    "citation": 1, "document_id": 7, "collection": "c", "uri": "docs/a.md", "title": "A 🦊",
    "source_key": "a", "spans": [[10, 12]], "pages": [3], "kind": "doc",
    "text": "First line.\nThe port\nis 5432.",
}  # fmt: skip
FOUND = {
    "query": "which port?", "mode": "hybrid", "queryLanguage": "en", "parts": [PART],
    "results": [{"rank": 1}], "meta": {"expanded": True}, "degraded": ["x"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "answer", "quote", "lines"),
    [
        ('It is 5432 [1: "The port is 5432"].', "It is 5432 [1].", "The port is 5432", [11, 12]),
        ("It is 5432.", None, "The port\nis 5432.", [11, 12]),
        ("NO ANSWER", None, "The port\nis 5432.", [11, 12]),
        (None, None, "The port\nis 5432.", [11, 12]),
    ],
)
def test_ask_document(
    module_connection: psycopg.Connection,
    text: str | None,
    answer: str | None,
    quote: str,
    lines: list[int],
) -> None:
    reply: dict[str, Any] | None = None
    if text is not None:
        reply = {"model": "m", "text": text, "finish_reason": "length"}
    found = ask_document(FOUND, reply)
    row = module_connection.execute(
        "SELECT pgblend._ask_document(%s, %s)", [json.dumps(FOUND), reply and json.dumps(reply)]
    ).fetchone()
    assert row == (found,)
    (citation,) = found["citations"]
    assert (found["answer"], citation["quote"], citation["quoteLines"]) == (answer, quote, lines)
    assert found["meta"]["answerCut"] == (reply is not None)
    assert (citation["docid"], citation["document_id"]) == ("#000007", 7)


MESSAGES = """
CREATE FUNCTION pg_temp.answer_messages(query text, parts jsonb) RETURNS jsonb
LANGUAGE plpython3u AS $python$
import json
from pgblend.plpy.answers.render import answer_messages

return json.dumps(answer_messages(query, json.loads(parts)))
$python$;
"""


def test_answer_messages(module_connection: psycopg.Connection) -> None:
    module_connection.execute(loading(MESSAGES))
    row = module_connection.execute(
        "SELECT pg_temp.answer_messages(%s, %s)", [FOUND["query"], json.dumps([PART])]
    ).fetchone()
    assert row == (answer_messages("which port?", [PART]),)
