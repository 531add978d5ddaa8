"""docker/provision.sh: what it finds, what it says is missing, and that it changes nothing then."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from pgblend.cli.operate.postmaster import Binaries
from support.postgresql_folder import make_postgresql_folder

SCRIPTS = Path(__file__).resolve().parents[2] / "docker"
DPKG_STATUS = Path("/var/lib/dpkg/status")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every account may read; pytest's own are closed."""
    folder = Path(tempfile.mkdtemp(prefix="pgblend-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def run(
    *arguments: str, script: Path = SCRIPTS / "provision.sh", user: str | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PGBLEND_")}
    return subprocess.run(
        [shutil.which("bash") or "bash", script, *arguments],
        env=kept | env,
        cwd="/",
        user=user,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def refused(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 1, result.stdout
    assert result.stdout == ""
    assert all(line.startswith("provision: ") for line in result.stderr.splitlines())
    return result.stderr


@pytest.mark.parametrize("arguments", [(), ("--check",)])
def test_where_all_is_there_nothing_happens(arguments: tuple[str, ...]) -> None:
    before = DPKG_STATUS.stat() if DPKG_STATUS.exists() else None
    result = run(*arguments)
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("\n") == 1
    assert result.stdout.endswith("has everything; nothing to do\n")
    assert result.stderr == ""
    if before is not None:
        assert DPKG_STATUS.stat() == before


@pytest.mark.parametrize(
    ("version", "options"),
    [
        ("14.9", {}),
        ("15.20", {"extensions": ("vector", "pg_trgm")}),
        ("15.20", {"vector": "0.7.4"}),
        ("17.6", {"extensions": ()}),
    ],
)
def test_the_script_and_the_command_line_miss_the_same(
    tmp_path: Path, version: str, options: dict[str, Any]
) -> None:
    folder = make_postgresql_folder(tmp_path, version, **options)
    said = refused(run("--check", PGBLEND_POSTGRESQL_BIN=str(folder)))
    missing = Binaries(folder).missing()
    assert missing
    assert f"provision: {folder} lacks {'; '.join(missing)}" in said
    assert "run as root" in said


def test_a_complete_folder_in_an_unusual_place_will_do(tmp_path: Path) -> None:
    folder = make_postgresql_folder(tmp_path, "17.6", vector="0.10.1")
    result = run("--check", PGBLEND_POSTGRESQL_BIN=str(folder))
    assert (
        result.stdout == f"provision: PostgreSQL 17.6 in {folder} has everything; nothing to do\n"
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")
def test_without_root_and_without_apt_it_says_what_is_needed(open_folder: Path) -> None:
    shutil.copytree(SCRIPTS, open_folder / "docker")
    script = open_folder / "docker" / "provision.sh"
    nothing = {"PGBLEND_POSTGRESQL_BIN": "/nowhere"}
    with_apt = refused(run(script=script, user="nobody", **nothing))
    assert "installing takes root" in with_apt or "no apt-get" in with_apt

    programs = open_folder / "bin"
    programs.mkdir()
    for name in ("dirname", "sed", "head", "sort", "ls", "id", "paste"):
        (programs / name).symlink_to(shutil.which(name) or name)
    without_apt = refused(run(script=script, user="nobody", PATH=str(programs), **nothing))
    assert "there is no PostgreSQL server here" in without_apt
    assert "there is no apt-get here" in without_apt
    for what in ("PostgreSQL 15", "contrib", "PL/Python", "pgvector 0.8", "numpy"):
        assert what in without_apt


def as_url(conninfo: str, **changes: str) -> str:
    parts = {**conninfo_to_dict(conninfo), **changes}
    user, password = quote(str(parts["user"])), quote(str(parts.get("password") or ""))
    return f"postgresql://{user}:{password}@{parts['host']}:{parts['port']}/{parts['dbname']}"


def test_a_named_server_is_only_checked(new_database: Callable[..., str]) -> None:
    url = as_url(new_database())
    for result in (run("--database-url", url), run(PGBLEND_DATABASE_URL=url)):
        assert result.returncode == 0, result.stderr
        assert "the server of the database URL has everything" in result.stdout
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM pg_extension").fetchone() == (1,)


def test_a_named_server_that_does_not_answer(new_database: Callable[..., str]) -> None:
    said = refused(run("--database-url", as_url(new_database(), port="1", password="hunter2")))
    assert "the server does not answer" in said
    assert "hunter2" not in said


def test_a_role_that_cannot_create_plpython_is_told(new_database: Callable[..., str]) -> None:
    url = new_database()
    role = f"pgblend_plain_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as connection:
        create = sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'secret'").format(sql.Identifier(role))
        connection.execute(create)
        try:
            said = refused(run("--database-url", as_url(url, user=role, password="secret")))
        finally:
            connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))
    assert f"a superuser, who alone can create plpython3u ({role} is none)" in said
    assert "Nothing was changed" in said


def test_an_unknown_option() -> None:
    assert "unknown option --chekc" in refused(run("--chekc"))


def test_an_older_pgvector_is_told_in_one_line(tmp_path: Path) -> None:
    # What installs, without what decides to: no newer source builds, apt has 0.8.0.
    installing, _, _ = (SCRIPTS / "provision.sh").read_text().partition("# --- what to do")
    script = tmp_path / "provision.sh"
    script.write_text(f"{installing}\nvector_of() {{ echo 0.8.0; }}\ninstall_vector 15\n")
    shutil.copy(SCRIPTS / "common.sh", tmp_path)
    for name, does in (
        ("build_pgvector.sh", "exit 1"),
        ("apt-cache", "echo '  Candidate: 0.8.0-1'"),
        ("apt-get", f"echo $* >{tmp_path}/installed"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    result = run(script=script, PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "installed").read_text().endswith(" postgresql-15-pgvector\n")
    *_, line = result.stdout.splitlines()
    assert line.startswith(
        "provision: pgvector 0.8.0 is installed, since no source of 0.8.4 or newer"
    )
    assert (
        "parallel HNSW builds overrun a buffer, so pgblend lets one process build an index" in line
    )
