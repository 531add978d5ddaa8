"""Do grants and tokens still belong to the roles that they were made for?"""

from collections.abc import Iterator
from itertools import groupby

from pgblend.cli.database import Connection, fetch_rows
from pgblend.cli.doctor.check import Check

# What counts no more, and what counts by its name alone since it came from another server.
_ROLES = """
    WITH given AS (
        SELECT g.role_name, g.role_oid, g.made_in, pg_catalog.format('%s on %s', g.privilege,
                pg_catalog.quote_ident(c.name)) AS what,
            pg_catalog.format('revoke_collection(%L, %L)', c.name, g.role_name) AS mend
        FROM pgblend_data.collection_grant AS g
        INNER JOIN pgblend_data.collection AS c ON c.id = g.collection_id
        UNION ALL
        SELECT t.role_name, t.role_oid, t.made_in, pg_catalog.format('token %s', t.id),
            pg_catalog.format('pgblend serve token revoke %s', t.id)
        FROM pgblend_data.access_token AS t
    )
    SELECT pg_catalog.quote_ident(g.role_name) AS role, g.what, g.mend,
        g.made_in <> s.system_identifier AS is_by_name,
        CASE
            WHEN g.made_in <> s.system_identifier AND named.oid IS NULL THEN 'is not there'
            WHEN g.made_in <> s.system_identifier THEN ''
            WHEN numbered.oid IS NOT NULL THEN 'is called '
                || pg_catalog.quote_ident(numbered.rolname)
            WHEN named.oid IS NOT NULL THEN 'was made anew'
            ELSE 'was dropped'
        END AS found
    FROM given AS g
    CROSS JOIN pg_catalog.pg_control_system() AS s
    LEFT JOIN pg_catalog.pg_roles AS named ON named.rolname = g.role_name
    LEFT JOIN pg_catalog.pg_roles AS numbered ON numbered.oid = g.role_oid
    WHERE g.made_in <> s.system_identifier OR named.oid IS NULL OR g.role_oid IS NULL
        OR named.oid <> g.role_oid
    ORDER BY 4, 1, 5, 2
"""
_MAY_READ = "SELECT has_table_privilege('pgblend_data.access_token', 'select') AS may_read"


def roles(connection: Connection) -> Iterator[Check]:
    """Name roles whose grants and tokens count no more, or for whoever has the name."""
    if not fetch_rows(connection, _MAY_READ)[0]["may_read"]:
        return
    rows = fetch_rows(connection, _ROLES)
    foreign = [row for row in rows if row["is_by_name"]]
    stale = [row for row in rows if not row["is_by_name"]]
    for (role, found), group in groupby(stale, lambda row: (row["role"], row["found"])):
        given = list(group)
        what = ", ".join(row["what"] for row in given)
        mends = [
            "give the role of today what it needs: grant_collection, `serve token make`",
            *(f"take away what is left: {row['mend']}" for row in given),
        ]
        mends = list(dict.fromkeys(mends))
        yield Check(f"role {role}", "warning", f"{found}: {what} count for nobody", mends)
    if foreign:
        named = list(dict.fromkeys(f"{row['role']} {row['found']}".rstrip() for row in foreign))
        yield Check(
            "roles",
            "warning",
            f"{len(foreign)} grants and tokens came from another server and count for whoever "
            f"has the name: {', '.join(named)}",
            (
                "make roles that are not there, or revoke what they were given",
                "run: pgblend migrate up, which binds them to the roles of this server",
            ),
        )


CHECKS = (roles,)
