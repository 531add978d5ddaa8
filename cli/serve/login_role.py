"""The role that the door connects as: it may take on the roles of tokens, and nothing by itself."""

from typing import LiteralString

from pgblend.cli.database import Connection, fetch_rows
from pgblend.cli.errors import UserError

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
