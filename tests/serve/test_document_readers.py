"""Documents with readers of their own, over HTTP: a token holds the groups it was made with."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from pgblend.cli.doors.tokens import Grant, make_link, make_token
from pgblend.cli.main import cli
from support.agent import over_http
from support.database import embed_waiting, vector_of

RUNS_BOTH = True
ASKED = {"query": "zirconium", "query_embedding": json.loads(vector_of("zirconium"))}
SECRET = re.compile("honorarium|emoluments", re.IGNORECASE)
CHANCE = re.compile(
    r'"(\w*ms|search_id|time|bar|assembly)":("[^"]*"|[^,}]*)|[\d.]+ ms|ms [\d.]+'
    r"| *[\u2580-\u259f]+ *| *\n *| {2,}<?|<(?= )|-[0-9a-f]{8}\b"
)
EXACT = ASKED | {"options": {"vector_scan": "exact"}}
# What a browser and a program ask; ID and PASSAGE are the hidden document's.
POSTED: dict[str, dict[str, Any]] = {
    "/v1/search": EXACT,
    "/v1/context": EXACT,
    "/v1/facets": EXACT | {"keys": ["$kind", "level"]},
    "/v1/explain": EXACT,
    "/v1/diagnose": EXACT | {"document": "stone.md"},
    "/page/overview": {},
    "/page/explain": EXACT,
    "/page/around": {"node": "document:ID", "limit": 20},
    "/page/judgements": {"query": "zirconium"},
    "/page/judge": {"query": "zirconium", "chunk_id": "PASSAGE", "grade": 2},
    "/page/tune": {"judged_set": "stones", "weights": {"vector": 2}},
}
# These name no document that was found.
QUIET = {"/v1/facets", "/v1/diagnose", "collections"}
QUIET |= {f"/page/{name}" for name in ("overview", "judgements", "judge", "tune")}
CALLED: dict[str, dict[str, Any]] = {
    "search": {"query": "zirconium"},
    "context": {"query": "zirconium"},
    "explain": {"query": "zirconium"},
    "open": {"id": "ID"},
    "collections": {},
}


def test_a_token_holds_its_groups(door: Any) -> None:
    """And no other does, after it on the same connections neither; commands name the readers."""
    admin, role = door.admin, door.roles["open"]
    admin.rows(
        "SELECT ingest_document('open', 'salary.md', 'The zirconium bonus.', readers => '{hr}')"
    )
    admin.rows("SELECT ingest_document('open', 'lost.md', 'Zirconium is lost.', readers => '{}')")
    connection = admin.connection
    token = make_token(connection, Grant("personnel", role, ["search"], 1, ["sales", "hr"]))[1]
    sales = make_token(connection, Grant("sales", role, ["search"], 1, ["sales"]))[1]
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


@contextmanager
def browsing(door: Any, groups: list[str]) -> Iterator[httpx.Client]:
    """A browser that opened a link of the role with groups."""
    url = make_link(door.admin.connection, door.process.url, door.roles["open"], 1, groups)
    with door.process.client() as client:
        opened = client.post("/page/session", json={"link": url.partition("#open=")[2]})
        client.headers["Authorization"] = f"Page {opened.json()['key']}"
        yield client


def answers(door: Any, groups: list[str], hidden: tuple[int, int]) -> dict[str, str]:
    """What the page, HTTP and MCP tell one who holds groups, without times and marks of chance."""
    numbers: dict[str, Any] = {"ID": str(hidden[0]), "PASSAGE": hidden[1]}

    def asked(given: dict[str, Any]) -> dict[str, Any]:
        filled = {name: numbers.get(str(value), value) for name, value in given.items()}
        return filled | ({"node": f"document:{hidden[0]}"} if "node" in given else {})

    said = {}
    with browsing(door, groups) as client:
        for path, given in POSTED.items():
            answer = client.post(path, json=asked(given))
            assert answer.status_code < 500, (path, answer.text)
            said[path] = f"{answer.status_code} {answer.text}"
        said["document"] = client.get(f"/v1/documents/{hidden[0]}").text
    admin = door.admin.connection
    token = make_token(admin, Grant("agent", door.roles["open"], ["search"], 1, groups))[1]
    with over_http(door.process.url, token) as agent:
        for tool, given in CALLED.items():
            said[tool] = str(agent.call(tool, **asked(given)).content[0].text)
    return {name: CHANCE.sub("", text) for name, text in said.items()}


@pytest.mark.extended
def test_page_and_agents_are_told_nothing_of_hidden_documents(door: Any) -> None:
    """Who lacks the group is told the same when it is gone; who holds it is told of it."""
    admin = door.admin
    admin.rows("SELECT ingest_document('open', 'stone.md', 'Zirconium is a hard stone.')")
    admin.rows("SELECT add_judged_set('stones', 'open')")
    admin.rows("SELECT record_judgement('stones', 'zirconium', 'stone.md', 2)")
    number = admin.value(
        "SELECT document_id FROM ingest_document('open', 'emoluments.md', 'Zirconium honorarium.',"
        " 'Emoluments', metadata => '{\"level\": [1]}', readers => '{hr}')"
    )
    embed_waiting(admin)
    hidden = number, admin.value("SELECT chunk_id FROM chunks WHERE document_id = %s", number)
    judged = admin.error("SELECT record_judgement('stones', 'zirconium', 'emoluments.md', 2)")
    assert judged.sqlstate == "22023"
    shown, silent = answers(door, ["hr"], hidden), answers(door, ["sales"], hidden)
    assert {name for name, text in shown.items() if not SECRET.search(text)} == QUIET
    assert shown["/v1/facets"] != silent["/v1/facets"]
    assert not {name for name, text in silent.items() if SECRET.search(text)}
    admin.rows("SELECT delete_document('open', 'emoluments.md')")
    assert answers(door, ["sales"], hidden) == silent
    assert not SECRET.search(door.process.stderr)


@pytest.mark.extended
def test_what_is_kept_for_tuning_is_of_documents_for_all(door: Any) -> None:
    """A question's candidates are kept for minutes: what was restricted since has no share."""
    admin, role = door.admin, door.roles["open"]
    for key, text in (("ore.md", "Hafnium is in this ore of long words."), ("pay.md", "Hafnium!")):
        admin.rows("SELECT ingest_document('open', %s, %s)", key, text)
    admin.rows("SELECT add_judged_set('ores', 'open')")
    admin.rows("SELECT record_judgement('ores', 'hafnium', 'ore.md', 2)")
    own = "UPDATE pgblend_data.judged_query SET embedding = %s WHERE query = 'hafnium'"
    admin.rows(own, vector_of("hafnium"))  # so that no model is asked
    embed_waiting(admin)

    def tune(client: httpx.Client, weights: dict[str, float]) -> Any:
        asked = {"judged_set": "ores", "weights": weights}
        return client.post("/page/tune", json=asked)

    def ndcg(client: httpx.Client) -> float:
        halves = tune(client, {"lexical": 1.0, "vector": 0.0}).json()["halves"]
        (found,) = [half["ndcg"] for half in halves if half["questions"]]
        return float(found)

    admin.rows(f"GRANT pgblend_writer TO {role}")
    admin.rows(f"SELECT grant_collection('open', '{role}', 'write')")
    try:
        with browsing(door, []) as client:
            assert ndcg(client) < 1.0
            admin.rows("SELECT grant_document('open', 'pay.md', 'group:hr')")
            assert ndcg(client) == 1.0
            refused = tune(client, {"fuzy": 1.0})
            assert (refused.status_code, "'fuzy'" in refused.json()["detail"]) == (400, True)
    finally:
        admin.rows(f"SELECT revoke_collection('open', '{role}', 'write')")
        admin.rows(f"REVOKE pgblend_writer FROM {role}")
