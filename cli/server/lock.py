"""One `pgblend up` or `pgblend down` at a time in a data folder."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from pgblend.cli.errors import UserError


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the folder's lock; the system releases it when the process ends, however it ends."""
    try:
        file = (directory / "lock").open("w")
    except OSError as error:
        raise UserError(
            f"{error.filename} cannot be written: {error.strerror}",
            hint="run it as the account that ran `pgblend up`, or name your own --data-dir",
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            click.echo("waiting for another pgblend to finish starting or stopping", err=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
