"""What definers believe, no role writes: attached tables, embedding spaces, shards."""

import re
from collections.abc import Callable, Iterator

import psycopg
import pytest

from support.database import Database
from support.hostile_tables import ATTACH, is_superuser, owner_of_a_table

pytestmark = pytest.mark.extended

REGISTRIES = (
    "attached_table",
    "embedding_space",
    "shard",
    "shard_bucket",
    "shard_copy",
    "shard_front",
    "shard_self",
)


@pytest.fixture
def app(committed: Database, connect_as: Callable[..., psycopg.Connection]) -> Iterator[Database]:
    """An admin of pgblend that owns app.t, where app.pwn() makes it a superuser."""
    with owner_of_a_table(committed, connect_as) as owner:
        committed.rows(f"GRANT pgblend_admin TO {owner.connection.info.user}")
        yield owner


def wanted(relation: str) -> str:
    """SQL for an attachment of any relation, as an admin may hand it to a routine."""
    return (
        "jsonb_populate_record(NULL::pgblend_data.attached_table, jsonb_build_object("
        f"'relation', '{relation}'::regclass::oid::text, 'table_name', '{relation}',"
        " 'collection_id', blend.add_collection('c' || random()), 'made_collection', true,"
        " 'key_columns', '{id}'::text[], 'text_columns', '{body}'::text[],"
        " 'metadata_columns', '{}'::text[], 'filter_columns', '{}'::text[],"
        " 'text_format', 'plain', 'row_level', false))"
    )


@pytest.mark.parametrize("table", REGISTRIES)
def test_no_role_writes_a_registry(committed: Database, table: str) -> None:
    assert committed.rows(
        "SELECT r.rolname, p.privilege FROM pg_roles AS r"
        " CROSS JOIN unnest('{INSERT,UPDATE,REFERENCES}'::text[]) AS p (privilege)"
        " WHERE r.rolname LIKE 'pgblend\\_%' AND NOT r.rolsuper"
        f" AND has_any_column_privilege(r.rolname, 'pgblend_data.{table}', p.privilege)"
        " UNION ALL SELECT r.rolname, p.privilege FROM pg_roles AS r"
        " CROSS JOIN unnest('{DELETE,TRUNCATE,TRIGGER}'::text[]) AS p (privilege)"
        " WHERE r.rolname LIKE 'pgblend\\_%' AND NOT r.rolsuper"
        f" AND has_table_privilege(r.rolname, 'pgblend_data.{table}', p.privilege)"
    ) == []  # fmt: skip


def test_an_admin_s_own_trigger_reads_no_view_as_a_superuser(
    committed: Database, app: Database
) -> None:
    role = str(app.connection.info.user)
    app.rows(f"SELECT blend.{ATTACH.strip().removeprefix('SELECT ')}")
    number = committed.value("SELECT id FROM pgblend_data.attached_table")
    app.rows("CREATE TEMP VIEW new_rows AS SELECT 1 AS id, app.pwn() AS body")
    app.rows("CREATE TEMP VIEW old_rows AS SELECT 1 AS id, app.pwn() AS body")
    makes = (
        "CREATE TRIGGER {0} AFTER {0} ON app.t FOR EACH STATEMENT"
        f" EXECUTE FUNCTION pgblend._table_changed('{number}')"
    )
    assert app.error(makes.format("insert")).sqlstate == "42501"
    assert app.error("SELECT pgblend._table_changed()").sqlstate == "42501"
    # Such triggers, whoever made them, run none of it.
    for event, write in (
        ("insert", "INSERT INTO app.t (id, body) VALUES (2, 'x')"),
        ("update", "UPDATE app.t SET body = 'y'"),
        ("delete", "DELETE FROM app.t WHERE id = 1"),
    ):
        committed.rows(makes.format(event))
        said = app.error(write)
        assert "has no transition tables" in str(said.message_primary)
        committed.rows(f"DROP TRIGGER {event} ON app.t")
    for_rows = makes.replace("STATEMENT", "ROW").format("insert")
    committed.rows(for_rows)
    assert "has no transition tables" in str(
        app.error("INSERT INTO app.t (id, body) VALUES (2, 'x')").message_primary
    )
    assert not [told for told in app.warnings() if f"ran as {role}" != told]
    assert not is_superuser(committed, role)


@pytest.mark.parametrize(
    "relation",
    ["pg_catalog.pg_stat_activity", "pg_catalog.pg_authid", "secret.of_superuser",
     "secret.shown", "pgblend_data.access_token", "app.foreign_rows"],
)  # fmt: skip
def test_no_admin_registers_what_is_not_its_own_table(
    committed: Database, app: Database, relation: str
) -> None:
    role = str(app.connection.info.user)
    committed.rows(f"""
        CREATE SCHEMA secret;
        CREATE TABLE secret.of_superuser (id int PRIMARY KEY, body text);
        CREATE VIEW secret.shown AS SELECT * FROM secret.of_superuser;
        CREATE EXTENSION file_fdw;
        CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
        CREATE FOREIGN TABLE app.foreign_rows (id int, body text) SERVER files
        OPTIONS (filename '/etc/passwd');
        GRANT ALL ON ALL TABLES IN SCHEMA secret TO {role};
        GRANT USAGE, CREATE ON SCHEMA secret TO {role};
        ALTER TABLE app.foreign_rows OWNER TO {role}
    """)
    for call in (
        f"SELECT pgblend._keep_attachment({wanted(relation)})",
        f"SELECT * FROM blend.attach_table('{relation}', '{{body}}', key_columns => '{{id}}')",
    ):
        said = app.error(call)
        assert said.sqlstate in ("42501", "22023")
        assert re.search("expected a|may not read", str(said.message_primary))
    assert committed.rows("SELECT FROM pgblend_data.attached_table") == []


def test_a_role_attaches_tables_of_a_role_that_it_may_become(
    committed: Database, app: Database, connect_as: Callable[..., psycopg.Connection]
) -> None:
    role = str(app.connection.info.user)
    admin = Database(connect_as("pgblend_admin"))
    name = admin.connection.info.user
    committed.rows(f"GRANT ALL ON app.t TO {name}; GRANT USAGE ON SCHEMA app TO {name}")
    attach = f"SELECT blend.{ATTACH.strip().removeprefix('SELECT ')}"
    assert f"expected a table of a role that {name} may become" in str(
        admin.error(attach).message_primary
    )
    committed.rows(f"GRANT {role} TO {name}")
    admin.rows(attach)
    committed.rows(f"REVOKE {role} FROM {name}")
    said = admin.error("SELECT blend.detach_table('app.t')")
    assert said.message_primary == f"{name} may not become the owner of app.t"
    assert app.value("SELECT blend.detach_table('app.t')") == 1


def test_an_admin_reads_no_row_that_row_security_hides_from_it(
    committed: Database, app: Database, connect_as: Callable[..., psycopg.Connection]
) -> None:
    admin = Database(connect_as("pgblend_admin"))
    name = admin.connection.info.user
    app.rows(f"SELECT blend.{ATTACH.strip().removeprefix('SELECT ')}")
    committed.rows(f"GRANT SELECT ON app.t TO {name}; GRANT USAGE ON SCHEMA app TO {name}")
    number = committed.value("SELECT id FROM pgblend_data.attached_table")
    read = f"SELECT key FROM pgblend._read_attached({number}, 'keys', NULL, NULL)"
    assert admin.column(read) == ["1"]
    app.rows("ALTER TABLE app.t ENABLE ROW LEVEL SECURITY")
    for call in (read, "SELECT blend.fill_table('app.t', 10, true)"):
        assert "may not read all rows of app.t" in str(admin.error(call).message_primary)
    assert app.value("SELECT blend.fill_table('app.t', 10, true)") == 1


def test_a_row_filter_past_attach_table_has_the_owner_s_rights_alone(
    committed: Database, app: Database
) -> None:
    """attach_table refuses such a filter; who hands it to the routine gains nothing by it."""
    role = str(app.connection.info.user)
    kept = wanted("app.t").replace("'row_level',", "'row_filter', 'app.pwn() = body', 'row_level',")
    app.rows(f"SELECT pgblend._keep_attachment({kept})")
    app.warnings()
    committed.warnings()
    app.rows("INSERT INTO app.t (id, body) VALUES (7, 'a')")
    committed.rows("SELECT fill_table('app.t', 10, true)")
    committed.rows("SELECT * FROM check_attached_tables()")
    told = {one for one in app.warnings() + committed.warnings() if one.startswith("ran as")}
    assert told == {f"ran as {role}"}
    assert not is_superuser(committed, role)
    committed.rows("ALTER TABLE app.t OWNER TO CURRENT_USER")
    refused = committed.error("SELECT fill_table('app.t', 10, true)").message_primary
    assert str(refused).startswith("app.t has another owner")


def test_what_an_admin_says_of_another_s_triggers_is_not_believed(
    committed: Database, app: Database
) -> None:
    """Else attaching a table of one's own took the triggers off another's."""
    committed.rows("CREATE TABLE public.other (id int PRIMARY KEY, body text)")
    committed.rows("SELECT attach_table('other', '{body}')")
    told = (
        "'id', (SELECT id FROM pgblend_data.attached_table),"
        " 'partitions', ARRAY['public.other'::regclass::oid::text], 'row_level',"
    )
    kept = wanted("app.t").replace("'row_level',", told)
    app.rows(f"SELECT pgblend._keep_attachment({kept})")
    committed.rows("INSERT INTO public.other VALUES (1, 'a gnu')")
    assert committed.column("SELECT source_key FROM lexical_search('gnu')") == ["1"]
    problems = "SELECT problem FROM check_attached_tables() WHERE table_name LIKE '%%other'"
    assert committed.column(problems) == []


def test_the_owner_of_a_partitioned_table_makes_partitions(
    committed: Database, app: Database
) -> None:
    app.rows("CREATE TABLE app.p (id int PRIMARY KEY, body text) PARTITION BY RANGE (id)")
    app.rows("CREATE TABLE app.p1 PARTITION OF app.p FOR VALUES FROM (0) TO (10)")
    app.rows("INSERT INTO app.p VALUES (1, 'a gnu')")
    app.rows("SELECT blend.attach_table('app.p', '{body}')")
    app.rows("CREATE TABLE app.p2 PARTITION OF app.p FOR VALUES FROM (10) TO (20)")
    app.rows("INSERT INTO app.p2 VALUES (11, 'the other gnu')")
    app.rows("UPDATE app.p SET id = 12 WHERE id = 1")
    found = "SELECT source_key FROM lexical_search('gnu') ORDER BY 1"
    assert committed.column(found) == ["11", "12"]


@pytest.mark.parametrize("name", ["allowance", "worker", "queue", "space"])
def test_no_space_has_the_name_of_a_table_of_ours(committed: Database, name: str) -> None:
    said = committed.error(
        f"SELECT blend.create_embedding_space('{name}', 'm', 3, 'vector', true, false)"
    )
    assert said.sqlstate == "22023"
    assert committed.value(f"SELECT blend.drop_embedding_space('{name}', true)") is False
    assert committed.value(f"SELECT to_regclass('pgblend_data.embedding_{name}')") is not None
