"""Models are asked outside the database: no transaction waits for one."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from pgblend.cli.search.explain_trace import Trace
from support.gateway_process import GatewayProcess
from support.model_library import EXPANSION
from support.model_provider import Behaviour
from support.waiting import SOON_SECONDS, wait_until

Post = Callable[..., Any]
SLOW_SECONDS = 1.5
# Longest time that a transaction may stand open and idle.
MOST_IDLE_SECONDS = 0.05
REPLY = 'Wine comes from France [1: "The production of wine in France"].'
_IDLE = """
    SELECT max(extract(epoch FROM clock_timestamp() - state_change))
    FROM pg_stat_activity
    WHERE application_name = 'pgblend serve' AND state LIKE 'idle in transaction%'
"""
_BUSY = """
    SELECT max(extract(epoch FROM clock_timestamp() - query_start))
    FROM pg_stat_activity WHERE application_name = 'pgblend serve' AND state = 'active'
"""


@pytest.fixture
def all_models(models: Any) -> Any:
    models.reply = lambda body: REPLY if "Passages:" in str(body) else json.dumps(EXPANSION)
    return models


@pytest.fixture
def longest(door: Any) -> Iterator[dict[str, float]]:
    """Watches the door's sessions: seconds that one was idle in a transaction, or in a query."""
    found = {"idle": 0.0, "busy": 0.0}
    ended = threading.Event()

    def watch() -> None:
        with psycopg.connect(door.admin.url, autocommit=True) as own:
            while not ended.wait(0.01):
                for name, query in (("idle", _IDLE), ("busy", _BUSY)):
                    (seconds,) = own.execute(query).fetchone() or (None,)
                    found[name] = max(found[name], float(seconds or 0))

    thread = threading.Thread(target=watch)
    thread.start()
    yield found
    ended.set()
    thread.join()


def test_all_stages_as_in_sql(door: Any, all_models: Any, post: Post) -> None:
    options = {"mode": "thorough"}
    answer = post("/v1/search", query="wine of france", options=options)
    names = ("source_key", "arms", "relevance")
    with door.admin.connection.transaction(force_rollback=True):
        door.admin.rows(f"SET LOCAL ROLE {door.roles['open']}")
        rows = door.admin.rows(
            f"SELECT {', '.join(names)} FROM hybrid_search('wine of france', options => %s)",
            json.dumps(options),
        )
    assert answer["degraded"] == []
    told = [tuple(row[name] for name in names) for row in answer["results"]]
    assert [(key, set(arms)) for key, arms, _ in told] == [(k, set(a)) for k, a, _ in rows]
    assert [r for *_, r in told] == pytest.approx([r for *_, r in rows], abs=1e-5)
    assert "rerank" in answer["results"][0]["arms"]
    explained = post("/v1/explain", query="wine of france", options=options)
    stages = {stage["name"]: stage for stage in explained["stages"]}
    assert stages["rerank"]["details"] == {"given": True}
    assert stages["embed"]["skipped"] == "the caller gave the vector"


def test_an_explanation_has_the_time_of_models(all_models: Any, post: Post) -> None:
    for task in ("embed", "chat", "rerank"):
        all_models.behaviours[task] = Behaviour(delay_seconds=0.3)
    told = post("/v1/explain", query="wine of spain", options={"mode": "thorough"})
    assert all(told["models_ms"][stage] >= 300 for stage in ("expand", "embed", "rerank"))
    trace = Trace.from_json(told)
    assert trace.total_ms >= 900
    by_name = {stage.name: stage for stage in trace.stages}
    assert all(by_name[stage].ms >= 300 for stage in ("expand", "embed", "rerank"))
    assert all(by_name[stage].skipped is None for stage in ("expand", "embed", "rerank"))
    assert sum(stage.ms for stage in trace.stages) == pytest.approx(trace.total_ms, rel=0.01)


def test_what_is_typed_asks_for_vectors_alone(all_models: Any, post: Post) -> None:
    before = len(all_models.bodies)
    asked = {"query": "wine of portugal", "options": {"mode": "thorough"}, "facts": True}
    facts = post("/v1/search", **asked, purpose="typed")["facts"]
    assert facts["meta"] == {
        "mode": "hybrid", "expanded": False, "reranked": False, "vectorsUsed": True,
    }  # fmt: skip
    assert (facts["mode"], facts["candidates"] > 0) == ("thorough", True)
    assert len(all_models.bodies) - before == 1
    assert not {"messages", "documents"} & all_models.bodies[-1].keys()
    meta = post("/v1/search", **asked)["facts"]["meta"]
    assert (meta["expanded"], meta["reranked"]) == (True, True)
    assert "facts" not in post("/v1/search", query="wine")


@pytest.mark.parametrize("task", ["embed", "chat", "rerank"])
def test_no_transaction_waits_for_a_model(
    all_models: Any, post: Post, longest: dict[str, float], task: str
) -> None:
    all_models.behaviours[task] = Behaviour(delay_seconds=SLOW_SECONDS)
    before = len(all_models.bodies)
    answer = post("/v1/ask", query=f"where is wine made? {task}", options={"mode": "thorough"})
    assert answer["answer"] == "Wine comes from France [1]."
    assert answer["degraded"] == []
    assert len(all_models.bodies) - before == 4  # expansion, vectors, scores, answer
    assert longest["idle"] < MOST_IDLE_SECONDS
    assert longest["busy"] < SLOW_SECONDS


@pytest.mark.parametrize(
    ("task", "stage"), [("chat", "expand"), ("embed", "vector"), ("rerank", "rerank")]
)
def test_what_fails_is_left_out_and_told(
    all_models: Any, client: httpx.Client, post: Post, task: str, stage: str
) -> None:
    all_models.behaviours[task] = Behaviour(status=400)
    body = {"query": "wine", "options": {"mode": "thorough"}}
    answer = post("/v1/search", **body)
    assert answer["results"][0]["source_key"] == "wine"
    (note,) = answer["degraded"]
    assert note.startswith(f"{stage}: the model gateway answered 400")
    assert any("searching without the" in warning for warning in answer["warnings"])
    body["options"]["strict"] = True
    refused = client.post("/v1/search", json=body)
    assert refused.status_code == 503
    assert refused.json()["type"] == "urn:pgblend:problem:model-unavailable"
    assert refused.json()["detail"].startswith(f"{stage}: the model gateway answered 400")


def test_an_answer_that_fails_leaves_its_citations(all_models: Any, post: Post) -> None:
    all_models.behaviours["chat"] = Behaviour(status=400)
    answer = post("/v1/ask", query="where is wine made?", options={"expand": "off"})
    assert answer["answer"] is None
    assert answer["citations"]
    assert answer["degraded"][0].startswith("answer: ")


def test_citations_alone(all_models: Any, post: Post) -> None:
    before = len(all_models.bodies)
    answer = post("/v1/ask", query="where is wine made?", answer=False, options={"mode": "fast"})
    assert (answer["answer"], answer["checks"]) == (None, None)
    assert answer["citations"][0]["source_key"] == "wine"
    assert len(all_models.bodies) - before == 1  # the vector


@pytest.fixture
def token_file(door: Any, models: Any) -> Iterator[Path]:
    """The token of a gateway that only the database has; the file can be taken away."""
    ((folder,),) = door.admin.rows("SHOW data_directory")
    path = Path(folder) / "pgblend_gateway_token"
    with GatewayProcess("--cache-size", "0", provider=models, token="t0ken") as gateway:
        path.touch(0o600)
        path.write_text("t0ken")
        os.chown(path, path.parent.stat().st_uid, path.parent.stat().st_gid)
        door.admin.rows("SELECT set_setting('gateway_url', to_jsonb(%s::text))", gateway.url)
        yield path
        path.unlink(missing_ok=True)


def test_the_database_asks_a_gateway_that_is_closed_to_the_door(
    all_models: Any, token_file: Path, post: Post, client: httpx.Client
) -> None:
    thorough = {"mode": "thorough"}
    found = post("/v1/search", query="wine of italy", options=thorough, facts=True)
    assert (found["degraded"], found["warnings"]) == ([], [])
    assert {"vector", "rerank"} <= found["results"][0]["arms"].keys()
    assert found["facts"]["meta"]["expanded"]
    answered = post("/v1/ask", query="where is wine made?")
    assert answered["answer"].startswith("Wine comes from France")
    assert answered["degraded"] == []
    token_file.unlink()
    found = post("/v1/search", query="wine of spain", options=thorough)
    for stage in ("expand", "vector", "rerank"):
        notes = [note for note in found["degraded"] if note.startswith(stage)]
        assert len(notes) == 1
        assert "the model gateway answered 401" in notes[0]
    answered = post("/v1/ask", query="where is wine made?", options={"mode": "fast"})
    assert answered["answer"] is None
    assert answered["citations"]
    assert any(note.startswith("answer: the model gateway") for note in answered["degraded"])
    refused = client.post("/v1/search", json={"query": "wine", "options": {"strict": True}})
    assert refused.status_code == 503
    assert "answered 401" in refused.json()["detail"]


def test_a_gateway_that_is_gone_is_named_once(all_models: Any, door: Any, post: Post) -> None:
    door.admin.rows("SELECT set_setting('gateway_url', '\"http://127.0.0.1:9\"')")
    found = post("/v1/search", query="wine", options={"rerank": "off", "expand": "off"})
    (note,) = found["degraded"]
    assert note.startswith("vector: the model gateway at http://127.0.0.1:9 cannot be reached")


def test_a_caller_who_leaves_ends_the_call_of_the_model(
    all_models: Any, door: Any, client: httpx.Client
) -> None:
    all_models.behaviours["embed"] = Behaviour(hang=True)
    before = all_models.abandoned
    with pytest.raises(httpx.ReadTimeout):
        client.post("/v1/search", json={"query": "wine"}, timeout=0.5)
    wait_until(lambda: all_models.abandoned == before + 1, SOON_SECONDS)
