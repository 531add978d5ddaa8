"""Tokens: random texts of which the database keeps digests, each good for a role and scopes."""

import hashlib
import secrets
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString

from pgblend.cli.database import Connection, fetch_rows, fetch_value
from pgblend.cli.errors import UserError
from pgblend.cli.parameters import shorten

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
        name, digest, role_name, role_oid, scopes, expires_at, is_link)
    SELECT %(name)s, %(digest)s, r.rolname, r.oid, %(scopes)s, %(expires_at)s, %(is_link)s
    FROM pg_catalog.pg_roles AS r WHERE r.rolname = %(role)s
    RETURNING id
"""
_LIST: LiteralString = """
    SELECT id, name, role_name AS role, scopes, expires_at, expires_at <= now() AS is_expired,
        created_by, created_at
    FROM pgblend_data.access_token ORDER BY id
"""
_REVOKE: LiteralString = "DELETE FROM pgblend_data.access_token WHERE id = %(id)s RETURNING name"


def digest_of(token: str) -> bytes:
    """Return what the database keeps: a token is 32 random bytes, so that sha256 is enough."""
    return hashlib.sha256(token.encode()).digest()


def make_token(
    connection: Connection,
    name: str,
    role: str,
    scopes: list[str],
    days: int,
    *,
    is_link: bool = False,
) -> tuple[int, str]:
    """Return number and text of a new token; nobody can find the text out later."""
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
        "name": name,
        "digest": digest_of(token),
        "role": role,
        "scopes": scopes,
        "expires_at": datetime.now(UTC) + timedelta(days=days),
        "is_link": is_link,
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
