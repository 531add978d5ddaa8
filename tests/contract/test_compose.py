"""compose.yaml and the Dockerfile name what the tree has. No Docker runs here: nothing is built."""

import fnmatch
import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pgblend.cli.base.extras import MODULES
from support.command_lines import unknown_parts

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docker" / "compose.yaml"
TEXT = FILE.read_text(encoding="utf-8")
SERVICES: dict[str, Any] = yaml.safe_load(TEXT)["services"]
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
BUILT = {name: service for name, service in SERVICES.items() if "build" in service}
OURS = {n: s for n, s in SERVICES.items() if s.get("image", "").startswith("pgblend-")}
STAGES = re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE, re.MULTILINE)


def test_services_are_stages_of_the_dockerfile() -> None:
    assert set(BUILT) == {"database", "gateway"}
    assert {service["image"] for service in BUILT.values()} == {s["image"] for s in OURS.values()}
    for service in BUILT.values():
        build = service["build"]
        context = (FILE.parent / build["context"]).resolve()
        assert context == ROOT
        assert (context / build["dockerfile"]).is_file()
        assert build["target"] in STAGES
        assert service["image"] == f"pgblend-{build['target']}"
    froms = re.findall(r"^FROM (\S+) AS", DOCKERFILE, re.MULTILINE)
    assert set(froms) <= {*STAGES, "${BASE}"}
    assert set(re.findall(r"COPY --from=(\S+)", DOCKERFILE)) <= set(STAGES)


def test_the_code_comes_after_the_libraries() -> None:
    """So a change of the code leaves the layers of the libraries alone."""
    for stage in ("application", "database"):
        text = DOCKERFILE.partition(f" AS {stage}\n")[2].partition("\nFROM ")[0]
        assert 0 < text.index(f"--from={stage}-libraries") < text.index("--from=code")
    for text in re.split(r"^FROM ", DOCKERFILE, flags=re.MULTILINE):
        if " AS code\n" not in text:
            assert "COPY cli" not in text


def test_our_services_may_do_little() -> None:
    assert re.findall(r"^USER (.+)$", DOCKERFILE, re.MULTILINE) == ["postgres", "postgres"]
    for service in OURS.values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert any(mount.startswith("/tmp:") for mount in service["tmpfs"])
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:")


def test_the_owner_never_comes_in_over_the_network() -> None:
    lines = (ROOT / "docker" / "pg_hba.conf").read_text().splitlines()
    rules = [line.split() for line in lines if line and not line.startswith("#")]
    by_network = [rule for rule in rules if rule[0] != "local"]
    assert by_network[0] == ["host", "all", "pgblend", "all", "reject"]
    assert all(rule[-1] in ("reject", "scram-sha-256") for rule in by_network)


def test_the_libraries_of_the_images_have_one_version() -> None:
    """What `make constraints` writes covers what the images install of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (extras,) = re.findall(r'^ARG EXTRAS="(.+)"$', DOCKERFILE, re.MULTILINE)
    wanted = [*map(Requirement, project["dependencies"])]
    names = extras.split()
    for name in names:
        needed = [*map(Requirement, project["optional-dependencies"][name])]
        names += [extra for each in needed if each.name == "pgblend" for extra in each.extras]
        wanted += [each for each in needed if each.name != "pgblend"]
    lines = (ROOT / "docker" / "constraints.txt").read_text().splitlines()
    pinned: dict[str, list[str]] = {}
    for line in map(Requirement, lines):
        pinned.setdefault(canonicalize_name(line.name), []).append(
            str(line.specifier).removeprefix("==")
        )
    for each in wanted:
        versions = pinned.get(canonicalize_name(each.name), [])
        assert versions, f"{each.name}: run make constraints"
        assert all(each.specifier.contains(version) for version in versions), each


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
    """Scripts call and read others of their folder, which has only what is copied."""
    for stage in ("application", "database"):
        text = DOCKERFILE.partition(f" AS {stage}\n")[2].partition("\nFROM ")[0]
        lines = re.findall(r"^COPY (docker/.+) /usr/local/lib/pgblend/$", text, re.MULTILINE)
        copied = {Path(name).name for line in lines for name in line.split()}
        (entry_point,) = re.findall(r'^ENTRYPOINT \["/usr/local/lib/pgblend/(.+)"\]$', text, re.M)
        assert entry_point in copied
        for name in copied:
            script = (ROOT / "docker" / name).read_text()
            named = re.findall(r"(?:\$here|\$\(dirname \"\$0\"\))/(\w+\.\w+)", script)
            assert set(named) <= copied, name


def test_volumes_are_shared_by_name_and_place() -> None:
    mounts = {
        name: dict(volume.split(":") for volume in service["volumes"])
        for name, service in OURS.items()
    }
    named = {
        volume.partition(":")[0]
        for service in SERVICES.values()
        for volume in service["volumes"]
        if not volume.startswith("./")
    }
    assert named == set(yaml.safe_load(TEXT)["volumes"])
    socket = SERVICES["database"]["environment"]["PGBLEND_GATEWAY_URL"].removeprefix("unix:")
    assert len({mount["gateway-socket"] for mount in mounts.values()}) == 1
    assert Path(socket).parent == Path(mounts["gateway"]["gateway-socket"])
    assert f'"--socket", "{socket}"' in DOCKERFILE
    assert f"PGBLEND_DATA_DIR={mounts['database']['data']}" in DOCKERFILE


def test_dashboards_are_asked_for_and_of_one_release() -> None:
    """What is not built here runs by a profile alone, from an image of a version that is named."""
    others = {name: service for name, service in SERVICES.items() if name not in OURS}
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


def test_secrets_are_not_committed() -> None:
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    for service in SERVICES.values():
        for file in service.get("env_file", []):
            assert file["required"] is False
            path = f"/docker/{file['path']}"
            assert any(fnmatch.fnmatch(path, pattern) for pattern in ignored), path
    assert "/docker/secrets/" in ignored


def test_secrets_are_files_that_a_command_makes() -> None:
    secrets = yaml.safe_load(TEXT)["secrets"]
    made = re.findall(
        r"^for name in (.+); do$", (ROOT / "docker/make_secrets.sh").read_text(), re.M
    )
    assert made == [" ".join(secrets)]
    for name, secret in secrets.items():
        assert secret == {"file": f"secrets/{name}"}
    for service in OURS.values():
        variables = service["environment"]
        files = [value for name, value in variables.items() if name.endswith("_FILE")]
        assert sorted(files) == sorted(f"/run/secrets/{name}" for name in service["secrets"])


def test_secrets_are_made_once(tmp_path: Path) -> None:
    for name in ("common.sh", "make_secrets.sh"):
        shutil.copy(ROOT / "docker" / name, tmp_path)
    contents = []
    for _ in range(2):
        subprocess.run([tmp_path / "make_secrets.sh"], check=True, capture_output=True)
        contents.append({f.name: f.read_text() for f in (tmp_path / "secrets").iterdir()})
    assert contents[0] == contents[1]
    assert set(contents[0]) == set(yaml.safe_load(TEXT)["secrets"])
    assert len(set(contents[0].values())) == len(contents[0])
    assert min(map(len, contents[0].values())) > 30
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700


def test_a_release_names_its_base_by_digest() -> None:
    done = subprocess.run(
        [ROOT / "docker" / "images.sh", "--release"],
        env=os.environ | {"PGBLEND_BASE": "debian:13-slim"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "PGBLEND_BASE is 'debian:13-slim'" in done.stderr


def test_variables_are_read() -> None:
    for name, script in (("database", "database.sh"), ("gateway", "application.sh")):
        text = (ROOT / "docker" / script).read_text()
        for variable in SERVICES[name]["environment"]:
            read = f"secret {variable.removesuffix('_FILE')}" in text or f"${{{variable}" in text
            assert read or variable == "PGBLEND_GATEWAY_DATABASE_URL", variable
    assert "PGPASSFILE=" in DOCKERFILE
    assert "PGHOST=" in DOCKERFILE


def test_extras_are_there() -> None:
    (default,) = re.findall(r'^ARG EXTRAS="(.+)"$', DOCKERFILE, re.MULTILINE)
    assert set(default.split()) <= set(MODULES)


COMMANDS = [
    *re.findall(r"(?:exec database|run .*commands) (pgblend .+)", TEXT),
    *re.findall(r"\brun (pgblend [^|>&<\n]+)", (ROOT / "docker/database.sh").read_text()),
    *(" ".join(service["command"]) for service in OURS.values() if "command" in service),
    *(" ".join(json.loads(list_)) for list_ in re.findall(r"^CMD (\[.+\])$", DOCKERFILE, re.M)),
]


def test_commands_were_found() -> None:
    assert len(COMMANDS) > 5


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_and_their_options_are_there(line: str) -> None:
    assert not unknown_parts(line)
