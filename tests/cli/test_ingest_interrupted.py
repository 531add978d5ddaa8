"""`pgblend ingest` as a process that is interrupted or killed in the middle."""

import json
import signal
import subprocess
import sys

import pytest

from support.waiting import wait_until

DOCUMENTS = 2000


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.jsonl"
    with path.open("w") as file:
        for number in range(DOCUMENTS):
            text = " ".join(f"word{number}x{place}" for place in range(60))
            file.write(json.dumps({"id": f"d{number}", "text": text}) + "\n")
    return path


def start(database_url, corpus):
    command = [sys.executable, "-m", "pgblend.cli.main", "--database-url", database_url]
    return subprocess.Popen(
        [*command, "ingest", str(corpus), "--collection", "c", "--no-embed", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def stored(connection):
    return connection.execute("SELECT count(*) FROM pgblend_data.document").fetchone()[0]


def documents_without_all_their_chunks(connection):
    return connection.execute("SELECT count(*) FROM blend.documents WHERE chunks = 0").fetchone()[0]


def finish(database_url, corpus, connection, before):
    output, _ = start(database_url, corpus).communicate(timeout=120)
    documents = json.loads(output)["documents"]
    assert (documents["unchanged"], documents["added"]) == (before, DOCUMENTS - before)
    assert stored(connection) == DOCUMENTS
    assert documents_without_all_their_chunks(connection) == 0


def wait_until_nobody_writes(connection):
    others = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    wait_until(lambda: connection.execute(others).fetchone() == (0,))


@pytest.mark.slow
@pytest.mark.fault("kill -9 of an ingest", "whole documents only; the next run finishes")
def test_killed_run_loses_nothing_and_the_next_one_finishes(database_url, connection, corpus):
    process = start(database_url, corpus)
    wait_until(lambda: stored(connection), process=process)
    process.kill()
    process.communicate()
    wait_until_nobody_writes(connection)
    before = stored(connection)
    assert 0 < before < DOCUMENTS
    assert documents_without_all_their_chunks(connection) == 0
    finish(database_url, corpus, connection, before)


@pytest.mark.slow
@pytest.mark.fault("Ctrl-C in an ingest", "a report; the next run finishes")
def test_ctrl_c_reports_what_was_done_and_the_next_run_finishes(database_url, connection, corpus):
    process = start(database_url, corpus)
    wait_until(lambda: stored(connection), process=process)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    report = json.loads(output)
    before = stored(connection)
    assert report["interrupted"]
    assert report["documents"]["added"] == before < DOCUMENTS
    finish(database_url, corpus, connection, before)


@pytest.mark.slow
@pytest.mark.fault(
    "the server ends an ingest's sessions", "one line of error; the next run finishes"
)
def test_terminated_connection_is_one_line(database_url, connection, corpus):
    process = start(database_url, corpus)
    wait_until(lambda: stored(connection), process=process)
    connection.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "Traceback" not in errors
    assert errors.count("pgblend: error:") == 1
    finish(database_url, corpus, connection, stored(connection))
