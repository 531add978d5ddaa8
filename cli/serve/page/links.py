"""Links to the page: each opens it once, in one browser, with the rights of a role."""

import secrets
from typing import LiteralString

from pgblend.cli.database import Connection
from pgblend.cli.serve.tokens import make_token

_SCOPES = ["search", "ask", "feedback"]
_LAPSED: LiteralString = """
    DELETE FROM pgblend_data.access_token
    WHERE is_link AND created_at <= now() - interval '10 minutes'
"""
_BYTES = 32


def make_link(connection: Connection, url: str, role: str, days: int) -> str:
    """Return a link that is good for ten minutes, and gives a browser `days` days.

    What it says stands behind a #, which no browser sends to a server or writes into its log.
    """
    connection.execute(_LAPSED)
    _, token = make_token(connection, "page", role, _SCOPES, days, is_link=True)
    return f"{url}/#open={token}"


def new_halves() -> tuple[str, str]:
    """Return a cookie and a key, which are a token together.

    A cookie is sent to every port of a host, and a key can be read by scripts of the page: neither
    is worth anything without the other.
    """
    return secrets.token_urlsafe(_BYTES), secrets.token_urlsafe(_BYTES)


def joined(cookie: str, key: str) -> str:
    """Return the token of a browser."""
    return f"{cookie}.{key}"
