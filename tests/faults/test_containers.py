"""The image's entry point: two containers on one volume, signals, arguments that are a command."""

import os
import pwd
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.container import ACCOUNT, Container

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make namespaces")

Start = Callable[..., Container]
PASSWORD_FREE = ("pgblend", "psql", "-At", "-c")


@pytest.fixture
def volume() -> Iterator[Path]:
    """A folder of the server's account."""
    parent = Path(tempfile.mkdtemp(prefix="pgblend-test-"))
    parent.chmod(0o755)
    folder = parent / "volume"
    folder.mkdir()
    os.chown(folder, pwd.getpwnam(ACCOUNT).pw_uid, pwd.getpwnam(ACCOUNT).pw_gid)
    yield folder
    shutil.rmtree(parent)


@pytest.fixture
def start(volume: Path) -> Iterator[Start]:
    """Start containers on the volume."""
    started: list[Container] = []

    def start(*arguments: str, **variables: str) -> Container:
        started.append(Container(volume, *arguments, **variables))
        return started[-1]

    yield start
    for container in started:
        container.kill()


@pytest.mark.fault(
    "a second container on the same volume", "refused; after kill -9 of the first a third starts"
)
@pytest.mark.slow
def test_a_second_container_on_the_same_volume_is_refused(start: Start, volume: Path) -> None:
    first = start("-c", "work_mem=64MB")
    first.wait_until_ready()
    assert first.run(*PASSWORD_FREE, "SHOW work_mem").stdout == "64MB\n"
    before = (first.data / "postmaster.pid").read_text()
    second = start()
    assert second.process.wait(60) == 1
    assert "another server works in" in second.said
    assert (first.data / "postmaster.pid").read_text() == before
    first.run(*PASSWORD_FREE, "CREATE TABLE kept AS SELECT 42 AS answer")
    first.kill()
    third = start()
    third.wait_until_ready()
    assert third.run(*PASSWORD_FREE, "TABLE kept").stdout == "42\n"
    assert third.stop() == 0
    assert not (third.data / "postmaster.pid").exists()


@pytest.mark.fault(
    "SIGTERM or SIGINT while the entry point migrates", "it ends, nothing is half done"
)
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_it_migrates_ends_it_cleanly(start: Start, number: signal.Signals) -> None:
    first = start()
    first.wait_for("started on port")
    assert first.stop(number) == 128 + number
    assert "ready to accept connections" not in first.said
    assert not (first.data / "postmaster.pid").exists()
    log = "".join(file.read_text() for file in (first.data.parent / "log").glob("postgresql-*"))
    assert log.rstrip().endswith("database system is shut down")
    second = start()
    second.wait_until_ready()
    assert second.run("pgblend", "migrate", "status").returncode == 0


@pytest.mark.fault("docker run with a command", "it runs, no server starts")
def test_arguments_that_are_no_options_are_a_command(start: Start, volume: Path) -> None:
    container = start("pgblend", "--version")
    assert container.process.wait(60) == 0
    assert container.said.startswith("pgblend, version ")
    assert list(volume.iterdir()) == []


@pytest.mark.fault("data of another major version on the volume", "refused, and left as they are")
@pytest.mark.parametrize("place", ["postgres", "10/postgres"])
def test_data_of_another_major_version_are_refused(start: Start, volume: Path, place: str) -> None:
    (volume / place).mkdir(parents=True)
    (volume / place / "PG_VERSION").write_text("10\n")
    container = start()
    assert container.process.wait(60) == 1
    assert f"PostgreSQL 10 has its data in {volume / place}" in container.said
    assert [path.name for path in volume.iterdir()] == [Path(place).parts[0]]


@pytest.mark.fault("a secret whose file is missing", "the container ends and names the file")
def test_a_secret_that_cannot_be_read_is_named(start: Start, volume: Path) -> None:
    container = start(PGBLEND_PASSWORD_FILE="/nowhere/password")
    assert container.process.wait(60) == 1
    assert "PGBLEND_PASSWORD_FILE names /nowhere/password" in container.said
    assert list(volume.iterdir()) == []


@pytest.mark.fault(
    "the owner over the network, with the right password", "refused; pgblend_application comes in"
)
@pytest.mark.slow
def test_no_superuser_comes_in_over_the_network(start: Start, volume: Path) -> None:
    secret = volume.parent / "secret"
    secret.write_text("a:b\\c'd\n")
    secret.chmod(0o644)
    container = start(PGBLEND_PASSWORD_FILE=str(secret))
    container.wait_until_ready()

    def log_in(role: str, password: str) -> tuple[str, str]:
        by_network = ["env", f"PGPASSWORD={password}", "psql", "-h", "127.0.0.1", "-U", role]
        statement = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
        done = container.run(*by_network, "-Atc", statement)
        return done.stdout, done.stderr

    owners = (container.data.parent / "pgpass").read_text().strip().rpartition(":")[2]
    said, error = log_in("pgblend", owners)
    assert said == ""
    assert "pg_hba.conf rejects connection" in error
    assert log_in("pgblend_application", "a:b\\c'd") == ("f\n", "")
    assert container.run("psql", "-Atc", "SHOW is_superuser").stdout == "on\n"
    assert (
        container.run(
            "psql", "-Atc", "SELECT count(*) FROM pg_roles WHERE rolname = 'pgblend_door'"
        ).stdout
        == "0\n"
    )
