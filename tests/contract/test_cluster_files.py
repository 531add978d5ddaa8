"""docker/cluster: schemas where a package has them, and that names fit together. Nothing is run."""

import re
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.command_lines import unknown_parts

FOLDER = Path(__file__).resolve().parents[2] / "docker" / "cluster"
SERVICES: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
MANIFEST = FOLDER / "cloudnativepg" / "cluster.yaml"
OBJECTS: list[dict[str, Any]] = [*yaml.safe_load_all(MANIFEST.read_text())]
NODE = (FOLDER / "node.sh").read_text()
SHARDS = ["b1", "b2", "b3"]


@pytest.mark.parametrize("file", [FOLDER / "compose.yaml", FOLDER.parent / "compose.yaml"])
def test_compose_files_are_of_the_specification(file: Path) -> None:
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is of the extra dev")
    schema = ["--builtin-schema", "vendor.compose-spec"]
    command = [sys.executable, "-m", "check_jsonschema", *schema, str(file)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr


def test_each_shard_has_a_standby_and_a_pool() -> None:
    standbys = {
        service["environment"]["PGBLEND_PRIMARY"]
        for service in SERVICES.values()
        if "PGBLEND_PRIMARY" in service["environment"]
    }
    assert standbys == {*SHARDS}
    assert SERVICES["shards"]["command"] == ["shards", *SHARDS]
    pools = ConfigParser(delimiters="=", interpolation=None)
    pools.read(FOLDER / "pgbouncer.ini")
    assert pools["databases"] == {name: f"host={name} dbname=pgblend" for name in SHARDS}
    assert pools["pgbouncer"]["pool_mode"] == "transaction"
    assert f"--pooler pooler:{pools['pgbouncer']['listen_port']}" in NODE
    assert {*SHARDS, "coordinator", "pooler"} < {*SERVICES}


def test_containers_run_what_the_script_knows() -> None:
    known = re.findall(r"^    (\w+)\) ", NODE, re.MULTILINE)
    assert {service.get("command", ["server"])[0] for service in SERVICES.values()} == {*known}
    copied = re.findall(r"^COPY (.+) \S+$", (FOLDER / "Dockerfile").read_text(), re.MULTILINE)
    files = copied[0].split()
    assert all((FOLDER / name).is_file() for name in files)
    assert {*re.findall(r"\$here/([\w.]+)", NODE)} == {*files} - {"node.sh"}


def test_everybody_from_elsewhere_is_asked_for_a_password() -> None:
    """Whoever may search could name another user in their mapping, were they not asked."""
    lines = [line.split() for line in (FOLDER / "pg_hba.conf").read_text().splitlines()]
    rules = [line for line in lines if line[0] != "#"]
    assert {line[-1] for line in rules if line[0] == "host"} == {"scram-sha-256"}
    assert {line[0] for line in rules} == {"local", "host"}


def test_the_operator_s_objects_fit_together() -> None:
    clusters = {one["metadata"]["name"]: one["spec"] for one in OBJECTS if one["kind"] == "Cluster"}
    assert [*clusters] == ["search", *SHARDS]
    for name, spec in clusters.items():
        assert spec["bootstrap"]["initdb"]["database"] == name  # as a pooler calls it
        assert spec["instances"] == 2
    poolers = {one["metadata"]["name"]: one["spec"] for one in OBJECTS if one["kind"] == "Pooler"}
    assert {name: spec["cluster"]["name"] for name, spec in poolers.items()} == {
        f"pool-{name}": name for name in SHARDS
    }
    assert {spec["pgbouncer"]["poolMode"] for spec in poolers.values()} == {"transaction"}
    assert len(OBJECTS) == len(clusters) + len(poolers)


@pytest.mark.parametrize("file", [FOLDER / "compose.yaml", MANIFEST, FOLDER / "node.sh"])
def test_commands_and_their_options_are_there(file: Path) -> None:
    text = file.read_text().replace("\\\n#", " ").replace("\\\n", " ")
    commands = re.findall(r"(pgblend (?:--database-url|up|down|shards|ingest|psql)[^|<>\n]*)", text)
    assert len(commands) >= 2
    assert [line for line in commands if unknown_parts(line)] == []


@pytest.mark.parametrize("file", [FOLDER / "compose.yaml", MANIFEST])
def test_what_was_not_run_says_so(file: Path) -> None:
    assert file.read_text().startswith("# Not run: ")
