"""CREATE EXTENSION pgblend: what it makes, owns and refuses."""

import pytest

from pgblend.cli.base.errors import UserError
from pgblend.migrations import runner
from support.catalogue import revisions, schema
from support.database import Database
from support.extension_server import MEMBERS, install, set_free

pytestmark = pytest.mark.slow


@pytest.fixture
def installed(bare: Database) -> Database:
    install(bare)
    return bare


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


def test_it_goes_while_there_are_none(bare: Database) -> None:
    bare.rows("CREATE EXTENSION pgblend CASCADE")
    bare.rows("DROP EXTENSION pgblend")
    bare.rows("CREATE EXTENSION pgblend")


def test_migrations_leave_it_alone(installed: Database) -> None:
    before = schema(installed.url)
    for action in (runner.upgrade, runner.apply, lambda url: runner.downgrade(url, "base")):
        with pytest.raises(UserError, match="is an extension of this database") as caught:
            action(installed.url)
        assert "ALTER EXTENSION pgblend UPDATE" in str(caught.value.hint)
    assert schema(installed.url) == before


def test_it_refuses_what_migrate_up_made(bare: Database) -> None:
    runner.upgrade(bare.url)
    said = bare.error("CREATE EXTENSION pgblend")
    assert "pgblend migrate up" in str(said.message_primary)
    assert "another database" in str(said.message_hint)


def test_it_refuses_a_schema_of_its_name(bare: Database) -> None:
    bare.rows("CREATE SCHEMA blend")
    said = bare.error("CREATE EXTENSION pgblend CASCADE")
    assert said.message_primary == 'the schema "blend" is there and not pgblend\'s'


def test_only_superusers_install(installed: Database) -> None:
    installed.rows("CREATE ROLE member; GRANT pgblend_admin TO member; SET ROLE member")
    assert "permission denied" in str(installed.error("SELECT blend.install()").message_primary)
    installed.rows("RESET ROLE; GRANT EXECUTE ON FUNCTION blend.install TO member; SET ROLE member")
    assert "which member may not" in str(installed.error("SELECT blend.install()").message_primary)
    installed.rows("RESET ROLE; DROP OWNED BY member; DROP ROLE member")


def test_others_change_their_extensions(installed: Database) -> None:
    """The event trigger runs for them too, who may not look into our schemas."""
    name = installed.connection.info.dbname
    installed.rows(f"CREATE ROLE owner; GRANT CREATE ON DATABASE {name} TO owner; SET ROLE owner")
    installed.rows("CREATE SCHEMA own; CREATE EXTENSION hstore SCHEMA own")
    installed.rows("ALTER EXTENSION hstore UPDATE")
    installed.rows("RESET ROLE; DROP OWNED BY owner; DROP ROLE owner")


def test_installing_again_mends(installed: Database) -> None:
    before = schema(installed.url)
    installed.rows("DROP VIEW blend.search_latency")
    assert schema(installed.url) != before
    installed.rows("SELECT blend.install()")
    assert schema(installed.url) == before
