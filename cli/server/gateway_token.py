"""The token of the private server's gateway: who has it may spend the owner's keys.

It is where the server looks for it (see plpy/models/gateway.py), for the server's account only.
"""

import json
import os
import secrets
from pathlib import Path

from pgblend.cli.server.account import Account
from pgblend.cli.server.state import data_directory

TOKEN_VARIABLE = "PGBLEND_GATEWAY_TOKEN"


def ready_file(directory: Path) -> Path:
    """Return the path of what the private server's gateway says of itself."""
    return directory / "gateway.json"


def token_file(directory: Path) -> Path:
    """Return the path of the token, in a data folder."""
    return directory / "postgres" / "pgblend_gateway_token"


def keep_token(directory: Path, account: Account, token: str) -> None:
    """Write the token for the server's account; what lies there, a link too, is replaced."""
    account.write(token_file(directory), f"{token}\n")


def new_token() -> str:
    """Return the token of the environment, else one that nobody knows."""
    return os.environ.get(TOKEN_VARIABLE) or secrets.token_urlsafe(32)


def read_own_token(directory: Path) -> str | None:
    """Return the token of a data folder; None where there is none for this account."""
    try:
        return token_file(directory).read_text(encoding="ascii").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def token_for(url: str | None, directory: Path | None = None) -> str | None:
    """Return what a caller shows to the gateway at `url`; None where it has nothing to show.

    The variable PGBLEND_GATEWAY_TOKEN comes first. The token of the private server's data folder
    (that of this account, if not given) is shown to the private server's own gateway only.
    """
    given = os.environ.get(TOKEN_VARIABLE)
    if given or url is None:
        return given or None
    directory = directory or data_directory()
    try:
        announced = json.loads(ready_file(directory).read_text(encoding="utf-8"))["url"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return read_own_token(directory) if announced == url else None
