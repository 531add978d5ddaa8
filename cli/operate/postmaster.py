"""Is the server of a data folder alive? PostgreSQL's own pid file, checked, and our lock."""

import fcntl
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import click
import psutil

from pgblend.cli.base.errors import UserError

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
