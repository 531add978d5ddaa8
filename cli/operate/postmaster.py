"""Is the server of a data folder alive? PostgreSQL's own pid file, checked, and our lock."""

import fcntl
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

import click
import psutil

from pgblend.cli.base.child_process import FOLDER, child_environment, find_program
from pgblend.cli.base.database import MINIMUM_SERVER_VERSION, MINIMUM_VECTOR_VERSION, version_tuple
from pgblend.cli.base.errors import UserError

MINIMUM_MAJOR = MINIMUM_SERVER_VERSION // 10000
FOLDER_VARIABLE = "PGBLEND_POSTGRESQL_BIN"
EXTENSIONS = ("vector", "pg_trgm", "plpython3u")
FOLDERS = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "opt/homebrew/opt/postgresql@*/bin")
INSTALL_HINT = (
    "install PostgreSQL 15 or newer with pgvector 0.8 or newer, PL/Python, and numpy for its "
    "Python. As root on Debian 13: apt-get install postgresql-17-pgvector "
    "postgresql-plpython3-17 python3-numpy. On Debian 12 and Ubuntu the same, once "
    "https://apt.postgresql.org is among apt's sources. With pgblend's source tree: "
    f"docker/provision.sh. {FOLDER_VARIABLE} names an unusual folder"
)


@dataclass(frozen=True)
class Binaries:
    """The programs of one PostgreSQL installation."""

    folder: Path

    def __getitem__(self, program: str) -> Path:
        """Return the path of a program such as `initdb`."""
        return self.folder / program

    @cached_property
    def version(self) -> str:
        """Version as the server says it, such as 15.20."""
        printed = _output(self["postgres"], "--version")
        found = re.search(r"\) (\d+(\.\d+)?)", printed)
        return found[1] if found else "0"

    @property
    def major(self) -> int:
        """Major version, such as 15."""
        return int(self.version.split(".")[0])

    def missing(self) -> list[str]:
        """Name what this installation lacks; empty when it will do."""
        lacking = []
        if self.major < MINIMUM_MAJOR:
            lacking.append(f"PostgreSQL {MINIMUM_MAJOR} or newer (this is {self.version})")
        if not self["pg_config"].exists():
            return [*lacking, "pg_config"]
        lacking += [
            f"the extension {name}" for name in EXTENSIONS if not self._control_file(name).exists()
        ]
        vector = self.vector_version
        if vector is not None and version_tuple(vector) < MINIMUM_VECTOR_VERSION:
            lacking.append(f"pgvector 0.8 or newer (this is {vector})")
        return lacking

    @property
    def vector_version(self) -> str | None:
        """Version of its pgvector, such as 0.8.0; None where it has none."""
        control = self._control_file("vector")
        if not control.exists():
            return None
        found = re.search(r"default_version\s*=\s*'([\d.]+)'", control.read_text(encoding="utf-8"))
        return found[1] if found else None

    def _control_file(self, extension: str) -> Path:
        share = Path(_output(self["pg_config"], "--sharedir").strip())
        return share / "extension" / f"{extension}.control"


def find_binaries(major: int | None = None, root: Path = Path("/")) -> Binaries:
    """Return the newest complete installation; `major` asks for the one of an existing cluster."""
    found = list(installations(root))
    complete = [
        binaries for binaries in found if major in (None, binaries.major) and not binaries.missing()
    ]
    if complete:
        return max(complete, key=lambda binaries: version_tuple(binaries.version))
    wanted = f"PostgreSQL {major}" if major else "PostgreSQL 15 or newer"
    seen = ", and ".join(f"{b.folder} lacks {', '.join(b.missing())}" for b in found if b.missing())
    raise UserError(
        f"no installation of {wanted} that pgblend can use" + (f": {seen}" if seen else ""),
        hint=INSTALL_HINT,
    )


def find_psql() -> Path:
    """Return psql: the one on the PATH, else the newest installed one."""
    on_path = find_program("psql")
    candidates = [on_path] if on_path else []
    candidates += sorted(folder / "psql" for folder in _folders(Path("/")))[::-1]
    for candidate in candidates:
        if candidate.exists():
            return candidate
    raise UserError(
        "psql is not installed",
        hint="install it, on Debian with: apt-get install postgresql-client",
    )


def installations(root: Path = Path("/")) -> Iterator[Binaries]:
    """List every folder that holds a server, whatever its version."""
    for folder in _folders(root):
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            yield Binaries(folder)


def _folders(root: Path) -> Iterator[Path]:
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        yield Path(named).resolve()
        return
    on_path = find_program("initdb") if root == Path("/") else None
    folders = [match for pattern in FOLDERS for match in sorted(root.glob(pattern))]
    if on_path:
        folders.append(on_path.resolve().parent)
    yield from dict.fromkeys(folders)


def _output(program: Path, *arguments: str) -> str:
    said = subprocess.run(
        [program, *arguments],
        cwd=FOLDER,
        env=child_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return said.stdout


# Locks of a data folder: one for who starts or stops the server, one for the server itself.
#
# Both are flocks. They hold between containers that share the folder, which see each other's
# processes by no other means. The system releases them when their last holder ends.

SERVER_LOCK = "server.lock"
# How long the last processes of a server that was killed may need to end.
PATIENCE_SECONDS = 5
POLL_SECONDS = 0.05


class AnotherServer(UserError):
    """A server works in the folder that is not this process's to use: another container's."""

    def __init__(self, directory: Path) -> None:
        super().__init__(
            f"another server works in {directory}, probably in another container",
            hint="run the command there, or stop that server first: two servers in one folder "
            "would destroy the data",
        )


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Let one `pgblend up` or `pgblend down` at a time work in the folder; the others wait."""
    with _open(directory / "lock") as file:
        if not _try_lock(file):
            click.echo("waiting for another pgblend to finish starting or stopping", err=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def server_lock(directory: Path) -> Iterator[int]:
    """Take the lock that a server holds for its whole life; yield the descriptor to hand on.

    A server that inherits it, and all its processes, hold the lock on after this context.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    with _open(directory / SERVER_LOCK) as file:
        while not _try_lock(file):
            if time.monotonic() > deadline:
                raise AnotherServer(directory)
            time.sleep(POLL_SECONDS)
        yield file.fileno()


def is_server_locked(directory: Path) -> bool:
    """Tell whether any server works in the folder, in this container or another."""
    if not (directory / SERVER_LOCK).exists():
        return False
    with _open(directory / SERVER_LOCK) as file:
        return not _try_lock(file)


def _open(path: Path) -> IO[str]:
    try:
        return path.open("a")
    except OSError as error:
        raise UserError(
            f"{error.filename} cannot be written: {error.strerror}",
            hint="run it as the account that ran `pgblend up`, or name your own --data-dir",
        ) from error


def _try_lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise UserError(
            f"the file system of {file.name} keeps no locks: {error.strerror}",
            hint="choose a folder on a disk of this machine with --data-dir or PGBLEND_DATA_DIR",
        ) from error
    return True


ORPHAN_PATIENCE_SECONDS = 5


@dataclass(frozen=True)
class Postmaster:
    """A running server, as its postmaster.pid describes it."""

    pid: int
    port: int
    socket_directory: str


def find_postmaster(data: Path) -> Postmaster | None:
    """Return the server of this data folder; None when it does not run.

    A pid file left by a crash may name a process that is now something else. Only one that is
    PostgreSQL and works in this very folder counts.
    """
    try:
        lines = (data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        found = Postmaster(int(lines[0]), int(lines[3]), lines[4])
    except (FileNotFoundError, IndexError, ValueError):
        return None
    except PermissionError:
        raise UserError(
            f"{data} belongs to another account",
            hint="run it as the account that ran `pgblend up`, or name your own --data-dir",
        ) from None
    return found if any(process.pid == found.pid for process in processes_in(data)) else None


def processes_in(data: Path) -> Iterator[psutil.Process]:
    """List PostgreSQL's processes that work in this data folder, as far as they can be seen."""
    for process in psutil.process_iter(["name", "ppid"]):
        if process.info["name"] in ("postgres", "postmaster") and _works_in(process, data):
            yield process


def end_orphans(data: Path) -> None:
    """After a crash, end the processes that outlived their postmaster.

    Raises AnotherServer where a postmaster lives that postmaster.pid does not name: that of a
    container, seen from outside.
    """
    found = list(processes_in(data))
    if {process.info["ppid"] for process in found} & {process.pid for process in found}:
        raise AnotherServer(data.parent)
    for orphan in found:  # what a postmaster tells its children when one of them crashes
        with suppress(psutil.NoSuchProcess):
            orphan.send_signal(signal.SIGQUIT)
    _, alive = psutil.wait_procs(found, timeout=ORPHAN_PATIENCE_SECONDS)
    if alive:
        pids = " ".join(str(process.pid) for process in alive)
        raise UserError(
            f"processes of the crashed server still run: {pids}", hint=f"end them: kill -9 {pids}"
        )


def drop_lock_files(data: Path, socket_directory: Path) -> None:
    """Drop what a crashed server left, while holding the server's lock.

    PostgreSQL starts over stale lock files by itself, unless their number now belongs to another
    process of the same account.
    """
    for lock in (data / "postmaster.pid", *socket_directory.glob(".s.PGSQL.*")):
        lock.unlink(missing_ok=True)


def _works_in(process: psutil.Process, data: Path) -> bool:
    """Compare folders, not paths: in a container the same path leads elsewhere."""
    with suppress(OSError, psutil.Error):  # it has ended, or is another account's
        if psutil.LINUX:
            return Path(f"/proc/{process.pid}/cwd").samefile(data)
        return process.cwd() == str(data)
    return False
