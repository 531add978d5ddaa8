"""pg_upgrade and dumps from one release of PostgreSQL to another: the same answers.

Releases that this machine has not lie in root folders that `make test-all` makes
(tests/support/release_root.py).
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

import pytest
from click.testing import CliRunner

from pgblend.cli.main import cli
from pgblend.cli.operate.account import free_port
from pgblend.migrations import runner
from support.library_answers import answers, fill_library
from support.release_root import RELEASES, OpenRoot, is_made, open_root, root_of
from support.server import MEMORY

ROLE = "pgblend"
PROGRAMS = "postgres pg_ctl pg_controldata pg_resetwal pg_dump pg_dumpall pg_restore psql vacuumdb"
INITDB = ("--username", ROLE, "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
# Servers of 15.20 and 17.12 give columns an option that only pg_dump of these leaves out.
COLUMN_OPTION = b"pg_attver"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.geteuid() != 0 or not MEMORY.is_dir(), reason="only root on Linux can enter root folders"
    ),
    pytest.mark.parametrize(("old", "new"), list(combinations(RELEASES, 2))),
]


@pytest.fixture(autouse=True)
def both_are_here(old: int, new: int) -> None:
    for major in (old, new):
        if not is_made(RELEASES[major], root_of(major)):
            pytest.skip(f"there is no PostgreSQL {major} in {root_of(major)}: make test-all")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that is seen in every root folder."""
    with tempfile.TemporaryDirectory(prefix="pgblend-test-", dir=MEMORY) as name:
        Path(name).chmod(0o777)
        yield Path(name)


def understands_columns(major: int, other: int) -> bool:
    """Tell whether programs of a release can dump a server of another one."""
    programs = (root_of(m) / RELEASES[m].programs[1:] / "pg_dump" for m in (major, other))
    own, others = (COLUMN_OPTION in program.read_bytes() for program in programs)
    return own or not others


def vector_version(major: int) -> str:
    """The version of a release's pgvector."""
    control = root_of(major) / f"usr/share/postgresql/{major}/extension/vector.control"
    return next(line for line in control.read_text().splitlines() if "default_version" in line)


def old_programs(major: int) -> dict[Path, str]:
    """What a root folder must be lent to run the programs of another one, and where."""
    folders = (f"usr/lib/postgresql/{major}", f"usr/share/postgresql/{major}")
    return {root_of(major) / folder: f"/{folder}" for folder in folders}


def lend_libraries(major: int, place: OpenRoot) -> None:
    """Copy the libraries that the old programs need, and the new release has no more."""
    programs = (f"/usr/lib/postgresql/{major}/bin/{name}" for name in PROGRAMS.split())
    listed = subprocess.run(
        ["chroot", str(root_of(major)), "ldd", *programs],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    paths = {line.split()[2] for line in listed.splitlines() if " => /" in line}
    for path in sorted(paths):
        place.lend(root_of(major) / path[1:], path)


@contextmanager
def server(place: OpenRoot, major: int, data: Path) -> Iterator[str]:
    """Run a server of a root folder on a data folder; yields its URL."""
    place.run("chown", "-R", "postgres:postgres", str(data), account="root")
    port = free_port()
    pg_ctl = (f"{RELEASES[major].programs}/pg_ctl", "-D", str(data), "-w", "-s")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=/tmp"
    place.run(*pg_ctl, "-l", f"{data}/log", "-o", options, "start")
    try:
        yield f"postgresql://{ROLE}@127.0.0.1:{port}/postgres"
    finally:
        place.run(*pg_ctl, "-m", "fast", "stop")


def initdb(place: OpenRoot, major: int, data: Path) -> None:
    place.run("mkdir", str(data), account="root")
    place.run("chown", "postgres:postgres", str(data), account="root")
    place.run(f"{RELEASES[major].programs}/initdb", "-D", str(data), *INITDB, "--data-checksums")


def told(url: str) -> dict[str, str]:
    """What doctor does not find in order, by name."""
    output = CliRunner().invoke(cli, ["--database-url", url, "doctor", "--json"]).stdout
    checks = json.loads(output)["checks"]
    return {check["name"]: check["mend"] for check in checks if check["status"] != "ok"}


def migrate_up(url: str) -> None:
    done = CliRunner().invoke(cli, ["--database-url", url, "migrate", "up"])
    assert done.exit_code == 0, done.output


def plain(value: object) -> object:
    """Round numbers: pgvector 0.8.0 and 0.8.7 differ in the seventh digit of a distance."""
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, dict):
        return {key: plain(of_key) for key, of_key in value.items()}
    return [plain(part) for part in value] if isinstance(value, list | tuple) else value


def check(url: str, before: object, same_vector: bool) -> None:
    """Hold answers to those before, with the program's text, then with its compiled code."""
    alike = (lambda given: given) if same_vector else plain
    expected = alike(before)
    assert alike(answers(url)) == expected
    assert "migrate up" in told(url)["program"]
    migrate_up(url)
    assert not {"program", "search_path", "migrations", "indexes", "collation"} & set(told(url))
    assert alike(answers(url)) == expected


@contextmanager
def library(major: int, data: Path) -> Iterator[str]:
    """A server of a release with a library in it; yields its URL."""
    with open_root(root_of(major)) as place:
        initdb(place, major, data)
        with server(place, major, data) as url:
            runner.upgrade(url)
            fill_library(url)
            yield url


def test_pg_upgrade(old: int, new: int, folder: Path) -> None:
    if not understands_columns(new, old):
        pytest.skip(f"pg_upgrade of this PostgreSQL {new} restores no table of this {old}")
    first, second = folder / "old", folder / "new"
    with library(old, first) as url:
        expected = answers(url)
    with open_root(root_of(new), old_programs(old)) as place:
        lend_libraries(old, place)
        initdb(place, new, second)
        place.run("chown", "-R", "postgres:postgres", str(first), account="root")
        place.run(
            *("env", "--chdir=/tmp", f"{RELEASES[new].programs}/pg_upgrade"),
            *("-U", ROLE, "-d", str(first), "-D", str(second)),
            *("-b", RELEASES[old].programs, "-B", RELEASES[new].programs),
        )
        with server(place, new, second) as url:
            check(url, expected, vector_version(old) == vector_version(new))


def test_dump_and_restore(old: int, new: int, folder: Path) -> None:
    """Roles and settings of the database by pg_dumpall, the rest by pg_dump."""
    with library(old, folder / "old") as url:
        expected = answers(url)
        by = new if understands_columns(new, old) else old
        with open_root(root_of(by)) as place:
            programs = RELEASES[by].programs
            roles = place.run(f"{programs}/pg_dumpall", "-d", url, "--roles-only").stdout
            place.run(f"{programs}/pg_dump", "-Fc", "-f", f"{folder}/dump", "-d", url)
    others = [line for line in roles.splitlines() if f"ROLE {ROLE};" not in line]
    with open_root(root_of(new)) as place:
        initdb(place, new, folder / "new")
        with server(place, new, folder / "new") as url:
            programs = RELEASES[new].programs
            psql = (f"{programs}/psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url)
            place.run(*psql, input="\n".join(others))
            place.run(f"{programs}/pg_restore", "--exit-on-error", "-d", url, f"{folder}/dump")
            check(url, expected, vector_version(old) == vector_version(new))
