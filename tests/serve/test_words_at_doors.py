"""Words as people write them mean the same by HTTP, by agents' tools and in contexts as by SQL."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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
