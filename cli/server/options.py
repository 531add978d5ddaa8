"""Options that the commands of the private server share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from pgblend.cli.server.state import DATA_DIRECTORY_VARIABLE, data_directory

Function = TypeVar("Function", bound=Callable[..., Any])


def data_directory_option(function: Function) -> Function:
    """Add --data-dir; the command gets the folder, chosen where none is given, as `directory`."""
    return click.option(
        "--data-dir",
        "directory",
        type=click.Path(file_okay=False, path_type=Path),
        envvar=DATA_DIRECTORY_VARIABLE,
        show_envvar=True,
        callback=lambda ctx, param, value: data_directory(value),
        help="Folder of the private server; by default ~/.local/share/pgblend "
        "(root: /var/lib/pgblend).",
    )(function)
