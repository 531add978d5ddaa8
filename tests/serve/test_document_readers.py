"""Documents with readers of their own, over HTTP: a token holds the groups it was made with."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from pgblend.cli.doors.tokens import make_token
from pgblend.cli.main import cli
from support.database import vector_of

ASKED = {"query": "zirconium", "query_embedding": json.loads(vector_of("zirconium"))}


@pytest.mark.extended
def test_a_token_holds_its_groups(door: Any) -> None:
    """And no other does, after it on the same connections neither; commands name the readers."""
    admin, role = door.admin, door.roles["open"]
    admin.rows(
        "SELECT ingest_document('open', 'salary.md', 'The zirconium bonus.', readers => '{hr}')"
    )
    admin.rows("SELECT ingest_document('open', 'lost.md', 'Zirconium is lost.', readers => '{}')")
    connection = admin.connection
    token = make_token(connection, "personnel", role, ["search"], 1, groups=["sales", "hr"])[1]
    sales = make_token(connection, "sales", role, ["search"], 1, groups=["sales"])[1]
    for shown, found in ((token, ["salary.md"]), (sales, []), (door.tokens["open"], [])) * 2:
        with door.process.client(shown) as client:
            answers = {
                path: client.post(path, json=ASKED).raise_for_status().text
                for path in ("/v1/search", "/v1/context", "/v1/explain")
            }
        keys = [row["source_key"] for row in json.loads(answers["/v1/search"])["results"]]
        assert [key for key in keys if key in ("salary.md", "lost.md")] == found
        for text in answers.values():
            assert ("salary.md" in text, "lost.md" in text) == (bool(found), False)

    def told(*arguments: str) -> str:
        result = CliRunner().invoke(cli, ["--database-url", admin.url, *arguments])
        return result.stdout

    assert json.loads(told("document", "rights", "--json"))["rights"] == [
        {"collection": "open", "source_key": "lost.md", "readers": []},
        {"collection": "open", "source_key": "salary.md", "readers": ["group:hr"]},
    ]
    assert "salary.md" not in told("document", "rights", "lost.md", "--csv")
    named = [
        check for check in json.loads(told("doctor", "--json"))["checks"] if "lost.md" in str(check)
    ]
    assert [(check["name"], check["status"]) for check in named] == [
        ("readers of documents in open", "warning")
    ]
