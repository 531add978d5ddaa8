"""Every fault of a model at every stage: the search answers in time, and says what it lacks."""

import json
import re
import threading
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from pgblend.cli.base.database import connect
from support.backend import held
from support.database import Database
from support.model_library import EXPANSION, QUERY, WEAK, fill, search, use_models
from support.model_provider import Behaviour, GatewayProcess, ModelProvider
from support.places import places_taken
from support.waiting import wait_until

pytestmark = pytest.mark.extended

TASKS = {"embed": "embed", "expand": "chat", "rerank": "rerank"}  # stage: the provider's task
NAMED = {"embed": "vector", "expand": "expand", "rerank": "rerank"}  # stage: what degraded names
LIMIT_MS = 700
FAULTS = {
    "slow": Behaviour(delay_seconds=1.5),
    "hang": Behaviour(hang=True),
    "drop": Behaviour(drop=True),
    "garbage": Behaviour(garbage=True),
    "wrong schema": Behaviour(wrong_schema=True),
    "429": Behaviour(status=429, retry_after=30),
    "500": Behaviour(status=500),
    "huge": Behaviour(huge_bytes=3_000_000),
    "invalid UTF-8": Behaviour(invalid_utf8=True),
}
LIMITS = {"timeouts_ms": dict.fromkeys(TASKS, LIMIT_MS)}
THOROUGH = {"mode": "thorough", **WEAK, **LIMITS}
LONG_MS = 600_000  # far beyond what `wait_until` waits: what ends within that was ended
PATIENT = {**THOROUGH, "timeouts_ms": dict.fromkeys((*TASKS, "total"), LONG_MS)}


@pytest.fixture(scope="module")
def filled(
    module_connection: psycopg.Connection,
    session_gateway: GatewayProcess,
    session_provider: ModelProvider,
) -> Database:
    db = Database(module_connection)
    fill(db)
    use_models(db, session_gateway, session_provider)
    return db


@pytest.fixture
def provider(model_provider: ModelProvider) -> ModelProvider:
    model_provider.reply = lambda _: json.dumps(EXPANSION)
    return model_provider


@pytest.mark.fault("each stage's model fails in each way", "rows, and degraded names the stage")
@pytest.mark.parametrize("stage", TASKS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_search_goes_on(
    filled: Database, provider: ModelProvider, stage: str, fault: str
) -> None:
    filled.warnings()
    provider.behaviours[TASKS[stage]] = FAULTS[fault]
    rows = search(filled, "source_key, degraded, arms", THOROUGH)
    assert rows
    (notes,) = {tuple(row[1]) for row in rows}
    assert [note.partition(":")[0] for note in notes] == [NAMED[stage]]
    assert "the model gateway" in notes[0] or "gateway's answer" in notes[0]
    assert "plpy" not in notes[0]
    assert len(filled.warnings()) == 1
    assert any("rerank" in row[2] for row in rows) is (stage != "rerank")
    assert held(filled)[0] == 0


@pytest.mark.fault("all models are gone", "rows by words, all stages named")
def test_all_models_gone(filled: Database, provider: ModelProvider) -> None:
    provider.behaviour = Behaviour(hang=True)
    (row, *_) = search(filled, "degraded, arms", THOROUGH)
    assert [note.partition(":")[0] for note in row[0]] == ["expand", "vector", "rerank"]
    assert row[1].keys() == {"lexical"}


@pytest.mark.fault("all models are slow", "the total limit holds")
def test_the_total_limit_holds_over_all_stages(filled: Database, provider: ModelProvider) -> None:
    provider.behaviour = Behaviour(hang=True)
    limits = {"timeouts_ms": {**dict.fromkeys(TASKS, LONG_MS), "total": LIMIT_MS}}
    (row, *_) = search(filled, "degraded", {**THOROUGH, **limits})
    # The gateway stops as soon as the search does: whichever tells first.
    assert re.search("gave no answer|did not answer in time", row[0][0])
    assert row[0][1].startswith("vector: the time of the whole search is over")


@pytest.mark.fault("a model fails in a strict search", "an error of its stage")
def test_strict_is_an_error(filled: Database, provider: ModelProvider) -> None:
    provider.behaviours["rerank"] = Behaviour(status=500)
    options = json.dumps({**LIMITS, "strict": True})
    error = filled.error("SELECT * FROM hybrid_search(%s, options => %s)", QUERY, options)
    assert error.sqlstate == "PB008"
    assert str(error.message_primary).startswith("rerank: ")


@pytest.mark.fault("statement_timeout in each stage", "ends in time")
@pytest.mark.parametrize("stage", TASKS)
def test_statement_timeout(filled: Database, provider: ModelProvider, stage: str) -> None:
    provider.behaviours[TASKS[stage]] = Behaviour(hang=True)
    with filled.connection.transaction(force_rollback=True):
        filled.rows("SET LOCAL statement_timeout = 1500")
        outcome, thread = in_background(lambda: search(filled, "1", PATIENT))
        wait_until(lambda: not thread.is_alive())
        assert outcome[0].sqlstate == "57014"
    assert held(filled)[0] == 0
    assert places_taken(filled) == 0
    provider.reset()
    provider.reply = lambda _: json.dumps(EXPANSION)
    assert search(filled, "degraded", THOROUGH)[0] == ([],)


@pytest.mark.fault("cancel and terminate in a search", "ends at once")
@pytest.mark.parametrize("end", ["pg_cancel_backend", "pg_terminate_backend"])
def test_cancel_and_terminate(filled: Database, provider: ModelProvider, end: str) -> None:
    provider.behaviours["rerank"] = Behaviour(hang=True)
    with connect(filled.url) as connection:
        outcome, thread = in_background(lambda: search(Database(connection), "1", PATIENT))
        wait_until(lambda: any("documents" in body for body in provider.bodies))
        assert places_taken(filled) == 1
        filled.rows(f"SELECT {end}(%s)", connection.info.backend_pid)
        wait_until(lambda: not thread.is_alive())
        assert isinstance(outcome[0], psycopg.Error)
    wait_until(lambda: places_taken(filled) == 0)


@pytest.mark.fault("more searches than places for model calls", "no more calls than places")
def test_no_more_calls_than_there_are_places(filled: Database, provider: ModelProvider) -> None:
    provider.behaviours["rerank"] = Behaviour(delay_seconds=1.5)
    patient = json.dumps({"timeouts_ms": dict.fromkeys((*TASKS, "total"), 60_000)})
    call = "SELECT degraded, arms FROM hybrid_search(%s, options => %s)"
    try:
        filled.rows("""SELECT set_setting('model_calls', '{"most": 1}')""")
        with connect(filled.url) as connection:
            first, thread = in_background(lambda: Database(connection).rows(call, QUERY, patient))
            wait_until(lambda: any("documents" in body for body in provider.bodies))
            (row, *_) = filled.rows(call, QUERY, patient)
            assert [note.partition(":")[0] for note in row[0]] == ["vector", "rerank"]
            assert "no place left for a model call: 1 run already" in row[0][0]
            filled.rows("""SELECT set_setting('model_calls', '{"most": 1, "wait_ms": 60000}')""")
            (row, *_) = filled.rows(call, QUERY, patient)  # waits for its turn
            assert row[0] == []
            thread.join()
            assert first[0][0][0] == []
    finally:
        filled.rows("SELECT reset_setting('model_calls')")
    assert places_taken(filled) == 0


@pytest.mark.fault("a gateway that is not ours", "what it lacks is named")
def test_a_foreign_server_has_no_expansion(filled: Database, provider: ModelProvider) -> None:
    """An OpenAI-compatible server behind gateway_url: what it lacks is named."""
    url = filled.value("SELECT get_setting('gateway_url') #>> '{}'")
    try:
        filled.rows("SELECT set_setting('gateway_url', to_jsonb(%s::text))", provider.url)
        (row, *_) = search(filled, "degraded, arms", {"mode": "thorough", **WEAK})
        assert row[0][0].startswith("expand: the model gateway answered 404")
        assert {"vector", "rerank"} <= row[1].keys()
    finally:
        filled.rows("SELECT set_setting('gateway_url', to_jsonb(%s::text))", url)


def in_background(run: Callable[[], Any]) -> tuple[list[Any], threading.Thread]:
    """Run in a thread; what it returns or raises is put into the list."""
    outcome: list[Any] = []

    def call() -> None:
        try:
            outcome.append(run())
        except psycopg.Error as error:
            outcome.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    return outcome, thread
