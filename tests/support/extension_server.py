"""A server whose CREATE EXTENSION reads a folder of its own, and databases of it."""

import itertools
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from pgblend.cli.operate.cluster import Cluster
from support.catalogue import schema
from support.database import Database

MEMBERS = (
    "SELECT format('%s %s', o.type, o.identity) FROM pg_depend AS d,"
    " pg_identify_object(d.classid, d.objid, 0) AS o WHERE d.deptype = 'e' AND d.refobjid ="
    " (SELECT oid FROM pg_extension WHERE extname = 'pgblend') ORDER BY 1"
)


class Place:
    """A server with an extension folder of its own."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.numbers = itertools.count()

    def install(self, folder: Path) -> None:
        """Put an extension's files into the server's folder, as its Makefile does."""
        program = self.cluster.binaries["pg_config"]
        make = ["make", "-C", str(folder), "install", f"PG_CONFIG={program}"]
        done = subprocess.run(make, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def url(self, database: str) -> str:
        return make_conninfo("", **{**self.cluster.connection_parameters(), "dbname": database})

    @contextmanager
    def database(self) -> Iterator[Database]:
        """An empty database in which blend needs no schema name."""
        name = f"extension_{next(self.numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {name}".encode())
            # Not "$user": the superuser is called as the schema pgblend.
            admin.execute(f"ALTER DATABASE {name} SET search_path = public, blend".encode())
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            yield Database(connection)


def install(db: Database, version: str = "") -> None:
    db.rows(f"CREATE EXTENSION pgblend {version} CASCADE")
    db.rows("SELECT blend.install()")


def set_free(db: Database) -> str:
    """Take all from the extension, drop what is its alone; return what pg_dump sees then."""
    db.rows("ALTER EXTENSION pgblend DROP EVENT TRIGGER pgblend_follow_update")
    db.rows("DROP EVENT TRIGGER pgblend_follow_update")
    for member in db.column(MEMBERS):
        if member in db.column(MEMBERS):  # from PostgreSQL 17 on an array goes with its type
            db.rows(f"ALTER EXTENSION pgblend DROP {member}")
    db.rows("DROP EXTENSION pgblend")
    db.rows("DROP FUNCTION pgblend._follow_update, pgblend._made, blend.install")
    return schema(db.url)
