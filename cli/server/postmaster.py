"""Is the server of a data folder alive? What PostgreSQL's own pid file says, checked."""

import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from pgblend.cli.errors import UserError
from pgblend.cli.server.lock import AnotherServer

ORPHAN_PATIENCE_SECONDS = 5


@dataclass(frozen=True)
class Postmaster:
    """A running server, as its postmaster.pid describes it."""

    pid: int
    port: int
    socket_directory: str


def find_postmaster(data: Path) -> Postmaster | None:
    """Return the server of this data folder; None when it does not run.

    A pid file left by a crash may name a process that is now something else: only one that is
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
