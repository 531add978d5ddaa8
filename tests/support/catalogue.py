"""Databases as text, to compare them; and PostgreSQL's own clients."""

import os
import subprocess

import psycopg
from psycopg.conninfo import conninfo_to_dict

from pgblend.cli.base.revision import known_revisions
from pgblend.cli.operate.postmaster import find_binaries


def granted_to(role: str) -> str:
    """Return the condition that pg_proc AS p is granted to a role, not just to everybody.

    Everybody may call public routines that ask for the caller's role by themselves.
    """
    return (
        "EXISTS (SELECT FROM aclexplode(p.proacl) AS a"
        f" WHERE a.grantee <> 0 AND pg_has_role('{role}', a.grantee, 'USAGE'))"
    )


def revisions() -> list[str]:
    """Return all revisions, oldest first."""
    return known_revisions()


def run_client(program: str, url: str, *arguments: str, stdin: str | None = None) -> str:
    """Run pg_dump or psql on a database; return its output."""
    parts = conninfo_to_dict(url)
    environment = {
        **os.environ,
        "PGHOST": str(parts["host"]),
        "PGPORT": str(parts["port"]),
        "PGUSER": str(parts["user"]),
        "PGPASSWORD": str(parts.get("password") or ""),
        "PGDATABASE": str(parts["dbname"]),
    }
    done = subprocess.run(
        [str(find_binaries()[program]), *arguments],
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def schema(url: str) -> str:
    """Return all that pg_dump knows of a schema: definitions, comments, grants, policies.

    But for comments on extensions, which say who created them.
    """
    left_out = ("--", "COMMENT ON EXTENSION ")
    lines = contents(url, "--schema-only").splitlines()
    return "\n".join(line for line in lines if line and not line.startswith(left_out))


def contents(url: str, *options: str) -> str:
    """Return what pg_dump writes, without the random word that newer versions guard it with."""
    lines = run_client("pg_dump", url, *options).splitlines()
    return "\n".join(line for line in lines if not line.startswith(("\\restrict", "\\unrestrict")))


def settings_of(url: str) -> list[str]:
    """Return the settings that a database has of its own, such as search_path."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT unnest(setconfig) FROM pg_db_role_setting AS s JOIN pg_database AS d"
            " ON d.oid = s.setdatabase WHERE datname = current_database() AND s.setrole = 0"
        ).fetchall()
    return [value for (value,) in rows]
