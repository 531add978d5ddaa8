"""Tokens: random texts with a digest in the database, each good for a role and scopes; links."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString, NamedTuple

from pgblend.cli.base.database import Connection, fetch_rows, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.parameters import shorten

SCOPES = {
    "search": "search, context, facets, explain, diagnose, documents",
    "ask": "answers, which cost what the answer model costs",
    "feedback": "judgements of what was found",
    "remember": "texts that an agent is told to keep",
    "metrics": "the counts at /metrics",
}
PREFIX = "pgb_"  # so that scanners of secrets know one
_BYTES = 32

_ROLE: LiteralString = """
    SELECT r.rolsuper OR r.rolbypassrls AS sees_all, pg_has_role(r.oid, 'MEMBER') AS is_ours
    FROM pg_catalog.pg_roles AS r WHERE r.rolname = %(role)s
"""
_MAKE: LiteralString = """
    INSERT INTO pgblend_data.access_token (
        name, digest, role_name, role_oid, scopes, groups, expires_at, is_link)
    SELECT %(name)s, %(digest)s, r.rolname, r.oid, %(scopes)s, %(groups)s, %(expires_at)s,
        %(is_link)s
    FROM pg_catalog.pg_roles AS r WHERE r.rolname = %(role)s
    RETURNING id
"""
_LIST: LiteralString = """
    SELECT id, name, role_name AS role, scopes, groups, expires_at,
        expires_at <= now() AS is_expired, created_by, created_at
    FROM pgblend_data.access_token ORDER BY id
"""
_REVOKE: LiteralString = "DELETE FROM pgblend_data.access_token WHERE id = %(id)s RETURNING name"


def digest_of(token: str) -> bytes:
    """Return what the database keeps: a token is 32 random bytes, so that sha256 is enough."""
    return hashlib.sha256(token.encode()).digest()


class Grant(NamedTuple):
    """What a token lets its bearer do, and for how many days.

    `groups` are those that its calls hold, readers of documents. A link lets in a browser.
    """

    name: str
    role: str
    scopes: Sequence[str]
    days: int
    groups: Sequence[str] = ()
    is_link: bool = False


def make_token(connection: Connection, grant: Grant) -> tuple[int, str]:
    """Return number and text of a new token; nobody can find the text out later."""
    role = grant.role
    rows = fetch_rows(connection, _ROLE, {"role": role})
    if not rows:
        raise UserError(
            f"there is no role {shorten(role)}", hint=f"CREATE ROLE {role} IN ROLE pgblend_reader"
        )
    if rows[0]["sees_all"]:
        raise UserError(
            f"the role {shorten(role)} sees all rows: a superuser, or BYPASSRLS",
            hint="name a role of one application or tenant: a member of pgblend_reader",
        )
    if not rows[0]["is_ours"]:
        raise UserError(
            f"the role {shorten(role)} is not yours to give away",
            hint=f"ask who may: GRANT {role} TO the role that you connect as",
        )
    token = PREFIX + secrets.token_urlsafe(_BYTES)
    values = {
        "name": grant.name,
        "digest": digest_of(token),
        "role": role,
        "scopes": list(grant.scopes),
        "groups": list(grant.groups),
        "expires_at": datetime.now(UTC) + timedelta(days=grant.days),
        "is_link": grant.is_link,
    }
    return fetch_value(connection, _MAKE, values), token


def list_tokens(connection: Connection) -> list[dict[str, Any]]:
    """Return all tokens without their texts, expired ones too."""
    return fetch_rows(connection, _LIST)


def revoke_token(connection: Connection, number: int) -> str:
    """End a token at once, and return its name."""
    name = fetch_value(connection, _REVOKE, {"id": number})
    if name is None:
        raise UserError(f"there is no token {number}", hint="run: pgblend serve token list")
    return str(name)


# Links to the page: each opens it once, in one browser, with the rights of a role.

_SCOPES = ["search", "ask", "feedback"]
_LAPSED: LiteralString = """
    DELETE FROM pgblend_data.access_token
    WHERE is_link AND created_at <= now() - interval '10 minutes'
"""


def make_link(
    connection: Connection, url: str, role: str, days: int, groups: Sequence[str] = ()
) -> str:
    """Return a link that is good for ten minutes, and gives a browser `days` days.

    What it says stands behind a #, which no browser sends to a server or writes into its log.
    """
    connection.execute(_LAPSED)
    _, token = make_token(connection, Grant("page", role, _SCOPES, days, groups, is_link=True))
    return f"{url}/#open={token}"


def new_halves() -> tuple[str, str]:
    """Return a cookie and a key, which are a token together.

    A cookie is sent to every port of a host. A key can be read by scripts of the page. Neither is
    worth anything without the other.
    """
    return secrets.token_urlsafe(_BYTES), secrets.token_urlsafe(_BYTES)


def joined(cookie: str, key: str) -> str:
    """Return the token of a browser."""
    return f"{cookie}.{key}"


# The role that the door connects as: it may take on the roles of tokens, and nothing by itself.

_FACTS: LiteralString = """
    SELECT
        r.rolname AS name, r.rolsuper, r.rolinherit, r.rolbypassrls, r.rolcreaterole,
        r.rolcreatedb, r.rolreplication,
        EXISTS (
            SELECT FROM pg_catalog.pg_shdepend AS d
            WHERE d.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass
                AND d.refobjid = r.oid AND d.deptype = 'o') AS owns,
        pg_catalog.pg_has_role(r.oid, 'pgblend_serve', 'MEMBER') AS serves,
        (SELECT pg_catalog.string_agg(o.rolname, ', ' ORDER BY o.rolname)
            FROM pg_catalog.pg_roles AS o
            WHERE o.oid <> r.oid AND pg_catalog.pg_has_role(r.oid, o.oid, 'MEMBER')
                AND (o.rolsuper OR o.rolbypassrls OR o.rolcreaterole)) AS mighty,
        (SELECT pg_catalog.string_agg(pg_catalog.quote_ident(o.rolname), ', ' ORDER BY o.rolname)
            FROM pg_catalog.pg_roles AS o
            WHERE o.oid <> r.oid AND pg_catalog.pg_has_role(r.oid, o.oid, 'USAGE')) AS inherited
    FROM pg_catalog.pg_roles AS r WHERE r.rolname = session_user
"""
# What it has, and what takes it away.
_TOO_MUCH = {
    "rolsuper": ("is a superuser", "NOSUPERUSER"),
    "rolinherit": ("inherits the rights of its roles", "NOINHERIT"),
    "rolbypassrls": ("goes past row security", "NOBYPASSRLS"),
    "rolcreaterole": ("makes roles", "NOCREATEROLE"),
    "rolcreatedb": ("makes databases", "NOCREATEDB"),
    "rolreplication": ("may replicate", "NOREPLICATION"),
}


def check_login_role(connection: Connection) -> None:
    """Refuse a login that could do anything without a token; the hint mends it."""
    (facts,) = fetch_rows(connection, _FACTS)
    name = facts["name"]
    too_much = [(what, mend) for key, (what, mend) in _TOO_MUCH.items() if facts[key]]
    if too_much:
        raise UserError(
            f"the role {name} is no login for serve: it {' and '.join(w for w, _ in too_much)}",
            hint="make its own: CREATE ROLE pgblend_door LOGIN NOINHERIT IN ROLE pgblend_serve"
            f"\nALTER ROLE {name} {' '.join(m for _, m in too_much)}",
        )
    if facts["inherited"]:  # since PostgreSQL 16 each membership says so, whatever the role says
        raise UserError(
            f"the role {name} is no login for serve: it inherits the rights of its memberships",
            hint=f"GRANT {facts['inherited']} TO {name} WITH INHERIT FALSE",
        )
    if facts["owns"]:
        raise UserError(
            f"the role {name} is no login for serve: it owns tables or other objects",
            hint=f"connect as a role of its own, or: REASSIGN OWNED BY {name} TO …",
        )
    if facts["mighty"]:
        raise UserError(
            f"the role {name} is no login for serve: it may become {facts['mighty']}",
            hint=f"REVOKE {facts['mighty']} FROM {name}",
        )
    if not facts["serves"]:
        raise UserError(
            f"the role {name} may not look up tokens", hint=f"GRANT pgblend_serve TO {name}"
        )
