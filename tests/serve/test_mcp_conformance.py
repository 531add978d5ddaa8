"""npm's conformance suite of the protocol, against /mcp; it is fetched from npm, with its node."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.token_proxy import TokenProxy

SUITE = "@modelcontextprotocol/conformance@0.1.16"
NODE = "node@22"  # the suite imports what older ones lack
EXPECTED = Path(__file__).with_name("mcp_conformance.yaml")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of npm's programs, with the suite and its node."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("npm")
    command = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), NODE, SUITE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        pytest.skip(f"npm cannot be reached: {done.stderr.splitlines()[:1]}")
    return folder / "node_modules"


@pytest.mark.slow
def test_the_conformance_suite(door: Any, programs: Path) -> None:
    """All but what mcp_conformance.yaml names passes; what it names and passes is an error."""
    suite = programs / SUITE.rpartition("@")[0] / "dist" / "index.js"
    with TokenProxy(door.process.url, door.tokens["open"]) as proxy:
        done = subprocess.run(
            [
                *(str(programs / ".bin" / "node"), str(suite), "server", "--suite", "all"),
                *("--url", f"{proxy.url}/mcp", "--expected-failures", str(EXPECTED)),
            ],
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    for scenario in ("server-initialize", "tools-list", "resources-list"):
        assert f"✓ {scenario}: 1 passed, 0 failed" in done.stdout
    assert "✓ dns-rebinding-protection: 2 passed, 0 failed" in done.stdout
