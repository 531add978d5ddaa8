"""`pgblend worker` with a real gateway whose model answers well, refuses texts, or is away."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from pgblend.cli.base.database import connect
from pgblend.cli.base.token_count import count_tokens, piece_tokens
from pgblend.cli.embed.queue import Queue
from support.model_provider import DEFAULT_DIMENSIONS, Behaviour
from support.waiting import wait_until


@pytest.fixture
def library(gateway_connection, model_provider):
    """Return a function that puts texts into the collection `c`."""
    gateway_connection.execute("SELECT add_collection('c')")
    gateway_connection.execute(
        "SELECT create_embedding_space('s', %s, %s)", [model_provider.model, DEFAULT_DIMENSIONS]
    )
    gateway_connection.execute("SELECT set_setting('embedding_retry_seconds', '0.2')")

    def add(*texts):
        with gateway_connection.transaction():
            for text in texts:
                gateway_connection.execute("SELECT ingest_document('c', %s, %s)", [text, text])

    return add


def value(connection, query):
    return connection.execute(query).fetchone()[0]


def vectors(connection):
    return value(connection, "SELECT count(*) FROM pgblend_data.embedding_s")


@pytest.fixture
def work(pgblend, parse_valid):
    def run(*options):
        result = pgblend("worker", *options, "--json")
        return result.exit_code, parse_valid(result, "worker"), result.stderr

    return run


def test_once_embeds_what_waits(work, gateway_connection, library, model_provider):
    library(*(f"walrus {number}" for number in range(25)))
    code, report, _ = work("--once", "--batch-size", "10")
    assert (code, report["stored"], report["failed"], report["dead"]) == (0, 25, 0, 0)
    assert vectors(gateway_connection) == 25
    assert max(len(body["input"]) for body in model_provider.bodies) == 10
    assert work("--once")[1]["stored"] == 0


def test_the_first_space_is_made(work, gateway_connection):
    gateway_connection.execute("SELECT add_collection('c')")
    gateway_connection.execute("SELECT ingest_document('c', 'k', 'a walrus')")
    assert work("--once")[1]["stored"] == 1


@pytest.mark.extended
def test_a_first_space_that_another_process_makes_is_taken(
    gateway_connection, database_url, model_provider
):
    gateway_connection.execute("SELECT add_collection('c')")
    gateway_connection.execute("SELECT ingest_document('c', 'k', 'a walrus')")
    made = [model_provider.model, DEFAULT_DIMENSIONS]
    with connect(database_url) as other, other.transaction():
        other.execute(
            "SELECT blend.create_embedding_space('default', %s, %s, probe => false)", made
        )
        worker = Process(database_url, "--drain")
        waits = (
            "SELECT count(*) FROM pg_locks WHERE NOT granted"
            " AND relation = 'pgblend_data.embedding_space'::regclass"
        )
        # Each of the two sessions that a worker has may be there first, or both.
        wait_until(lambda: value(gateway_connection, waits) >= 1)
    output, errors = worker.process.communicate(timeout=60)
    assert (worker.process.returncode, json.loads(output)["stored"]) == (0, 1), errors


@pytest.mark.fault("a text that the model refuses", "set aside with its reason, the others stored")
def test_one_bad_text_does_not_sink_the_good_ones(
    pgblend, parse_valid, work, gateway_connection, library, model_provider
):
    library(*(f"walrus {number}" for number in range(40)), "poison here", "and poison there")
    model_provider.behaviour = Behaviour(poison="poison", error_message="the model chokes")
    gateway_connection.execute("SELECT set_setting('embedding_max_attempts', '2')")
    code, report, stderr = work("--drain")
    assert (code, report["stored"], report["failed"], report["dead"]) == (4, 40, 4, 2)
    assert vectors(gateway_connection) == 40
    assert "gave up 1 chunks of s" in stderr or "gave up 2 chunks of s" in stderr
    rows = parse_valid(pgblend("worker", "dead", "--json"), "worker-dead")["dead_letters"]
    assert {row["source_key"] for row in rows} == {"poison here", "and poison there"}
    assert all("the model chokes" in row["reason"] for row in rows)
    model_provider.reset()
    assert pgblend("worker", "retry").stderr == "queued 2 chunks\n"
    assert work("--drain")[:1] == (0,)
    assert vectors(gateway_connection) == 42


def test_a_model_that_is_away_costs_no_attempts(work, gateway_connection, library, model_provider):
    library("walrus", "narwhal")
    for behaviour in (Behaviour(status=500), Behaviour(status=401), Behaviour(status=429)):
        model_provider.behaviour = behaviour
        code, report, stderr = work("--once")
        assert (code, report["stored"], report["failed"]) == (5, 0, 0)
        assert model_provider.model in stderr
    assert value(gateway_connection, "SELECT sum(attempts) FROM pgblend_data.embedding_queue") == 0
    assert value(gateway_connection, "SELECT count(worker) FROM pgblend_data.embedding_queue") == 0


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (Behaviour(poison="poison", error_message="the model chokes"), "the model chokes"),
        (Behaviour(directionless="poison"), "the zero vector, which has no direction"),
    ],
)
def test_ingest_sets_bad_texts_aside_too(
    pgblend, gateway_connection, library, model_provider, tmp_path, behaviour, reason
):
    for name in ("good", "poison"):
        (tmp_path / f"{name}.txt").write_text(f"a {name} walrus")
    model_provider.behaviour = behaviour
    result = pgblend("ingest", str(tmp_path), "--collection", "c", "--json")
    report = json.loads(result.stdout)
    assert (result.exit_code, report["embedded"], report["waiting"]) == (4, 1, 1)
    told = report["degraded"][0]["reason"]
    assert "refused 1 of the chunks, one of 'poison.txt': " in told
    assert reason in told
    assert model_provider.model in told
    assert vectors(gateway_connection) == 1


def test_a_model_of_zero_vectors_is_away(work, gateway_connection, library, model_provider):
    """Also where gateway_url is a server that is not ours, and lets them pass."""
    library("walrus")
    for url in (None, model_provider.url):
        if url is not None:
            gateway_connection.execute(
                "SELECT set_setting('gateway_url', to_jsonb(%s::text))", [url]
            )
        model_provider.behaviour = Behaviour(directionless="r")  # also in a harmless text
        code, report, stderr = work("--once")
        assert (code, report["stored"], report["failed"]) == (5, 0, 0)
        assert "the zero vector" in stderr
        assert model_provider.model in stderr
    assert vectors(gateway_connection) == 0


def test_status_lists_the_spaces(pgblend, parse_valid, library):
    library("walrus")
    rows = parse_valid(pgblend("worker", "status", "--json"), "worker-status")["spaces"]
    assert [(row["space"], row["embedded"], row["waiting"]) for row in rows] == [("s", 0, 1)]
    assert "s" in pgblend("worker", "status").stdout


def test_once_and_drain_exclude_each_other(pgblend):
    assert pgblend("worker", "--once", "--drain").exit_code == 2


def test_without_a_gateway(pgblend, connection):
    result = pgblend("worker", "--once")
    assert result.exit_code == 5
    assert "no model gateway is set" in result.stderr


def test_doctor_tells_of_dead_letters_and_of_a_queue_that_stands_still(
    pgblend, gateway_connection, library
):
    library("walrus", "narwhal")
    gateway_connection.execute(
        "UPDATE pgblend_data.embedding_queue SET queued_at = now() - interval '1 hour'"
    )
    gateway_connection.execute(
        "UPDATE pgblend_data.embedding_queue SET dead_at = now(), last_error = 'too strange'"
        " WHERE chunk_id = (SELECT min(chunk_id) FROM pgblend_data.embedding_queue)"
    )
    checks = json.loads(pgblend("doctor", "--json").stdout)["checks"]
    found = [check["found"] for check in checks if check["name"] == "embedding queue s"]
    assert found[0] == "1 chunks were given up, the last because of: too strange"
    assert found[1].startswith("1 chunks wait, the oldest since")


class Process:
    """`pgblend worker` as a process."""

    def __init__(self, url, *options):
        command = [sys.executable, "-m", "pgblend.cli.main", "--database-url", url, "worker"]
        self.process = subprocess.Popen(
            [*command, "--json", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ,
        )  # fmt: skip

    def finish(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        output, errors = self.process.communicate(timeout=60)
        return self.process.returncode, json.loads(output), errors


def test_a_worker_embeds_what_comes_and_ends_when_asked(
    gateway_connection, database_url, library, model_provider
):
    worker = Process(database_url, "--concurrency", "1")
    waiting = "SELECT count(*) FROM pgblend_data.embedding_worker WHERE waits"
    wait_until(lambda: value(gateway_connection, waiting) == 1)
    library("walrus", "narwhal")  # wakes it
    wait_until(lambda: vectors(gateway_connection) == 2)
    model_provider.behaviour = Behaviour(delay_seconds=1.0)
    library("belated walrus")
    wait_until(lambda: "belated" in str(model_provider.bodies[-1:]))
    code, report, errors = worker.finish()  # while the model thinks
    assert (code, report["stored"]) == (0, 3), errors
    assert vectors(gateway_connection) == 3
    assert value(gateway_connection, "SELECT pgblend._live_workers()") == []


@pytest.mark.fault("kill -9 of workers at any point", "every vector once")
@pytest.mark.slow
def test_killed_at_any_point_nothing_is_lost_and_nothing_done_twice(
    gateway_connection, database_url, library, model_provider
):
    count = 400
    library(*(f"walrus {number}" for number in range(count)))
    gateway_connection.execute("CREATE TABLE public.stored_log (chunk_id bigint)")
    gateway_connection.execute(
        "CREATE FUNCTION log_stored() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " INSERT INTO public.stored_log VALUES (NEW.chunk_id); RETURN NULL; END $$;"
        "CREATE TRIGGER log_stored AFTER INSERT OR UPDATE ON pgblend_data.embedding_s"
        " FOR EACH ROW EXECUTE FUNCTION log_stored()"
    )
    model_provider.behaviour = Behaviour(delay_seconds=0.02)
    kills = 0
    while vectors(gateway_connection) < count:
        before = vectors(gateway_connection)
        workers = [Process(database_url, "--batch-size", "5") for _ in range(2)]
        wait_until(lambda: vectors(gateway_connection) > before)  # noqa: B023
        time.sleep(kills % 7 * 0.01)
        for worker in workers:
            worker.process.kill()
            worker.process.wait()
            kills += 1
        assert kills < 200
    Process(database_url, "--drain").process.wait(60)
    assert kills > 4
    assert vectors(gateway_connection) == count
    assert value(gateway_connection, "SELECT count(*) FROM pgblend_data.embedding_queue") == 0
    repeated = "SELECT count(*) - count(DISTINCT chunk_id) FROM public.stored_log"
    assert value(gateway_connection, repeated) == 0
    assert value(gateway_connection, "SELECT count(*) FROM embedding_dead_letters") == 0


def test_the_tokens_of_an_attached_table_are_counted(work, gateway_connection, library):
    text = "Straßenbahnhaltestelle; naïve tokenization of 漢字. " * 60
    gateway_connection.execute("CREATE TABLE public.t (id integer PRIMARY KEY, body text)")
    gateway_connection.execute("INSERT INTO public.t VALUES (1, %s), (2, 'a walrus')", [text])
    gateway_connection.execute("SELECT attach_table('public.t', '{body}')")
    read = "SELECT id, content, own_start, token_count, piece_tokens FROM pgblend_data.chunk"
    estimated = gateway_connection.execute(f"{read} ORDER BY id").fetchall()
    assert work("--once")[1]["stored"] == len(estimated) > 3
    counted = gateway_connection.execute(f"{read} ORDER BY id").fetchall()
    assert counted == [
        (number, content, own_start, count_tokens(content), piece_tokens(content, own_start))
        for number, content, own_start, _, _ in estimated
    ]
    assert [row[3] for row in counted] != [row[3] for row in estimated]
    # Once is enough, also where another space needs vectors.
    versions = "SELECT array_agg(xmin::text ORDER BY id) FROM pgblend_data.chunk"
    before = value(gateway_connection, versions)
    gateway_connection.execute("SELECT pgblend._queue_again(array_agg(id)) FROM pgblend_data.chunk")
    assert work("--once")[1]["stored"] == len(estimated)
    assert value(gateway_connection, versions) == before


def test_counting_waits_for_nobody(gateway_connection, library, database_url):
    library("walrus", "narwhal")
    chunks = gateway_connection.execute("SELECT id FROM pgblend_data.chunk ORDER BY id").fetchall()
    with connect(database_url) as other, other.transaction():
        other.execute("DELETE FROM pgblend_data.document WHERE source_key = 'walrus'")
        gateway_connection.execute("SET lock_timeout = '1s'")
        with Queue(gateway_connection) as queue:
            assert queue.count_tokens([row[0] for row in chunks]) == 1
    assert value(gateway_connection, "SELECT sum(token_count) FROM chunks") == count_tokens(
        "narwhal"
    )


def test_relevance_is_fitted_anew(work, gateway_connection, library):
    query = "SELECT passages FROM pgblend_data.calibration"
    library(*(f"walrus {number}" for number in range(25)))
    told = work("--once", "--concurrency", "1")[2]
    assert "c: relevance is p_value, a curve needs 30 queries" in told
    assert value(gateway_connection, query) == 25
    library("one more")
    assert "relevance" not in work("--once", "--concurrency", "1")[2]
    library(*(f"seal {number}" for number in range(10)))
    assert "c: relevance is p_value" in work("--once", "--concurrency", "1")[2]
    assert value(gateway_connection, query) == 36


def test_relevance_that_cannot_be_fitted_does_not_end_the_worker(work, gateway_connection, library):
    library(*(f"walrus {number}" for number in range(25)))
    gateway_connection.execute(
        "ALTER TABLE pgblend_data.calibration ADD CONSTRAINT nothing_fits CHECK (passages < 0)"
    )
    code, _, told = work("--once", "--concurrency", "1")
    assert "relevance could not be fitted anew: " in told
    assert "nothing_fits" in told
    assert code == 0
    library("seal")
    assert work("--once", "--concurrency", "1")[1]["stored"] == 1


def test_partitions_that_came_with_rows_are_filled_and_told(work, gateway_connection, library):
    gateway_connection.execute(
        "CREATE TABLE public.t (id int, y int, body text, PRIMARY KEY (id, y))"
        " PARTITION BY LIST (y)"
    )
    gateway_connection.execute("SELECT attach_table('t', '{body}')")
    gateway_connection.execute("CREATE TABLE public.t2 (LIKE public.t INCLUDING ALL)")
    gateway_connection.execute("INSERT INTO t2 VALUES (2, 2, 'merlin')")
    gateway_connection.execute("ALTER TABLE t ATTACH PARTITION t2 FOR VALUES IN (2)")
    code, report, said = work("--drain")
    assert (code, report["stored"]) == (0, 1)
    assert "filled the attached table t: looked at 1 rows" in said
    assert value(gateway_connection, "SELECT source_key FROM lexical_search('merlin')") == "[2, 2]"
    gateway_connection.execute("DROP TABLE t2")
    work("--drain")
    assert value(gateway_connection, "SELECT count(*) FROM lexical_search('merlin')") == 0
