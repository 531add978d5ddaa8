"""Agents' programs, and how each is told of a server: file, key, and where a token comes from."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import platformdirs

TOKEN_VARIABLE = "PGBLEND_TOKEN"


@dataclass(frozen=True)
class Client:
    """One program. `token` is what it puts a token in the place of; none stands in a file."""

    project_file: str
    user_file: Callable[[], Path]
    key: str
    token: str
    more: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # beside a server over HTTP
    names_http: bool = True  # whether a server over HTTP has a type; else its url tells


CLIENTS = {
    "claude-code": Client(
        ".mcp.json",
        lambda: Path.home() / ".claude.json",
        "mcpServers",
        f"${{{TOKEN_VARIABLE}}}",
    ),
    "cursor": Client(
        ".cursor/mcp.json",
        lambda: Path.home() / ".cursor" / "mcp.json",
        "mcpServers",
        f"${{env:{TOKEN_VARIABLE}}}",
        names_http=False,
    ),
    "vscode": Client(
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
