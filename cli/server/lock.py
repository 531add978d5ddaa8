"""Locks of a data folder: one for who starts or stops the server, one for the server itself.

Both are flocks: they hold between containers that share the folder, which see each other's
processes by no other means, and the system releases them when their last holder ends.
"""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click

from pgblend.cli.errors import UserError

SERVER_LOCK = "server.lock"
# How long the last processes of a server that was killed may need to end.
PATIENCE_SECONDS = 5
POLL_SECONDS = 0.05


class AnotherServer(UserError):
    """A server works in the folder that is not this process's to use: another container's."""

    def __init__(self, directory: Path) -> None:
        super().__init__(
            f"another server works in {directory}, probably in another container",
            hint="run the command there, or stop that server first; two servers in one folder "
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
