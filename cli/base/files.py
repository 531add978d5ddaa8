"""Files that people ask for: written, or told in a line why not."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import click

from pgblend.cli.base.errors import UserError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Make an error of the file system one for people, who named this file or folder."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"cannot write {path}: {error.strerror}", hint="name a file in a folder of yours"
        ) from error


def write_file(path: Path, text: str) -> None:
    """Write a file that was asked for, and say so."""
    with writing(path):
        path.write_text(text, encoding="utf-8")
    click.echo(f"pgblend: wrote {path}", err=True)


def replace_file(path: Path, text: str) -> None:
    """Write a file, in a folder that is made; a reader sees the old text or the new one, whole.

    It keeps its mode, and a link goes on leading to it.
    """
    path = path.resolve()
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        unfinished = Path(name)
        try:
            with open(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            if path.exists():
                shutil.copymode(path, unfinished)
            else:
                unfinished.chmod(0o666 & ~_umask())
            unfinished.replace(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_ready_file(path: Path, url: str) -> None:
    """Tell who waits for a service that it works: its URL, process and version as JSON."""
    content = {"url": url, "pid": os.getpid(), "version": version("pgblend")}
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    unfinished.write_text(json.dumps(content) + "\n")
    unfinished.replace(path)  # who waits for the file never sees half of it
