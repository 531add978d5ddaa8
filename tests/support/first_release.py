"""pgblend 0.0.1 as it was left in databases: a dump of revision 0010, made by that version."""

from pathlib import Path

import psycopg
from psycopg import sql

from support.catalogue import run_client

DUMP = Path(__file__).parent.parent / "upgrade" / "release_0.0.1.sql"
# A dump has no roles, and they are the server's.
ROLES = """
DO $do$
DECLARE
    made name;
BEGIN
    LOCK TABLE pg_catalog.pg_authid IN SHARE ROW EXCLUSIVE MODE;
    FOREACH made IN ARRAY
        ARRAY['pgblend_reader', 'pgblend_writer', 'pgblend_admin', 'pgblend_gateway']
    LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles AS r WHERE r.rolname = made) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', made);
        END IF;
    END LOOP;
    GRANT pgblend_reader TO pgblend_writer;
    GRANT pgblend_writer TO pgblend_admin;
END
$do$;
"""


def install_first_release(url: str) -> None:
    """Make a database what `pgblend migrate up` of 0.0.1 made of it."""
    script = ROLES + DUMP.read_text(encoding="utf-8")
    run_client("psql", url, "--quiet", "--set", "ON_ERROR_STOP=1", stdin=script)


def name_its_schema(url: str) -> None:
    """Give a database the search_path that 0.0.1 gave it, which no dump and no clone has."""
    with psycopg.connect(url, autocommit=True) as connection:
        database = sql.Identifier(connection.info.dbname)
        connection.execute(
            sql.SQL('ALTER DATABASE {} SET search_path = "$user", public, pgblend').format(database)
        )
