"""Searches of the command line run in the process that `pgblend up` keeps ready for them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from pgblend.cli.base.prefork import interpreter, socket_path
from support.private_server import PrivateServer
from support.server import throwaway_folder
from support.waiting import SOON_SECONDS, wait_until

# Who sets it has a Python that others have not: its commands run where they are called.
ALONE = {"PYTHONNOUSERSITE": "1"}
STORED = "SELECT ingest_document('c', i::text, 'a red fox ' || i) FROM generate_series(1, 3) AS i"
CALLS = [
    ("query", "fox"),
    ("query", "fox", "--json", "--fast"),
    ("search", "red", "-n", "2", "--csv"),
    ("search", "nothing of the kind"),
    ("search", "fox", "-c", "none"),
    ("query", "fox", "-n", "0"),
    ("query", ""),
    ("facets", "fox", "--by", "$collection"),
    ("context", "fox"),
    ("search", "--help"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[PrivateServer]:
    parent = Path(tempfile.mkdtemp(prefix="pgblend-test-", dir=throwaway_folder()))
    parent.chmod(0o755)
    made = PrivateServer(parent / "data")
    made.run("up", "--no-gateway")
    made.run("psql", "-q", "-c", "SELECT add_collection('c')", "-c", STORED)
    yield made
    made.run("down")
    shutil.rmtree(parent)


@pytest.fixture
def ready(server: PrivateServer) -> PrivateServer:
    """The server with a process that waits for a command."""
    if not waiting(server):
        server.run("up", "--no-gateway")
    wait_until(lambda: waiting(server), SOON_SECONDS)
    return server


def waiting(server: PrivateServer) -> int | None:
    """Return the process that waits for a command with a session of its own."""
    parent = json.loads((server.directory / "commands.json").read_text())["pid"]
    try:
        for child in psutil.Process(parent).children():
            if any(connection.raddr for connection in child.net_connections("tcp")):
                return child.pid
    except psutil.NoSuchProcess:
        pass
    return None


def outcome(server: PrivateServer, call: tuple[str, ...], **env: str) -> tuple[int, str, str]:
    process = server.start(*call, **env)
    out, err = process.communicate(timeout=SOON_SECONDS)
    return process.returncode, out, err


def test_a_command_says_what_it_says_alone(ready: PrivateServer) -> None:
    for call in CALLS:
        wait_until(lambda: waiting(ready), SOON_SECONDS)
        before = waiting(ready)
        alone = outcome(ready, call, **ALONE)
        assert waiting(ready) == before
        assert outcome(ready, call) == alone, call
        wait_until(lambda: waiting(ready) not in (None, before), SOON_SECONDS)  # noqa: B023


@pytest.mark.extended
def test_the_caller_s_folder_and_variables_are_the_command_s(
    ready: PrivateServer, tmp_path: Path
) -> None:
    (tmp_path / "chat.json").write_text("[]")
    before = waiting(ready)
    out = subprocess.run(
        [sys.executable, "-m", "pgblend.cli.main", "query", "fox", "--history", "chat.json"],
        env={**os.environ, "PGBLEND_DATA_DIR": str(ready.directory), "COLUMNS": "60"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert max(map(len, out.splitlines())) <= 60
    wait_until(lambda: waiting(ready) not in (None, before), SOON_SECONDS)


@pytest.mark.extended
@pytest.mark.parametrize(
    ("sent", "expected"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_a_command_ends_with_its_caller(ready: PrivateServer, sent: int, expected: int) -> None:
    process = waiting(ready)
    assert process is not None
    url = ready.run("up", "--no-gateway").stdout.strip()
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE pgblend_data.chunk")
        search = ready.start("search", "fox")
        wait_until(lambda: waits_for_a_lock(url), SOON_SECONDS)
        search.send_signal(sent)
        _, err = search.communicate(timeout=SOON_SECONDS)
        assert search.returncode == expected
        assert ("interrupted" in err) == (sent == signal.SIGINT)
        wait_until(lambda: not psutil.pid_exists(process), SOON_SECONDS)


def waits_for_a_lock(url: str) -> bool:
    with psycopg.connect(url) as watch:
        waits = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        return watch.execute(waits).rowcount > 0


@pytest.mark.extended
def test_a_session_or_a_process_that_ended_stops_nobody(ready: PrivateServer) -> None:
    others = "pid <> pg_backend_pid() AND backend_type = 'client backend'"
    end = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}"
    ready.run("psql", "-q", "-c", end)
    assert outcome(ready, ("search", "fox"))[0] == 0
    running = json.loads((ready.directory / "commands.json").read_text())["pid"]
    for process in [*psutil.Process(running).children(), psutil.Process(running)]:
        process.kill()
    wait_until(lambda: waiting(ready) is None, SOON_SECONDS)
    assert outcome(ready, ("search", "fox"))[0] == 0
    assert "commands: not running" in ready.run("status").stdout


@pytest.mark.extended
def test_a_module_that_changed_ends_the_process(ready: PrivateServer) -> None:
    module = Path(sys.modules["pgblend"].__path__[0]) / "cli" / "commands" / "query.py"
    before = module.stat()
    alone = outcome(ready, ("search", "fox"), **ALONE)
    os.utime(module, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    try:
        assert outcome(ready, ("search", "fox")) == alone
        wait_until(lambda: waiting(ready) is None, SOON_SECONDS)
    finally:
        os.utime(module, ns=(before.st_atime_ns, before.st_mtime_ns))


LISTENS = """
import socket, sys
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(sys.argv[1])
    listener.listen()
    print("ready", flush=True)
    peer, _ = listener.accept()
    try:
        peer.sendall(sys.argv[2].encode() + bytes([10]))
        print(peer.recv(1000), flush=True)
    except OSError:
        print(b"", flush=True)
"""
CALLS_IT = """
import socket, sys
with socket.socket(socket.AF_UNIX) as peer:
    peer.connect(sys.argv[1])
    print(peer.recv(1000), flush=True)
"""


@pytest.mark.extended
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another account")
def test_another_account_is_given_nothing(ready: PrivateServer) -> None:
    path = socket_path(ready.directory)
    assert path is not None
    assert path.stat().st_mode & 0o777 == 0o600
    as_nobody = ("setpriv", "--reuid=nobody", "--clear-groups", "/usr/bin/python3", "-c")
    path.chmod(0o666)
    try:
        called = subprocess.run([*as_nobody, CALLS_IT, path], capture_output=True, text=True)
        assert called.stdout == "b''\n", called.stderr
    finally:
        path.chmod(0o600)
    assert outcome(ready, ("search", "fox"))[0] == 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        shutil.copy(ready.directory / "server.json", folder)
        shutil.copy(ready.directory / "pgpass", folder)
        greeting = json.dumps({"pid": os.getpid(), "interpreter": interpreter()})
        command = [*as_nobody, LISTENS, folder / "commands.sock", greeting]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as stranger:
            assert stranger.stdout is not None
            assert stranger.stdout.readline() == "ready\n"
            assert outcome(PrivateServer(folder), ("search", "fox"))[0] == 0
            assert stranger.stdout.readline() == "b''\n"
