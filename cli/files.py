"""Files that people ask for: written, or told in a line why not."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from pgblend.cli.errors import UserError


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
