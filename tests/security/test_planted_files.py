"""What lies in a folder runs nothing where somebody ingests, syncs or serves from there."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from support.gateway_process import GatewayProcess
from support.waiting import wait_until

pytestmark = pytest.mark.extended

# Each is imported by a child, or by a library of one, before it reads a file.
MODULES = ("json", "signal", "tempfile", "numpy", "onnxruntime", "tokenizers", "sitecustomize")
PLANTED = "open({marker!r}, 'a').write(__name__ + '\\n')\nraise SystemExit(9)\n"
PROGRAM = "#!/bin/sh\necho program >>{marker}\nexit 9\n"
COMMAND = [str(Path(sys.executable).with_name("pgblend"))]


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A folder with documents and, beside them, modules and programs that leave a mark."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.txt").write_text("The fox jumps over the dog.")
    marker = str(tmp_path / "marker")
    for name in MODULES:
        (folder / f"{name}.py").write_text(PLANTED.format(marker=marker))
    for name in ("tesseract", "postgres", "pg_config", "initdb", "psql"):
        (folder / name).write_text(PROGRAM.format(marker=marker))
        (folder / name).chmod(0o755)
    return folder


def environment(**more: str) -> dict[str, str]:
    # An empty entry of PATH or PYTHONPATH is the folder one is in.
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return kept | {"PATH": f":.:{os.environ['PATH']}", "PGBLEND_SECRET_KEY": "do not tell"} | more


def run(folder: Path, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "--database-url", url, *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize(
    "arguments",
    [("ingest", ".", "--include", "*.txt"), ("sync", ".")],
    ids=lambda arguments: arguments[0],
)
def test_ingest_and_sync_import_nothing_of_the_folder(
    database_url: str, planted: Path, arguments: tuple[str, ...]
) -> None:
    done = run(planted, database_url, *arguments, "--collection", "c")
    assert not (planted.parent / "marker").exists(), (planted.parent / "marker").read_text()
    assert done.returncode == 0, done.stderr


@pytest.fixture
def gateway_there(planted: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GatewayProcess]:
    monkeypatch.chdir(planted)
    monkeypatch.setenv("PATH", environment()["PATH"])
    with GatewayProcess(environment={"OTHER_API_KEY": "do not tell"}) as gateway:
        yield gateway


def test_a_gateway_s_models_import_nothing_of_the_folder_and_get_no_keys(
    gateway_there: GatewayProcess, planted: Path
) -> None:
    call = {"model": "local/all-minilm-l6-v2", "input": "a fox"}
    answer = httpx.post(f"{gateway_there.url}/v1/embeddings", json=call, timeout=180)
    assert not (planted.parent / "marker").exists(), (planted.parent / "marker").read_text()
    assert answer.status_code == 200, answer.text
    wait_until(psutil.Process(gateway_there.pid).children)
    (child,) = psutil.Process(gateway_there.pid).children()
    assert child.cwd() == "/"
    assert "OTHER_API_KEY" not in child.environ()
