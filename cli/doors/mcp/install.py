"""Telling an agent's program of the server: an entry in its configuration, all else kept."""

import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import platformdirs

from pgblend.cli.base.child_process import find_program
from pgblend.cli.base.database import has_password
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.files import replace_file
from pgblend.cli.operate.state import DATA_DIRECTORY_VARIABLE

# Agents' programs, and how each is told of a server: file, key, and where a token comes from.

TOKEN_VARIABLE = "PGBLEND_TOKEN"


@dataclass(frozen=True)
class AgentProgram:
    """One program. `token` is what it puts a token in the place of; none stands in a file."""

    project_file: str
    user_file: Callable[[], Path]
    key: str
    token: str
    more: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # beside a server over HTTP
    names_http: bool = True  # whether a server over HTTP has a type; else its url tells


CLIENTS = {
    "claude-code": AgentProgram(
        ".mcp.json",
        lambda: Path.home() / ".claude.json",
        "mcpServers",
        f"${{{TOKEN_VARIABLE}}}",
    ),
    "cursor": AgentProgram(
        ".cursor/mcp.json",
        lambda: Path.home() / ".cursor" / "mcp.json",
        "mcpServers",
        f"${{env:{TOKEN_VARIABLE}}}",
        names_http=False,
    ),
    "vscode": AgentProgram(
        ".vscode/mcp.json",
        lambda: platformdirs.user_config_path("Code") / "User" / "mcp.json",
        "servers",
        "${input:pgblend-token}",
        {
            "inputs": [
                {
                    "type": "promptString",
                    "id": "pgblend-token",
                    "description": "Token of pgblend serve",
                    "password": True,
                }
            ]
        },
    ),
}


Configuration = dict[str, Any]
_URL_VARIABLE = "PGBLEND_DATABASE_URL"
_INDENT = re.compile(r"\{\s*\n([ \t]+)")


def stdio_entry(database_url: str | None, scopes: Sequence[str]) -> Configuration:
    """Return what starts `pgblend mcp`; no password is written into a file that others may read."""
    if database_url and has_password(database_url):
        raise UserError(
            "the database URL has a password, which would stand in a file",
            hint="leave it out of the URL, and put it into ~/.pgpass"
            "\nor name a service of ~/.pg_service.conf: postgresql://?service=NAME",
        )
    environment = {}
    if database_url:
        environment[_URL_VARIABLE] = database_url
    elif folder := os.environ.get(DATA_DIRECTORY_VARIABLE):  # of the private server
        environment[DATA_DIRECTORY_VARIABLE] = str(Path(folder).expanduser().resolve())
    arguments = ["mcp", *(part for scope in scopes for part in ("--scope", scope))]
    entry = {"type": "stdio", "command": _own_command(), "args": arguments}
    return entry | ({"env": environment} if environment else {})


def http_entry(url: str, client: AgentProgram) -> Configuration:
    """Return what calls `pgblend serve`; its token comes from where the program keeps it."""
    if not re.match(r"https?://[^/]+/", url):
        raise UserError(
            f"{url[:80]!r} is no address of the server",
            hint="name it with its path, such as http://127.0.0.1:8767/mcp",
        )
    kind = {"type": "http"} if client.names_http else {}
    return {**kind, "url": url, "headers": {"Authorization": f"Bearer {client.token}"}}


def part_of(client: AgentProgram, name: str, entry: Configuration) -> Configuration:
    """Return what a configuration needs for an entry, and no more."""
    more = client.more if "url" in entry else {}
    return {**more, client.key: {name: entry}}


def merged(path: Path, part: Configuration) -> str | None:
    """Return the file's text with a part put in; None where it has that already."""
    text = _read(path)
    before = _parsed(path, text) if text.strip() else {}
    after = _put_in(path, before, part)
    if after == before:
        return None
    found = _INDENT.match(text.lstrip())
    indent = found[1] if found else "  "
    return json.dumps(after, ensure_ascii=False, indent=indent) + "\n"


def write(path: Path, part: Configuration) -> bool:
    """Put a part into the file; tell whether that changed anything."""
    text = merged(path, part)
    if text is not None:
        replace_file(path, text)
    return text is not None


def _own_command() -> str:
    """Return the path of the command, which agents' programs do not look for in our environment."""
    beside = Path(sys.executable).with_name("pgblend")
    return str(beside if beside.exists() else find_program("pgblend") or "pgblend")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise _broken(path, "it is not UTF-8") from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error


def _parsed(path: Path, text: str) -> Configuration:
    try:
        found = json.loads(text, object_pairs_hook=_each_key_once)
    except ValueError as error:
        raise _broken(path, f"it is not JSON: {error}") from None
    except RecursionError:
        raise _broken(path, "it is nested too deep") from None
    if not isinstance(found, dict):
        raise _broken(path, "expected an object, such as {}")
    return found


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found


def _put_in(path: Path, before: Configuration, part: Configuration) -> Configuration:
    """Return a configuration with a part in it: objects are merged, lists get what they lack."""
    after = dict(before)
    for key, value in part.items():
        there = before.get(key, type(value)())
        if type(there) is not type(value):
            kind = "an object" if isinstance(value, dict) else "a list"
            raise _broken(path, f"expected {kind} under {key!r}")
        if isinstance(value, dict):
            after[key] = there | value
        else:
            ids = [each.get("id") for each in there if isinstance(each, dict)]
            after[key] = there + [each for each in value if each["id"] not in ids]
    return after


def _broken(path: Path, reason: str) -> UserError:
    return UserError(
        f"{path} is not a configuration that can be added to: {reason}",
        hint="mend the file\nor put what is printed without --write into it yourself",
    )
