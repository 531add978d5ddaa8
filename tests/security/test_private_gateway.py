"""The gateway of `pgblend up`: other accounts of the machine may not spend the owner's keys."""

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from pgblend.cli.operate import account
from support.private_server import PrivateServer
from support.server import throwaway_folder

pytestmark = pytest.mark.extended

CALL = {"model": "local/all-minilm-l6-v2", "input": "a fox"}
EMBEDDED = "SELECT cardinality(blend.embed_text(ARRAY[pg_catalog.gen_random_uuid()::text]))"


@pytest.fixture(scope="module")
def up() -> Iterator[PrivateServer]:
    parent = Path(tempfile.mkdtemp(prefix="pgblend-test-", dir=throwaway_folder()))
    parent.chmod(0o755)
    server = PrivateServer(parent / "data")
    try:
        server.run("up")
        yield server
    finally:
        server.run("down")
        shutil.rmtree(parent)


def ask(server: PrivateServer, token: str | None = None) -> httpx.Response:
    url = json.loads((server.directory / "gateway.json").read_text())["url"]
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.post(f"{url}/v1/embeddings", json=CALL, headers=headers, timeout=60)


def token_of(server: PrivateServer) -> str:
    return account.token_file(server.directory).read_text().strip()


def test_nobody_calls_it_without_the_token(up: PrivateServer) -> None:
    for wrong in (None, "guess"):
        assert ask(up, wrong).status_code == 401
    assert ask(up, token_of(up)).status_code == 200


def test_its_token_is_the_server_account_s_and_in_no_command_line(up: PrivateServer) -> None:
    status = account.token_file(up.directory).stat()
    assert stat.S_IMODE(status.st_mode) == 0o600
    assert status.st_uid == (up.directory / "postgres").stat().st_uid
    gateway = psutil.Process(up.status()["gateway"]["pid"])
    assert not any(token_of(up) in part for part in gateway.cmdline())


def test_the_database_and_the_commands_show_it(up: PrivateServer, tmp_path: Path) -> None:
    (tmp_path / "fox.txt").write_text("The quick brown fox.")
    (tmp_path / "fox.txt").chmod(0o644)
    report = json.loads(up.run("ingest", str(tmp_path), "-c", "c", "--json").stdout)
    assert (report["embedded"], report["degraded"]) == (1, [])
    wrong = {"PGBLEND_GATEWAY_TOKEN": "wrong"}  # then the database asks
    for options, more in (((), {}), (("--client-models",), {}), (("--client-models",), wrong)):
        asked = up.run("query", "a sly animal", "--json", *options, **more)
        found = json.loads(asked.stdout)
        assert [each["source_key"] for each in found["results"]] == ["fox.txt"]
        assert found["results"][0]["arms"].keys() == {"vector"}
        assert ("the database asks the models" in asked.stderr) == bool(more)


@pytest.mark.slow
def test_each_start_has_a_token_of_its_own(up: PrivateServer) -> None:
    """Who took the port of a gateway that had ended has seen a token that is worth nothing."""
    before = token_of(up)
    up.run("gateway", "restart")
    assert token_of(up) != before
    assert (ask(up, before).status_code, ask(up, token_of(up)).status_code) == (401, 200)


@pytest.mark.slow
def test_a_token_of_the_environment_is_taken_by_all(up: PrivateServer) -> None:
    up.run("up", PGBLEND_GATEWAY_TOKEN="chosen")
    assert token_of(up) == "chosen"
    assert ask(up, "chosen").status_code == 200
    up.run("models", "test", "embedding", PGBLEND_GATEWAY_TOKEN="chosen")
    assert up.run("psql", "-Atc", EMBEDDED).stdout == "1\n"
    up.run("gateway", "restart")
    assert token_of(up) != "chosen"
    up.run("models", "test", "embedding")
    assert up.run("psql", "-Atc", EMBEDDED).stdout == "1\n"


def test_the_token_goes_to_no_other_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "postgres").mkdir()
    account.token_file(tmp_path).write_text("t0ken\n")
    announced = {"url": "http://127.0.0.1:5", "pid": 1, "version": "1"}
    account.ready_file(tmp_path).write_text(json.dumps(announced))
    monkeypatch.delenv("PGBLEND_GATEWAY_TOKEN", raising=False)
    monkeypatch.setenv("PGBLEND_DATA_DIR", str(tmp_path))
    assert account.token_for("http://127.0.0.1:5") == "t0ken"
    assert account.token_for("http://127.0.0.1:6") is None
    assert account.token_for(None) is None
    if os.geteuid() != 0:
        account.token_file(tmp_path).chmod(0)
        assert account.token_for("http://127.0.0.1:5") is None
