"""Words as people write them mean the same at every door as by SQL."""

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pgblend.cli.doors.tokens import make_link
from pgblend.cli.main import cli
from pgblend.plpy.lexical.forms import uncontrolled
from support.agent import Agent, over_http
from support.serve_process import token_of

FILE = Path(__file__).parents[1] / "sql" / "data" / "written_words.json"
SET = json.loads(FILE.read_text())
CASES = [(kind, *queries[0]) for kind, queries in SET["kinds"].items()]
ASKED = {"collections": ["written"], "limit": 10}


@pytest.fixture(scope="module")
def written(door: Any) -> None:
    db = door.admin
    db.rows("SELECT add_collection('written')")
    db.rows("SELECT grant_collection('written', %s)", door.roles["open"])
    ingest = "SELECT ingest_document('written', %s, %s, language => %s)"
    for key, passage in SET["passages"].items():
        db.rows(ingest, key, passage["text"], passage["language"])


@pytest.fixture(scope="module")
def agent(door: Any, written: None) -> Iterator[Agent]:
    """An agent that may search."""
    token = token_of(door.admin.connection, door.roles["open"], "search")
    with over_http(door.process.url, token) as connected:
        yield connected


@pytest.mark.extended
@pytest.mark.parametrize(("kind", "query", "key"), CASES, ids=[kind for kind, *_ in CASES])
def test_each_kind(door: Any, post: Any, agent: Agent, kind: str, query: str, key: str) -> None:
    rows = door.admin.column(
        "SELECT chunk_id FROM hybrid_search(%s, 10, collections => '{written}')", query
    )
    by_http = post("/v1/search", query=query, **ASKED)["results"]
    assert by_http[0]["source_key"] == key
    assert [row["chunk_id"] for row in by_http] == rows
    by_agent = agent.said("search", query=query, **ASKED)["text"]
    assert [int(one) for one in re.findall(r'chunk_id="(\d+)"', by_agent)] == rows
    answers = [
        post("/v1/context", query=query, collections=["written"]),
        agent.said("context", query=query, collections=["written"]),
    ]
    for answer in answers:
        assert key in json.dumps(answer, ensure_ascii=False)


@pytest.mark.parametrize("cases", [CASES[::5], pytest.param(CASES, marks=pytest.mark.slow)])
def test_each_kind_is_read_by_answers(
    door: Any, written: None, models: Any, module_url: str, cases: list[Any]
) -> None:
    """In chats, on the page and by `pgblend ask` the model reads the passage that is meant."""
    models.reply = lambda _: "NO ANSWER"
    for name in ("expansion_model", "rerank_model"):  # which answers do without
        door.admin.rows("SELECT reset_setting(%s)", name)
    link = make_link(door.admin.connection, door.process.url, door.roles["open"], 1)
    ask = ("--database-url", module_url, "ask", "--answer", "--collection", "written", "--")
    missed = []
    with door.client() as chat, door.process.client() as page:
        opened = page.post("/page/session", json={"link": link.partition("#open=")[2]})
        page.headers["Authorization"] = f"Page {opened.json()['key']}"
        for kind, query, key in cases:
            chatted = {"role": "user", "content": query}
            body = {"model": "pgblend/written", "messages": [chatted]}
            on_page = {"query": query, "collections": ["written"]}
            asked = {
                "chat": partial(chat.post, "/v1/chat/completions", json=body, timeout=120),
                "page": partial(page.post, "/page/answer", json=on_page, timeout=120),
                "ask": partial(CliRunner().invoke, cli, [*ask, query]),
            }
            text = uncontrolled(SET["passages"][key]["text"])
            for place, call in asked.items():
                models.bodies.clear()
                answer = call()
                told = answer.output if place == "ask" else answer.text
                assert (answer.exit_code == 0) if place == "ask" else answer.is_success, told
                read = [one.get("messages", []) for one in models.bodies]
                if text not in "".join(message["content"] for one in read for message in one):
                    missed.append((kind, place, query))
    assert not missed
