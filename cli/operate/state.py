"""Where the private server lives, and what is remembered of it between runs."""

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import click
import platformdirs

from pgblend.cli.base.errors import UserError

ROOT_DATA_DIRECTORY = Path("/var/lib/pgblend")
DATA_DIRECTORY_VARIABLE = "PGBLEND_DATA_DIR"
ROLE = "pgblend"
DATABASE = "pgblend"
HOST = "127.0.0.1"


@dataclass(frozen=True)
class ServerState:
    """What server.json holds: where the server listens, and which gateways were pgblend's own.

    `ports` are the first ones of gateway and page, which each start tries: others know them.
    """

    port: int
    socket_directory: str
    gateway_urls: list[str] = field(default_factory=list)
    ports: dict[str, int] = field(default_factory=dict)

    def save(self, directory: Path) -> None:
        """Write server.json; a reader sees the old one or the new one, whole."""
        unfinished = state_file(directory).with_suffix(".new")
        unfinished.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        unfinished.replace(state_file(directory))


def load_state(directory: Path) -> ServerState | None:
    """Read server.json; None when no server was started there yet."""
    try:
        return ServerState(**json.loads(state_file(directory).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except PermissionError:
        raise UserError(
            f"{state_file(directory)} cannot be read by this account",
            hint="run it as the account that ran `pgblend up`, or name your own --data-dir",
        ) from None
    except (TypeError, ValueError) as error:
        raise UserError(
            f"{state_file(directory)} is damaged: {error}",
            hint="remove that file and run: pgblend up (the data are not in it)",
        ) from error


def data_directory(option: Path | None = None) -> Path:
    """Choose the folder: the option, PGBLEND_DATA_DIR, else the account's own.

    Root's home is closed to the account that runs the server, so root's is /var/lib/pgblend.
    """
    given = option or os.environ.get(DATA_DIRECTORY_VARIABLE)
    if given:
        return Path(given).expanduser().resolve()
    if os.geteuid() == 0 and not os.environ.get("XDG_DATA_HOME"):
        return ROOT_DATA_DIRECTORY
    return Path(platformdirs.user_data_dir("pgblend", appauthor=False)).resolve()


def database_url() -> str | None:
    """Return the private server's URL; None when it was never started."""
    directory = data_directory()
    state = load_state(directory)
    return private_url(directory, state.port) if state else None


def private_url(directory: Path, port: int) -> str:
    """Build the URL; it names the password file instead of showing the password."""
    passfile = quote(str(password_file(directory)), safe="/")
    return f"postgresql://{ROLE}@{HOST}:{port}/{DATABASE}?passfile={passfile}"


def state_file(directory: Path) -> Path:
    """Return the path of server.json."""
    return directory / "server.json"


def password_file(directory: Path) -> Path:
    """Return the path of the password file, in libpq's format."""
    return directory / "pgpass"


# Options that the commands of the private server share.

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
