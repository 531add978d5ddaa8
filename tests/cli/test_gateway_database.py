"""What the gateway keeps in the database: expansions, ledger and search log, but no secrets."""

import json
import socket
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from click.testing import Result
from PIL import Image

from support.database import Database, add_documents, add_space, embed_waiting, vector_of
from support.model_provider import DEFAULT_TOKEN, Behaviour, GatewayProcess, ModelProvider
from support.waiting import wait_until

QUERY = "where does the cabernet stand"


@pytest.fixture
def provider() -> Iterator[ModelProvider]:
    with ModelProvider() as provider:
        yield provider


@pytest.fixture
def gateway_url(url_as: Callable[..., str]) -> str:
    """The database as the gateway sees it."""
    return url_as("pgblend_gateway")


@pytest.fixture
def start(gateway_url: str, provider: ModelProvider) -> Callable[..., GatewayProcess]:
    environment = {"PGBLEND_GATEWAY_DATABASE_URL": gateway_url}
    return lambda *options, **more: GatewayProcess(
        *options, provider=provider, environment=environment, **more
    )


def expand(gateway: GatewayProcess, **fields: Any) -> httpx.Response:
    body = {"model": ModelProvider.chat_model, "query": QUERY, **fields}
    return httpx.post(f"{gateway.url}/v1/expand", json=body, timeout=120)


def rows(connection: psycopg.Connection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query).fetchall()  # type: ignore[call-overload, no-any-return]


@pytest.mark.slow
def test_expansions_and_the_ledger_outlive_the_gateway(
    start: Callable[..., GatewayProcess], provider: ModelProvider, connection: psycopg.Connection
) -> None:
    with start("--attempts", "1") as gateway:
        first = expand(gateway).json()
        provider.behaviours["chat"] = Behaviour(status=500)
        assert expand(gateway, query="another").status_code == 502
    with start() as gateway:
        health = f"{gateway.url}/health"
        wait_until(lambda: httpx.get(health).json()["database"] == "connected")
        assert expand(gateway).json() == {**first, "cached": True}
        assert provider.requests == 2
        metrics = httpx.get(f"{gateway.url}/metrics").text
    assert "pgblend_gateway_cache_expansions_misses_total 1.0" in metrics
    ledger = rows(
        connection,
        "SELECT task, model, provider, outcome, attempts, input_tokens > 50, cost_usd > 0,"
        " milliseconds > 0 FROM pgblend_data.model_call ORDER BY id",
    )
    common = ("expansion", ModelProvider.chat_model, "openai")
    assert ledger == [
        (*common, "ok", 1, True, True, True),
        (*common, "provider_error", 1, False, None, True),
    ]
    ((answers, kept),) = rows(
        connection, "SELECT count(*), max(answer::text) FROM pgblend_data.model_answer"
    )
    assert answers == 1
    assert "lexicalQueries" in kept


def search(**fields: Any) -> dict[str, Any]:
    return {
        "search_id": str(uuid.uuid4()),
        "at": "2026-11-21T10:00:00+00:00",
        "role": "app",
        "query": "red wine",
        "collections": ["cellar"],
        "profile": "balanced",
        "mode": "fast",
        "rows": 1,
        "ms": 12.5,
        "stages": [],
        "degraded": [],
        "top_score": 0.5,
        "results": [],
        "trace": {"query_len": 8},
        **fields,
    }


def test_the_search_log(
    start: Callable[..., GatewayProcess], connection: psycopg.Connection
) -> None:
    searches = [search() for _ in range(20)]
    with start("--log-level", "info") as gateway:
        address = ("127.0.0.1", int(gateway.url.rpartition(":")[2]))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for datagram in (*searches, searches[0], {"role": 5}, search(ms="soon")):
                sender.sendto(json.dumps(datagram).encode(), address)
            sender.sendto(b"\xff", address)
            metrics = f"{gateway.url}/metrics"
            wait_until(lambda: 'result="malformed"} 3.0' in httpx.get(metrics).text, 20)
            last = search(rows=7)
            sender.sendto(json.dumps(last).encode(), address)
        gateway.stop()  # what has come is written all the same
        lines = [json.loads(line) for line in gateway.stderr.splitlines()[1:]]
    written = rows(connection, "SELECT search_id::text FROM pgblend_data.search_log")
    assert {row[0] for row in written} == {s["search_id"] for s in (*searches, last)}
    told = [line for line in lines if line["event"] == "search"]
    assert len(told) == 22
    assert told[-1]["result_count"] == 7
    assert told[-1]["query_len"] == 8
    assert "wine" not in json.dumps(lines)


@pytest.mark.slow
def test_a_real_search_in_the_log(
    start: Callable[..., GatewayProcess], connection: psycopg.Connection
) -> None:
    db = Database(connection)
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", [("one", "", "a red fox"), ("two", "", "a brown fox")])
    add_space(db)
    embed_waiting(db)
    db.rows("SELECT add_judged_set('mine', 'c')")
    db.rows("SELECT record_judgement('mine', 'fox', 'one', 1)")
    with start("--log-level", "info") as gateway:
        address = gateway.url.removeprefix("http://")
        db.rows("SELECT set_setting('log_address', to_jsonb(%s::text))", address)
        db.rows("SELECT set_setting('gateway_url', to_jsonb(%s::text))", gateway.url)
        db.rows("SELECT set_setting('timeouts_ms', '{\"lexical\": 60000, \"embed\": 60000}')")
        (found, _) = db.column(
            "SELECT details ->> 'search_id' FROM hybrid_search('red fox', options =>"
            ' \'{"mode": "fast", "mmr": {"lambda": 0.5}}\', query_embedding => %s)',
            vector_of("red fox"),
        )
        run = db.value("SELECT pgblend._start_run('mine', 'lexical', NULL, '{}', 10)")
        db.rows("SELECT evaluate_queries(%s)", run)
        db.rows("SELECT embed_text('{x}', timeout_ms => 60000)")  # a first answer takes long
        assert len(db.rows("SELECT * FROM lexical_search('cabernet')")) == 2
        metrics = f"{gateway.url}/metrics"
        wait_until(lambda: 'result="accepted"} 3.0' in httpx.get(metrics).text, 20)
        gateway.stop()
        lines = [json.loads(line) for line in gateway.stderr.splitlines()[1:]]
    told, evaluated, by_vectors = (line for line in lines if line["event"] == "search")
    ((purpose, trace, milliseconds),) = rows(
        connection,
        "SELECT purpose, trace, milliseconds FROM pgblend_data.search_log"
        f" WHERE search_id = '{found}'",
    )
    assert purpose == told["purpose"] == "search"
    assert {name: told[name] for name in trace} == trace
    assert trace == {
        "query_len": 7, "top_k": 10, "strategy": "hybrid", "strict": False, "mmr_lambda": 0.5,
        "bm25_status": "ready", "timeout_ms": 60000, "attempts": 1, "bm25_results": 2,
        "dense_results": 2, "fallback_used": False, "files_touched": 2, "dedup_ratio": 0,
        "time_to_first_result_ms": milliseconds,
    }  # fmt: skip
    assert evaluated["purpose"] == "evaluation"
    fallback = {"fallback_used": True, "bm25_status": "ready", "bm25_results": 0, "bm25_len": 0,
                "dense_results": 2, "dense_len": 2, "strategy": "sparse"}  # fmt: skip
    assert {name: by_vectors[name] for name in fallback} == fallback
    marked = "SELECT purpose, count(*) FROM pgblend_data.search_log GROUP BY 1 ORDER BY 1"
    assert rows(connection, marked) == [("evaluation", 1), ("search", 2)]
    assert rows(connection, "SELECT sum(searches) FROM blend.search_volume") == [(2,)]


def test_an_experiment_counts_what_the_gateway_logs(
    start: Callable[..., GatewayProcess], connection: psycopg.Connection
) -> None:
    """Two roles search by words against vectors; each opens the first row of vectors alone."""
    db = Database(connection)
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", [(str(n), "", f"a fox of number {n}") for n in range(12)])
    add_space(db)
    embed_waiting(db)
    db.rows("SELECT grant_collection('c', 'pgblend_reader')")
    for name, weights in (("words", '{"vector": 0}'), ("vectors", '{"lexical": 0}')):
        db.rows(f"SELECT set_profile('{name}', settings => '{{\"weights\": {weights}}}')")
    with start() as gateway:
        address = gateway.url.removeprefix("http://")
        db.rows("SELECT set_setting('log_address', to_jsonb(%s::text))", address)
        db.rows("SELECT start_experiment('words', 'vectors')")
        for role in ("pgblend_reader", "none"):
            db.rows(f"SET ROLE {role}")
            opened = (
                "SELECT click((h.details ->> 'search_id')::uuid, h.chunk_id)"
                " FROM hybrid_search('fox', profile => 'words', query_embedding => %s,"
                ' options => \'{"mode": "fast"}\') AS h'
                " WHERE h.details -> 'profiles' = '[\"vectors\"]' ORDER BY h.rank LIMIT 1"
            )
            assert len(db.rows(opened, vector_of("fox"))) == 1
        status = "SELECT searches, clicked, profile_votes, rival_votes FROM experiment_status()"
        wait_until(lambda: db.row(status)[0] == 2, 20)
        assert db.row(status) == (2, 2, 0, 2)
    outcome = db.value("SELECT stop_experiment('words')")
    assert (outcome["rival_votes"], outcome["verdict"]) == (2, None)


def test_a_unix_socket_and_a_token(
    start: Callable[..., GatewayProcess], connection: psycopg.Connection, tmp_path: Path
) -> None:
    path = tmp_path / "gateway.sock"
    with (
        start("--socket", str(path), token="the-token") as gateway,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender,
    ):
        for token in (None, "another", "the-token"):
            sender.sendto(json.dumps(search(token=token)).encode(), f"{path}.log")
        gateway.stop()
        assert not Path(f"{path}.log").exists()
    assert rows(connection, "SELECT count(*) FROM pgblend_data.search_log") == [(1,)]


def test_old_rows_go(start: Callable[..., GatewayProcess], connection: psycopg.Connection) -> None:
    connection.execute(
        "INSERT INTO pgblend_data.model_answer VALUES"
        " (sha256('old'), '{}', now() - interval '8 days'),"
        " (sha256('new'), '{}', now() - interval '6 days')"
    )
    connection.execute(
        "INSERT INTO pgblend_data.click SELECT gen_random_uuid(), 1, 'app', now() - i"
        " FROM unnest('{8 days,6 days}'::interval[]) AS i"
    )
    count = "SELECT count(*) FROM pgblend_data.model_answer AS a CROSS JOIN pgblend_data.click AS c"
    with start("--keep-days", "7"):
        wait_until(lambda: rows(connection, count) == [(1,)], 20)


def test_a_value_that_the_database_refuses_spoils_no_other(
    start: Callable[..., GatewayProcess], connection: psycopg.Connection
) -> None:
    refused = search(at="2026-11-21T10:00:00+00:00", rows=2**31)  # no integer of PostgreSQL's
    taken = search()
    with start() as gateway:
        address = ("127.0.0.1", int(gateway.url.rpartition(":")[2]))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for datagram in (refused, taken):
                sender.sendto(json.dumps(datagram).encode(), address)
        wait_until(lambda: 'result="dropped",' in httpx.get(f"{gateway.url}/metrics").text, 20)
        assert "red wine" not in gateway.stderr
    logged = rows(connection, "SELECT search_id::text FROM pgblend_data.search_log")
    assert logged == [(taken["search_id"],)]


@pytest.mark.slow
def test_without_the_database_all_else_goes_on(provider: ModelProvider) -> None:
    url = "postgresql://nobody:hush-hush@127.0.0.1:9/none"
    with GatewayProcess("--database-url", url, provider=provider) as gateway:
        assert expand(gateway).json()["cached"] is False
        assert expand(gateway).json()["cached"] is True
        wait_until(lambda: "database_failed" in gateway.stderr, 20)
        assert gateway.stop() == 0
        assert "hush-hush" not in gateway.stderr


@pytest.mark.slow
def test_no_secret_and_no_text_is_left_anywhere(
    start: Callable[..., GatewayProcess], provider: ModelProvider, connection: psycopg.Connection
) -> None:
    with start("--log-level", "info", "--attempts", "1") as gateway:
        answers = [expand(gateway).text]
        provider.behaviour = Behaviour(status=401, error_message=f"bad key {DEFAULT_TOKEN}")
        answers += [expand(gateway, query="another").text]
        provider.behaviour = Behaviour(status=500, error_message=f"{QUERY}: {DEFAULT_TOKEN}")
        answers += [expand(gateway, query="a third").text]
        shown = [httpx.get(f"{gateway.url}{path}").text for path in ("/metrics", "/health")]
        gateway.stop()
        shown += [gateway.stderr]
    assert not any(DEFAULT_TOKEN in text for text in (*answers, *shown))
    assert not any("cabernet" in text for text in shown)
    for table in ("model_call", "search_log"):
        kept = str(rows(connection, f"SELECT t::text FROM pgblend_data.{table} AS t"))
        assert DEFAULT_TOKEN not in kept
        assert "cabernet" not in kept
    (answer,) = rows(connection, "SELECT m::text FROM pgblend_data.model_answer AS m")
    assert DEFAULT_TOKEN not in str(answer)


def test_its_role_reads_no_logs(gateway_url: str) -> None:
    with psycopg.connect(gateway_url, autocommit=True) as connection:
        for column in ("query", "results", "role_name"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"SELECT {column} FROM pgblend_data.search_log")  # type: ignore[call-overload]


@pytest.mark.extended
def test_calls_are_counted_by_the_names_of_models_list(
    start: Callable[..., GatewayProcess],
    provider: ModelProvider,
    connection: psycopg.Connection,
    pgblend: Callable[..., Result],
    tmp_path: Path,
) -> None:
    """An answer to the command line, one to SQL, and what ingest asks for."""
    (tmp_path / "fox.txt").write_text("A fox.")
    Image.new("RGB", (600, 120), "white").save(tmp_path / "fox.png")
    provider.reply = lambda body: "A fox is there."
    db = Database(connection)
    db.rows("SELECT add_collection('c', settings => '{\"summaries\": true}')")
    models = dict.fromkeys(("answer", "summary", "vision"), ModelProvider.chat_model)
    with start() as gateway:
        for name, value in (
            *((f"{task}_model", model) for task, model in models.items()),
            ("embedding_model", ModelProvider.model),
            ("gateway_url", gateway.url),
            ("timeouts_ms", {"answer": 60000, "lexical": 60000}),
        ):
            db.rows("SELECT set_setting(%s, %s)", name, json.dumps(value))
        by_words = '{"weights": {"vector": 0}}'
        for done in (
            pgblend("ingest", str(tmp_path), "--collection", "c"),
            pgblend("ask", "fox", "--option", 'weights={"vector": 0}'),
        ):
            assert done.exit_code == 0, done.output
        db.rows("SELECT ask('fox', options => %s)", by_words)
        listed = json.loads(pgblend("models", "list", "--json").stdout)
    counted = dict(db.rows("SELECT task, calls FROM model_costs"))  # it stores them as it ends
    assert counted.keys() <= {one["task"] for one in listed["models"]}
    del counted["embedding"]
    assert counted == {"answer": 2, "summary": 2, "vision": 1}
