"""CREATE EXTENSION pgblend, on a server with an extension folder of its own."""

import itertools
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgblend.cli.errors import UserError
from pgblend.migrations import runner
from pgblend.migrations.as_extension.build import build
from support.catalogue import revisions, schema
from support.database import Database
from support.relocated_server import relocated_cluster

pytestmark = pytest.mark.slow

MEMBERS = (
    "SELECT format('%s %s', o.type, o.identity) FROM pg_depend AS d,"
    " pg_identify_object(d.classid, d.objid, 0) AS o WHERE d.deptype = 'e' AND d.refobjid ="
    " (SELECT oid FROM pg_extension WHERE extname = 'pgblend') ORDER BY 1"
)
NewDatabase = Callable[[], Database]


class Place:
    """A server, and its extension folder."""

    def __init__(self, parameters: dict[str, Any], extensions: Path) -> None:
        self.parameters = parameters
        self.extensions = extensions
        self.numbers = itertools.count()

    def url(self, database: str) -> str:
        return make_conninfo("", **{**self.parameters, "dbname": database})

    @contextmanager
    def database(self) -> Iterator[Database]:
        """An empty database in which blend needs no schema name."""
        name = f"extension_{next(self.numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {name}".encode())
            admin.execute(
                f'ALTER DATABASE {name} SET search_path = "$user", public, blend'.encode()
            )
        with psycopg.connect(self.url(name), autocommit=True) as connection:
            yield Database(connection)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with relocated_cluster() as (cluster, extensions):
        for path in build(tmp_path_factory.mktemp("extension")):
            if path.name.startswith("pgblend"):
                shutil.copy(path, extensions)
        yield Place(cluster.connection_parameters(), extensions)


@pytest.fixture
def empty(place: Place) -> Iterator[Database]:
    with place.database() as db:
        yield db


@pytest.fixture
def installed(empty: Database) -> Database:
    install(empty)
    return empty


def install(db: Database, version: str = "") -> None:
    db.rows(f"CREATE EXTENSION pgblend {version} CASCADE")
    db.rows("SELECT blend.install()")


def set_free(db: Database) -> str:
    """Take all from the extension, drop what is its alone; return what pg_dump sees then."""
    db.rows("ALTER EXTENSION pgblend DROP EVENT TRIGGER pgblend_follow_update")
    db.rows("DROP EVENT TRIGGER pgblend_follow_update")
    for member in db.column(MEMBERS):
        db.rows(f"ALTER EXTENSION pgblend DROP {member}")
    db.rows("DROP EXTENSION pgblend")
    db.rows("DROP FUNCTION pgblend._follow_update, pgblend._made, blend.install")
    return schema(db.url)


def test_it_makes_what_migrate_up_makes(installed: Database, fresh_schema: str) -> None:
    assert set_free(installed) == fresh_schema


def test_its_status_and_drift(installed: Database) -> None:
    found = runner.status(installed.url)
    assert (found["current"], found["pending"], found["drift"]) == (revisions()[-1], [], False)
    installed.rows("ALTER FUNCTION blend.rrf SET search_path = public")
    installed.rows(
        "CREATE OR REPLACE FUNCTION pgblend._bucket_of(text) RETURNS int LANGUAGE sql AS 'SELECT 1'"
    )
    assert runner.status(installed.url)["drift"] is True


def test_it_owns_no_table_and_stays_while_there_are_some(installed: Database) -> None:
    owned = {member.partition(" ")[0] for member in installed.column(MEMBERS)}
    assert owned == {"event", "function", "schema", "type"}
    said = installed.error("DROP EXTENSION pgblend")
    assert said.sqlstate == "2BP01"
    assert "table pgblend_data.document depends on" in str(said.message_detail)
    installed.rows("DROP EXTENSION pgblend CASCADE")
    left = "SELECT nspname FROM pg_namespace WHERE nspname LIKE '%blend%'"
    assert installed.rows(left) == []


def test_it_goes_while_there_are_none(empty: Database) -> None:
    empty.rows("CREATE EXTENSION pgblend CASCADE")
    empty.rows("DROP EXTENSION pgblend")
    empty.rows("CREATE EXTENSION pgblend")


def test_migrations_leave_it_alone(installed: Database) -> None:
    before = schema(installed.url)
    for action in (runner.upgrade, runner.apply, lambda url: runner.downgrade(url, "base")):
        with pytest.raises(UserError, match="is an extension of this database") as caught:
            action(installed.url)
        assert "ALTER EXTENSION pgblend UPDATE" in str(caught.value.hint)
    assert schema(installed.url) == before


def test_it_refuses_what_migrate_up_made(empty: Database) -> None:
    runner.upgrade(empty.url)
    said = empty.error("CREATE EXTENSION pgblend")
    assert "pgblend migrate up" in str(said.message_primary)
    assert "another database" in str(said.message_hint)


def test_it_refuses_a_schema_of_its_name(empty: Database) -> None:
    empty.rows("CREATE SCHEMA blend")
    said = empty.error("CREATE EXTENSION pgblend CASCADE")
    assert said.message_primary == 'the schema "blend" is there and not pgblend\'s'


def test_only_superusers_install(installed: Database) -> None:
    installed.rows("CREATE ROLE member; GRANT pgblend_admin TO member; SET ROLE member")
    assert "permission denied" in str(installed.error("SELECT blend.install()").message_primary)
    installed.rows("RESET ROLE; GRANT EXECUTE ON FUNCTION blend.install TO member; SET ROLE member")
    assert "which member may not" in str(installed.error("SELECT blend.install()").message_primary)
    installed.rows("RESET ROLE; DROP OWNED BY member; DROP ROLE member")


def test_installing_again_mends(installed: Database) -> None:
    before = schema(installed.url)
    installed.rows("DROP VIEW blend.search_latency")
    assert schema(installed.url) != before
    installed.rows("SELECT blend.install()")
    assert schema(installed.url) == before
