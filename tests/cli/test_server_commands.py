"""`pgblend up`, `down`, `status` and `psql` on a real private server of their own."""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import psutil
import pytest
from click.testing import Result
from psycopg.conninfo import conninfo_to_dict

from support.hidden_extras import environment_without
from support.model_provider import ModelProvider
from support.private_server import TIMEOUT_SECONDS, PrivateServer
from support.server import throwaway_folder
from support.waiting import wait_until

OTHER_PROCESSES = ("unshare", "--pid", "--fork", "--mount-proc")
PYTHON_PREFIX = "DO $$ import sys; plpy.warning(sys.prefix) $$ LANGUAGE plpython3u"
COUNT_ROWS = ("psql", "-At", "-c", "SELECT count(*) FROM kept")


@pytest.fixture
def make_server() -> Iterator[Callable[..., PrivateServer]]:
    """Make data folders that the server's account can reach (pytest's own are closed to it)."""
    made: list[PrivateServer] = []

    def make(name: str = "data") -> PrivateServer:
        parent = Path(tempfile.mkdtemp(prefix="pgblend-test-", dir=throwaway_folder()))
        parent.chmod(0o755)
        made.append(PrivateServer(parent / name))
        return made[-1]

    yield make
    for server in made:
        server.run("down")
        shutil.rmtree(server.directory.parent)


@pytest.fixture(scope="module")
def shared() -> Iterator[PrivateServer]:
    """One server for the tests that leave it as they found it."""
    parent = Path(tempfile.mkdtemp(prefix="pgblend-test-", dir=throwaway_folder()))
    parent.chmod(0o755)
    server = PrivateServer(parent / "data")
    yield server
    server.run("down")
    shutil.rmtree(parent)


@pytest.fixture(scope="module")
def kept(shared: PrivateServer) -> PrivateServer:
    """The shared server with a table of two rows."""
    shared.run("up", "--no-gateway")
    shared.run("psql", "-c", "CREATE TABLE kept AS SELECT generate_series(1, 2)")
    return shared


@pytest.fixture
def running(kept: PrivateServer) -> PrivateServer:
    """The same, up; without a gateway, which takes long."""
    if not kept.has("postmaster"):
        kept.run("up", "--no-gateway")
    return kept


@pytest.fixture
def with_gateway(running: PrivateServer) -> PrivateServer:
    """The same with its gateway."""
    if not running.has("gateway"):
        running.run("up")
    return running


def test_the_first_up_makes_everything_and_the_second_changes_nothing(
    shared: PrivateServer,
) -> None:
    first = shared.run("up")
    for said in ("making a database cluster", "PostgreSQL", "revision", "gateway started"):
        assert said in first.stderr
    before = shared.status()
    second = shared.run("up")
    assert shared.status() == before
    assert second.stdout == first.stdout
    assert "runs already" in second.stderr
    assert "started" not in second.stderr
    assert "making" not in second.stderr


@pytest.mark.slow
def test_status_as_json_and_as_text(
    with_gateway: PrivateServer, parse_valid: Callable[[Result, str], Any]
) -> None:
    report = parse_valid(with_gateway.run("status", "--json"), "status")  # type: ignore[arg-type]
    assert report["database"]["running"] is True
    assert report["database"]["data_directory"] == str(with_gateway.directory / "postgres")
    assert set(report["database"]["extensions"]) == {"vector", "pg_trgm", "plpython3u"}
    assert report["database"]["migration"]
    assert report["gateway"]["running"] is True
    assert psutil.pid_exists(report["gateway"]["pid"])
    text = with_gateway.run("status").stdout
    assert report["database"]["url"] in text
    assert report["gateway"]["url"] in text
    assert f"page: running {report['page']['url']} (pgblend open)" in text
    assert "worker: running" in text
    assert psutil.pid_exists(report["worker"]["pid"])


@pytest.mark.slow
def test_a_restart_of_the_gateway_reads_its_file_again(
    with_gateway: PrivateServer, model_provider: ModelProvider
) -> None:
    before = with_gateway.status()
    environment = with_gateway.directory / "gateway.env"
    environment.touch(0o600)
    environment.write_text(f"PGBLEND_MODEL_SERVER_MINE={model_provider.url}/v1\n")
    try:
        refused = with_gateway.run("models", "set", "answer", "mine/qwen", expect=1)
        assert "unknown model 'mine/qwen'" in refused.stderr
        assert "gateway started" in with_gateway.run("gateway", "restart").stderr
        after = with_gateway.status()
        assert after["gateway"]["pid"] != before["gateway"]["pid"]
        assert after["gateway"]["url"] == before["gateway"]["url"]  # other databases have it too
        assert after["database"]["url"] == before["database"]["url"]
        with_gateway.run("models", "set", "answer", "mine/qwen")
        assert model_provider.bodies[-1]["model"] == "qwen"
    finally:
        with_gateway.run("config", "reset", "answer_model")
        environment.unlink()


@pytest.mark.slow
def test_gateway_and_page_keep_their_ports(with_gateway: PrivateServer) -> None:
    before = with_gateway.status()
    with_gateway.run("down")
    with_gateway.run("up")
    after = with_gateway.status()
    for part in ("gateway", "page"):
        assert after[part]["url"] == before[part]["url"]
        assert after[part]["pid"] != before[part]["pid"]
    with_gateway.run("down")
    port = int(before["gateway"]["url"].rpartition(":")[2])
    with socket.create_server(("127.0.0.1", port)):
        said = with_gateway.run("up").stderr
        assert f"another program has port {port} now, which is the gateway's" in said
        assert with_gateway.status()["gateway"]["url"] != before["gateway"]["url"]
    # It is free again.
    with_gateway.run("gateway", "restart")
    assert with_gateway.status()["gateway"]["url"] == before["gateway"]["url"]


def test_there_is_nothing_to_restart(make_server: Callable[..., PrivateServer]) -> None:
    refused = make_server("nowhere").run("gateway", "restart", expect=1)
    assert "there is no running server in" in refused.stderr
    assert "pgblend up" in refused.stderr


@pytest.mark.slow
def test_up_without_the_extra_gateway(running: PrivateServer, tmp_path: Path) -> None:
    running.run("down")
    plain = environment_without(tmp_path, "gateway", "local")
    done = running.run("up", expect=4, **plain)
    assert done.stdout.startswith("postgresql://")
    assert "warning: this needs the extra 'gateway' of pgblend" in done.stderr
    assert "hint: install it: pip install 'pgblend[gateway]'" in done.stderr
    assert running.run(*COUNT_ROWS, **plain).stdout == "2\n"


@pytest.mark.slow
def test_two_at_once_start_one_server(running: PrivateServer) -> None:
    running.run("down")
    both = [running.start("up"), running.start("up")]
    for process in both:
        _, err = process.communicate(timeout=TIMEOUT_SECONDS)
        assert process.returncode == 0, err
    ready_file = str(running.directory / "gateway.json")
    gateways = [
        p for p in psutil.process_iter(["cmdline"]) if ready_file in (p.info["cmdline"] or ())
    ]
    assert len(gateways) == 1
    assert running.status()["database"]["running"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make namespaces")
@pytest.mark.slow
def test_a_server_whose_processes_are_not_seen_is_left_alone(running: PrivateServer) -> None:
    before = running.postmaster_pid
    for command in (("up", "--no-gateway"), ("down",)):
        refused = running.run(*command, expect=1, within=OTHER_PROCESSES)
        assert f"another server works in {running.directory}" in refused.stderr
        assert "hint: " in refused.stderr
    assert running.postmaster_pid == before
    assert running.run(*COUNT_ROWS).stdout == "2\n"


@pytest.mark.slow
def test_the_server_s_python_is_the_system_s(running: PrivateServer) -> None:
    """And not that of the environment that pgblend is installed in."""
    environment = running.directory.parent / "environment"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python3").symlink_to("/usr/bin/python3")
    (environment / "pyvenv.cfg").write_text("home = /usr/bin\n")
    running.run("down")
    running.run("up", "--no-gateway", PATH=f"{environment}/bin:{os.environ['PATH']}")
    said = running.run("psql", "-c", PYTHON_PREFIX).stderr
    assert said.startswith("WARNING:  ")
    assert str(environment) not in said


@pytest.mark.slow
def test_everything_killed_comes_back_with_its_data(with_gateway: PrivateServer) -> None:
    before = with_gateway.status()
    with_gateway.kill_everything()
    with_gateway.run("up")
    after = with_gateway.status()
    assert after["database"]["url"] == before["database"]["url"]
    assert after["gateway"]["running"]
    assert after["gateway"]["pid"] != before["gateway"]["pid"]
    assert with_gateway.run(*COUNT_ROWS).stdout == "2\n"


@pytest.mark.slow
def test_up_prints_the_url_and_nothing_else_and_it_works_as_it_is(running: PrivateServer) -> None:
    url = running.run("up", "--no-gateway").stdout
    assert url == f"{running.status()['database']['url']}\n"
    result = subprocess.run(
        ["psql", url.strip(), "-At", "-c", "SELECT current_user, current_database()"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == "pgblend|pgblend\n"


def test_nobody_gets_in_without_the_password(running: PrivateServer) -> None:
    port = running.status()["database"]["port"]
    result = subprocess.run(
        ["psql", f"host=127.0.0.1 port={port} user=pgblend dbname=pgblend passfile=/nowhere", "-w"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 2
    assert "no password supplied" in result.stderr
    assert (running.directory / "pgpass").stat().st_mode & 0o777 == 0o600
    assert (running.directory / "postgres").stat().st_mode & 0o777 == 0o700


def test_the_cluster_is_made_to_last(running: PrivateServer) -> None:
    settings = (
        "SELECT current_setting('data_checksums'), current_setting('fsync'), "
        "current_setting('password_encryption'), current_setting('listen_addresses'), "
        "current_setting('server_encoding'), datcollate, lower('ÄŽ') "
        "FROM pg_database WHERE datname = current_database()"
    )
    answer = running.run("psql", "-At", "-c", settings).stdout
    assert answer == "on|on|scram-sha-256|127.0.0.1|UTF8|C.UTF-8|äž\n"


def test_status_of_a_named_server_hides_its_password(database_url: str) -> None:
    server = PrivateServer(Path("/nowhere"))
    for url in (database_url, database_url + " password='hunter 2'"):
        process = server.start("--database-url", url, "status", "--json")
        out, _ = process.communicate(timeout=TIMEOUT_SECONDS)
        report = json.loads(out)
        assert report["database"]["data_directory"] is None
        assert "hunter" not in out
        if url == database_url:
            assert report["database"]["running"] is True
        password = conninfo_to_dict(database_url).get("password")
        assert password is None or str(password) not in out


@pytest.mark.slow
def test_a_pid_file_whose_number_is_another_process_now_does_not_block(
    running: PrivateServer,
) -> None:
    running.kill_everything()
    account = "postgres" if os.geteuid() == 0 else None
    with subprocess.Popen(["sleep", "600"], user=account) as other:
        try:
            pid_file = running.directory / "postgres" / "postmaster.pid"
            lines = pid_file.read_text().splitlines()
            pid_file.write_text("\n".join([str(other.pid), *lines[1:]]) + "\n")
            assert running.status()["database"]["running"] is False
            running.run("up", "--no-gateway")
            assert other.poll() is None
        finally:
            other.kill()
    assert running.run(*COUNT_ROWS).stdout == "2\n"


@pytest.mark.slow
def test_a_query_that_outlives_its_postmaster_does_not_block(running: PrivateServer) -> None:
    query = running.start("psql", "-c", "SELECT sum(i) FROM generate_series(1, 1e10) AS g(i)")
    os_pid = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT sum(i)%'"
    wait_until(lambda: running.run("psql", "-At", "-c", os_pid).stdout.strip(), 10)
    pid = running.run("psql", "-At", "-c", os_pid).stdout.strip()
    os.kill(running.postmaster_pid, signal.SIGKILL)
    assert psutil.pid_exists(int(pid))
    running.run("up", "--no-gateway")
    query.communicate(timeout=TIMEOUT_SECONDS)
    assert running.run(*COUNT_ROWS).stdout == "2\n"


@pytest.mark.slow
def test_a_taken_port_is_replaced_unless_it_was_asked_for(running: PrivateServer) -> None:
    before = running.status()["database"]["port"]
    running.run("down")
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", before))
        other.listen()
        refused = running.run("up", "--no-gateway", "--port", str(before), expect=1)
        assert f"port {before} is in use" in refused.stderr
        assert "hint: " in refused.stderr
        running.run("up", "--no-gateway")
    after = running.status()["database"]["port"]
    assert after != before
    assert running.run(*COUNT_ROWS).stdout == "2\n"
    moved = running.run("up", "--no-gateway", "--port", str(before), expect=1)
    assert f"runs already, on port {after}" in moved.stderr


@pytest.mark.slow
def test_searches_are_logged_by_the_gateway(with_gateway: PrivateServer) -> None:
    url = with_gateway.status()["gateway"]["url"]
    address = with_gateway.run("config", "get", "log_address").stdout
    assert f"http://{address}" == f"{url}\n"
    count = ("psql", "-Atc", "SELECT count(*) FROM pgblend_data.search_log WHERE query = 'a fox'")
    with_gateway.run("search", "a fox")
    wait_until(lambda: with_gateway.run(*count).stdout == "1\n", 30)


@pytest.mark.slow
def test_up_starts_the_page_and_open_says_where(with_gateway: PrivateServer) -> None:
    link = with_gateway.run("open", "--print").stdout.strip()
    url, _, opens = link.partition("/#open=")
    with httpx.Client(base_url=url, trust_env=False) as browser:
        assert browser.get("/").headers["content-type"].startswith("text/html")
        key = browser.post("/page/session", json={"link": opens}).json()["key"]
        found = browser.post("/page/overview", json={}, headers={"Authorization": f"Page {key}"})
        assert found.json()["role"] == "pgblend_admin"
    assert f"the page is on {url} already" in with_gateway.run("up").stderr
    with_gateway.run("down")
    assert "start it: pgblend up" in with_gateway.run("open", "--print", expect=1).stderr
    assert "the page is on http://127.0.0.1:" in with_gateway.run("up").stderr


@pytest.mark.slow
def test_the_log_level_of_the_gateway(with_gateway: PrivateServer) -> None:
    log = with_gateway.directory / "gateway.log"
    assert '"event": "search"' not in log.read_text()
    assert "gateway started" in with_gateway.run("up", "--log-level", "info").stderr
    with_gateway.run("search", "a fox")
    wait_until(lambda: '"event": "search"' in log.read_text(), 30)
    assert "gateway runs already" in with_gateway.run("up").stderr
    assert with_gateway.run("up", "--log-level", "loud", expect=2).stdout == ""
    before = log.read_text()
    assert "gateway started" in with_gateway.run("gateway", "restart").stderr
    with_gateway.run("models", "test", "embedding", "--timeout", "5")  # at once: it can serve
    with_gateway.run("search", "a hare")
    event = '"event": "search"'
    wait_until(lambda: log.read_text().count(event) > before.count(event), 30)
    assert log.read_text().startswith(before)


@pytest.mark.slow
def test_a_table_gets_vectors_without_a_command(with_gateway: PrivateServer) -> None:
    rows = "VALUES (1, 'The boiler', 'Cold radiators are bled first.'), (2, 'Lamps', 'LED only.')"
    with_gateway.run(
        *("psql", "-q", "-c", "CREATE TABLE notes (id int PRIMARY KEY, title text, body text)"),
        *("-c", f"INSERT INTO notes {rows}"),
        *("-c", "SELECT attach_table('notes', text_columns => '{body}', title_column => 'title')"),
    )
    count = ("psql", "-At", "-c", "SELECT sum(embedded), sum(waiting) FROM embedding_progress")
    wait_until(lambda: with_gateway.run(*count).stdout.strip() == "2|0", 60)
    with_gateway.run("psql", "-q", "-c", "UPDATE notes SET body = 'Halogen.' WHERE id = 2")
    wait_until(lambda: with_gateway.run(*count).stdout.strip() == "2|0", 60)
    assert "worker stopped" in with_gateway.run("down").stderr
    assert "worker: not running" in with_gateway.run("status", expect=3).stdout


@pytest.mark.slow
def test_a_lost_state_file_is_written_again(with_gateway: PrivateServer) -> None:
    before = with_gateway.status()
    state_file = with_gateway.directory / "server.json"
    content = state_file.read_text()
    state_file.unlink()
    with_gateway.run("up")
    assert with_gateway.status() == before
    assert (
        json.loads(content)["gateway_urls"][-1]
        in json.loads(state_file.read_text())["gateway_urls"]
    )


@pytest.mark.slow
def test_a_gateway_address_of_the_user_s_stays(running: PrivateServer) -> None:
    printed = running.run("psql", "-Atc", "SELECT blend.get_setting('gateway_url') #>> '{}'").stdout
    before = printed.strip()
    running.run("config", "set", "gateway_url", "http://127.0.0.1:1")
    try:
        said = running.run("up").stderr
        assert "gateway_url is set to http://127.0.0.1:1" in said
        assert running.status()["gateway"] == {
            "running": False,
            "url": "http://127.0.0.1:1",
            "pid": None,
            "version": None,
        }
    finally:
        running.run(
            "config", *(["set", "gateway_url", before] if before else ["reset", "gateway_url"])
        )


@pytest.mark.slow
def test_a_gateway_that_cannot_start_leaves_the_database_up(running: PrivateServer) -> None:
    running.run("down")
    keys = running.directory / "gateway.env"
    keys.write_text("OPENAI_API_KEY=secret\n")
    keys.chmod(0o644)
    try:
        result = running.run("up", expect=4)
        assert "warning: the gateway did not start" in result.stderr
        assert "hint: " in result.stderr
        assert result.stdout.startswith("postgresql://")
        assert running.status()["database"]["running"]
    finally:
        keys.unlink()


def test_psql_gets_every_argument(running: PrivateServer) -> None:
    answer = running.run(
        "psql", "-At", "-v", "name=o'brien", "-c", r"\echo :name", "-d", "postgres"
    )
    assert answer.stdout == "o'brien\n"
    other = running.run("psql", "-d", "postgres", "-Atc", "SELECT current_database()")
    assert other.stdout == "postgres\n"
    assert "psql is the PostgreSQL interactive terminal" in running.run("psql", "--help").stdout
    running.run("psql", "-v", "ON_ERROR_STOP=1", "-f", "/nowhere.sql", expect=1)


def test_psql_on_a_named_server(database_url: str) -> None:
    server = PrivateServer(Path("/nowhere"))
    answer = server.run("--database-url", database_url, "psql", "-Atc", "SELECT 40 + 2")
    assert answer.stdout == "42\n"


@pytest.mark.slow
def test_down_keeps_the_data_and_a_second_down_is_no_error(running: PrivateServer) -> None:
    assert "PostgreSQL stopped" in running.run("down").stderr
    assert "did not run" in running.run("down").stderr
    report = running.status()
    assert (report["database"]["running"], report["gateway"]["running"]) == (False, False)
    for command in (("psql", "-c", "SELECT 1"), ("collection", "list")):
        stopped = running.run(*command, expect=3)
        assert "pgblend up" in stopped.stderr
    running.run("up", "--no-gateway")
    assert running.run(*COUNT_ROWS).stdout == "2\n"


@pytest.mark.slow
def test_an_interrupted_first_start_is_made_good(make_server: Callable[..., PrivateServer]) -> None:
    server = make_server()
    first = server.start("up", "--no-gateway")
    unfinished = server.directory / "postgres.new" / "base"
    wait_until(unfinished.exists, 30)
    first.kill()
    first.communicate()
    for process in psutil.process_iter(["cmdline"]):
        if any(str(server.directory) in part for part in process.info["cmdline"] or ()):
            process.kill()
    server.run("up", "--no-gateway")
    assert server.status()["database"]["migration"]
    assert not (server.directory / "postgres.new").exists()


@pytest.mark.slow
def test_a_long_path_with_odd_characters(make_server: Callable[..., PrivateServer]) -> None:
    server = make_server("it's a 100% long näme & more " + "x" * 70)
    url = server.run("up", "--no-gateway").stdout.strip()
    assert quote(server.directory.name) in url
    socket_directory = Path(server.status()["database"]["socket_directory"])
    assert server.directory not in socket_directory.parents
    for host in ("127.0.0.1", str(socket_directory)):
        answer = server.run("psql", "-h", host, "-Atc", "SELECT 42").stdout
        assert answer == "42\n"
    server.run("down")
    socket_directory.rmdir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root hands over to another account")
def test_a_folder_that_the_server_cannot_reach(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    server = PrivateServer(closed / "data")
    result = server.run("up", expect=1)
    first, second = result.stderr.splitlines()
    assert first.startswith("pgblend: error: the account postgres cannot enter ")
    assert second.startswith("hint: choose another folder with --data-dir")
    assert not server.directory.exists()


@pytest.mark.slow
def test_nothing_was_ever_started(make_server: Callable[..., PrivateServer]) -> None:
    server = make_server()
    assert server.status()["database"]["url"] is None
    assert "there is no private server" in server.run("down").stderr
    assert not server.directory.exists()
    for command in (("psql",), ("collection", "list")):
        result = server.run(*command, expect=3)
        assert "pgblend up" in result.stderr


@pytest.mark.slow
def test_without_postgresql_nothing_is_made(make_server: Callable[..., PrivateServer]) -> None:
    server = make_server()
    refused = server.run("up", expect=1, PGBLEND_POSTGRESQL_BIN="/nowhere")
    assert "no installation of PostgreSQL 15 or newer that pgblend can use" in refused.stderr
    for part in ("pgvector 0.8", "PL/Python", "numpy", "apt-get install postgresql-17-pgvector"):
        assert part in refused.stderr
    assert not server.directory.exists()
