"""compose.yaml and the Dockerfile name what the tree has. No Docker runs here: nothing is built."""

import fnmatch
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from pgblend.cli.extras import MODULES
from support.command_lines import unknown_parts

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docker" / "compose.yaml"
TEXT = FILE.read_text(encoding="utf-8")
SERVICES: dict[str, Any] = yaml.safe_load(TEXT)["services"]
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
BUILT = {name: service for name, service in SERVICES.items() if "build" in service}
STAGES = re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE, re.MULTILINE)


def test_services_are_stages_of_the_dockerfile() -> None:
    assert set(BUILT) == {"database", "gateway"}
    for service in BUILT.values():
        build = service["build"]
        context = (FILE.parent / build["context"]).resolve()
        assert context == ROOT
        assert (context / build["dockerfile"]).is_file()
        assert build["target"] in STAGES
    froms = re.findall(r"^FROM (\S+) AS", DOCKERFILE, re.MULTILINE)
    assert set(froms) <= {*STAGES, "${BASE}"}
    assert set(re.findall(r"COPY --from=(\S+)", DOCKERFILE)) <= set(STAGES)


def test_what_is_copied_is_there_and_let_in() -> None:
    let_in = [
        line.removeprefix("!")
        for line in (ROOT / "docker" / "Dockerfile.dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
    sources = [source for line in copied for source in line.split()]
    assert "cli" in sources
    for source in sources:
        assert (ROOT / source).exists(), source
        assert any(fnmatch.fnmatch(source, pattern) for pattern in let_in), source


def test_scripts_of_the_image_find_each_other() -> None:
    """provision.sh calls and reads others of its folder, which has only what is copied."""
    (line,) = re.findall(r"^COPY (.+provision.sh) \S+$", DOCKERFILE, re.MULTILINE)
    copied = {Path(name).name for name in line.split()}
    for name in copied:
        text = (ROOT / "docker" / name).read_text()
        named = re.findall(r"(?:\$here|\$\(dirname \"\$0\"\))/(\w+\.sh)", text)
        assert set(named) <= copied, name


def test_volumes_are_shared_by_name_and_place() -> None:
    mounts = {
        name: dict(volume.split(":") for volume in service["volumes"])
        for name, service in BUILT.items()
    }
    named = {
        volume.partition(":")[0]
        for service in SERVICES.values()
        for volume in service["volumes"]
        if not volume.startswith("./")
    }
    assert named == set(yaml.safe_load(TEXT)["volumes"])
    socket = SERVICES["database"]["environment"]["PGBLEND_GATEWAY_URL"].removeprefix("unix:")
    assert mounts["database"]["gateway-socket"] == mounts["gateway"]["gateway-socket"]
    assert Path(socket).parent == Path(mounts["gateway"]["gateway-socket"])
    assert f'"--socket", "{socket}"' in DOCKERFILE
    assert f"PGBLEND_DATA_DIR={mounts['database']['data']}" in DOCKERFILE


def test_dashboards_are_asked_for_and_of_one_release() -> None:
    """What is not built here runs by a profile alone, from an image of a version that is named."""
    others = {name: service for name, service in SERVICES.items() if name not in BUILT}
    assert set(others) == {"metrics", "prometheus", "grafana"}
    for service in others.values():
        assert service["profiles"] == ["dashboards"]
        assert re.fullmatch(r"[\w/]+:v?\d+\.[\d.]+", service["image"])
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:")


def test_files_that_are_mounted_are_there() -> None:
    for service in SERVICES.values():
        for volume in service["volumes"]:
            if volume.startswith("./"):
                place, _, mode = volume.split(":")
                assert (FILE.parent / place).exists(), place
                assert mode == "ro"


def test_secrets_are_optional_and_not_committed() -> None:
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    for service in SERVICES.values():
        for file in service.get("env_file", []):
            assert file["required"] is False
            path = f"/docker/{file['path']}"
            assert any(fnmatch.fnmatch(path, pattern) for pattern in ignored), path


def test_variables_are_read() -> None:
    entry_point = (ROOT / "docker" / "entrypoint.sh").read_text()
    for name in ("PGBLEND_GATEWAY_URL", "PGBLEND_PASSWORD", "PGBLEND_DATA_DIR"):
        assert f"${{{name}" in entry_point or f"${name}" in entry_point


def test_extras_are_there() -> None:
    assert set(re.findall(r"\.whl\)\[(\w+)\]", DOCKERFILE)) == {"documents"}
    (default,) = re.findall(r"^ARG EXTRAS=(\w+)$", DOCKERFILE, re.MULTILINE)
    assert {default, "documents"} <= set(MODULES)


COMMANDS = [
    *re.findall(r"exec database (pgblend .+)", TEXT),
    *re.findall(r"^\s*run (pgblend [^|>&<\n]+)", (ROOT / "docker/entrypoint.sh").read_text(), re.M),
    *(" ".join(json.loads(list_)) for list_ in re.findall(r"^CMD (\[.+\])$", DOCKERFILE, re.M)),
]


def test_commands_were_found() -> None:
    assert len(COMMANDS) > 5


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_and_their_options_are_there(line: str) -> None:
    assert not unknown_parts(line)
