"""`pgblend eval run` as a process that is killed in the middle."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from click.testing import Result

from support.waiting import wait_until

QUERIES = 400
WORDS = ["sea", "ship", "wind", "wine", "red", "white", "cellar", "cloud", "rain", "sun"]


@pytest.fixture
def judged(pgblend: Callable[..., Result], tmp_path: Path) -> None:
    """Ten documents and many queries of two words."""
    texts = {f"d{n}": f"{word} and {WORDS[n - 3]}" for n, word in enumerate(WORDS)}
    queries = {f"q{n}": f"{WORDS[n % 10]} {WORDS[n // 10 % 10]}" for n in range(QUERIES)}
    for name, records in (("corpus", texts), ("queries", queries)):
        lines = [json.dumps({"_id": key, "text": text}) + "\n" for key, text in records.items()]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
    (tmp_path / "qrels.tsv").write_text("".join(f"q{n}\td{n % 10}\t1\n" for n in range(QUERIES)))
    assert pgblend("eval", "import", str(tmp_path), "--set", "mine").exit_code == 0


def start(database_url: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pgblend.cli.main", "--database-url", database_url]
    return subprocess.Popen(
        [*command, "eval", "run", "--set", "mine", "--arm", "lexical", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def searched(connection: psycopg.Connection) -> int:
    row = connection.execute("SELECT count(*) FROM pgblend_data.evaluation_result").fetchone()
    return row[0] if row else 0


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(
    judged: None, database_url: str, connection: psycopg.Connection
) -> None:
    process = start(database_url)
    wait_until(lambda: searched(connection) > 0, process=process)
    process.kill()
    process.communicate()
    others = (
        "SELECT FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    wait_until(lambda: not connection.execute(others).rowcount)
    before = connection.execute(
        "SELECT query_id, source_keys, latency_ms FROM pgblend_data.evaluation_result"
        " ORDER BY query_id"
    ).fetchall()
    assert 0 < len(before) < QUERIES
    (unfinished,) = connection.execute("SELECT run_id, state FROM blend.evaluation_runs")
    assert unfinished[1] == "running"
    found = [json.loads(start(database_url).communicate(timeout=120)[0]) for _ in range(2)]
    assert [run["run_id"] for run in found] == [unfinished[0], unfinished[0] + 1]
    assert [run["queries"] for run in found] == [QUERIES] * 2
    kept = connection.execute(
        "SELECT query_id, source_keys, latency_ms FROM pgblend_data.evaluation_result"
        " WHERE run_id = %s ORDER BY query_id LIMIT %s",
        [unfinished[0], len(before)],
    ).fetchall()
    assert kept == before  # with their times: they were not searched again
    different = connection.execute(
        "SELECT FROM pgblend_data.evaluation_result AS a"
        " INNER JOIN pgblend_data.evaluation_result AS b ON b.query_id = a.query_id"
        " WHERE a.run_id < b.run_id AND (a.source_keys, a.scores) IS DISTINCT FROM"
        " (b.source_keys, b.scores)"
    )
    assert different.rowcount == 0
