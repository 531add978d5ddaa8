"""Whoever owns an attached table gains no right by it, nor does an admin.

Every piece of code that a table's owner can have evaluated tries to make its owner a superuser, and
tells as whom it ran.
"""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from pgblend.cli.database import connect
from support.database import Database

SCHEMA = """
    CREATE SCHEMA app AUTHORIZATION {role};
    SET ROLE {role};
    CREATE TABLE app.t (id int PRIMARY KEY, body text, note text, tags text[], page text, day text);
    INSERT INTO app.t VALUES (1, 'The walrus swims.', 'a', '{{a}}', 'a', NULL);
    CREATE FUNCTION app.pwn() RETURNS text LANGUAGE plpgsql AS $$
    BEGIN
        RAISE WARNING 'ran as %', CURRENT_USER;
        BEGIN EXECUTE 'ALTER ROLE {role} SUPERUSER'; EXCEPTION WHEN OTHERS THEN NULL; END;
        RETURN 'a';
    END $$;
    RESET ROLE;
"""
ATTACH = """
    SELECT attach_table('app.t', '{body}', 'note', '{note,tags}', uri_column => 'page',
        modified_column => 'day')
"""
# What each lets the table's owner write, before rows are written, read again, filled and checked.
CASTS = """
    CREATE FUNCTION app.to_text({type}) RETURNS text LANGUAGE sql AS 'SELECT app.pwn()';
    CREATE CAST ({type} AS text) WITH FUNCTION app.to_text({type}) AS IMPLICIT;
    CREATE FUNCTION app.to_json({type}) RETURNS json LANGUAGE sql
        AS 'SELECT to_json(app.pwn())';
    CREATE CAST ({type} AS json) WITH FUNCTION app.to_json({type}) AS IMPLICIT;
    CREATE FUNCTION app.to_jsonb({type}) RETURNS jsonb LANGUAGE sql
        AS 'SELECT to_jsonb(app.pwn())';
    CREATE CAST ({type} AS jsonb) WITH FUNCTION app.to_jsonb({type}) AS IMPLICIT;
    CREATE FUNCTION app.to_time({type}) RETURNS timestamptz LANGUAGE sql
        AS 'SELECT app.pwn(); SELECT now()';
    CREATE CAST ({type} AS timestamptz) WITH FUNCTION app.to_time({type}) AS IMPLICIT;
    CREATE FUNCTION app.same({type}, {type}) RETURNS boolean LANGUAGE sql
        AS 'SELECT app.pwn() IS NOT NULL';
    CREATE OPERATOR app.= (FUNCTION = app.same, LEFTARG = {type}, RIGHTARG = {type});
"""
COLUMNS = "".join(
    f"ALTER TABLE app.t ALTER COLUMN {column} TYPE {{type}} USING {{value}};"
    for column in ("body", "note", "page", "day")
)


def of_type(create: str, type_name: str, value: str, more: str = CASTS) -> str:
    """The table's columns get a type of its owner's, with casts and an operator."""
    return (create + more + COLUMNS).format(type=type_name, value=value)


ENUM = "CREATE TYPE app.evil AS ENUM ('a');"
CHANGES = {
    "enum": of_type(ENUM, "app.evil", "'a'::app.evil"),
    "domain with CHECK": of_type(
        "CREATE DOMAIN app.evil AS text CHECK (app.pwn() IS NOT NULL);", "app.evil",
        "'a'::app.evil", "",
    ),
    "range": of_type(
        "CREATE TYPE app.evil AS RANGE (subtype = int4);", "app.evil", "app.evil(1, 2)"
    ),
    "composite": of_type("CREATE TYPE app.evil AS (a int);", "app.evil", "ROW(1)::app.evil"),
    "composite of enum": of_type(
        ENUM + CASTS.format(type="app.evil") + "CREATE TYPE app.more AS (a app.evil);",
        "app.more", "ROW('a')::app.more", "",
    ),
    "array of enum": of_type(
        ENUM + CASTS.format(type="app.evil"), "app.evil[]", "ARRAY['a']::app.evil[]", ""
    ),
    "array of composite": of_type(
        "CREATE TYPE app.evil AS (a int);" + CASTS.format(type="app.evil"), "app.evil[]",
        "ARRAY[ROW(1)]::app.evil[]", "",
    ),
    "a type named text": of_type(
        "CREATE TYPE app.text AS ENUM ('a');", "app.text", "'a'::app.text"
    ) + "ALTER TABLE app.t ALTER COLUMN id TYPE app.text USING 'a'::app.text;",
    "key of an enum": of_type(ENUM, "app.evil", "'a'::app.evil")
    + "ALTER TABLE app.t ALTER COLUMN id TYPE app.evil USING 'a'::app.evil;",
    "key of a domain": """
        CREATE DOMAIN app.evil AS int CHECK (app.pwn() IS NOT NULL);
        ALTER TABLE app.t ALTER COLUMN id TYPE app.evil;
    """,
    "row security": """
        ALTER TABLE app.t ENABLE ROW LEVEL SECURITY;
        ALTER TABLE app.t FORCE ROW LEVEL SECURITY;
        CREATE POLICY p ON app.t USING (app.pwn() IS NOT NULL);
    """,
    "row security that sets search_path": """
        CREATE FUNCTION app.look() RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN PERFORM set_config('search_path', 'app, pg_catalog', false); RETURN true; END $$;
        CREATE FUNCTION app.same(text, text) RETURNS boolean LANGUAGE plpgsql
        AS $$ BEGIN PERFORM app.pwn(); RETURN true; END $$;
        CREATE OPERATOR app.= (FUNCTION = app.same, LEFTARG = text, RIGHTARG = text);
        CREATE OPERATOR app.<> (FUNCTION = app.same, LEFTARG = text, RIGHTARG = text);
        ALTER TABLE app.t ENABLE ROW LEVEL SECURITY;
        ALTER TABLE app.t FORCE ROW LEVEL SECURITY;
        CREATE POLICY p ON app.t USING (app.look());
    """,
    "row security that leaves a deferred trigger": """
        CREATE TABLE app.later (id int);
        CREATE FUNCTION app.fire() RETURNS trigger LANGUAGE plpgsql
        AS $$ BEGIN PERFORM app.pwn(); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER c AFTER INSERT ON app.later DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION app.fire();
        CREATE FUNCTION app.leave() RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN
            BEGIN INSERT INTO app.later VALUES (1); EXCEPTION WHEN OTHERS THEN NULL; END;
            RETURN true;
        END $$;
        ALTER TABLE app.t ENABLE ROW LEVEL SECURITY;
        ALTER TABLE app.t FORCE ROW LEVEL SECURITY;
        CREATE POLICY p ON app.t FOR SELECT USING (app.leave());
        CREATE POLICY w ON app.t FOR INSERT WITH CHECK (true);
    """,
    "index that is planned": """
        CREATE FUNCTION app.constant(int) RETURNS text IMMUTABLE LANGUAGE plpgsql
        AS $$ BEGIN RETURN app.pwn(); END $$;
        CREATE INDEX ON app.t ((app.constant(1) || body));
    """,
    "generated column": """
        CREATE FUNCTION app.made(text) RETURNS text IMMUTABLE LANGUAGE plpgsql
        AS $$ BEGIN RETURN app.pwn(); END $$;
        ALTER TABLE app.t DROP COLUMN body;
        ALTER TABLE app.t ADD COLUMN body text GENERATED ALWAYS AS (app.made(note)) STORED;
    """,
    "trigger": """
        CREATE FUNCTION app.fire() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM app.pwn(), set_config('search_path', 'app, pg_catalog', false);
            RETURN NEW;
        END $$;
        CREATE TRIGGER a BEFORE INSERT ON app.t FOR EACH ROW EXECUTE FUNCTION app.fire();
        CREATE TRIGGER z AFTER INSERT ON app.t FOR EACH ROW EXECUTE FUNCTION app.fire();
    """,
    "view in place of the table": """
        ALTER TABLE app.t DROP CONSTRAINT t_pkey;
        DROP TRIGGER pgblend_insert ON app.t; DROP TRIGGER pgblend_update ON app.t;
        DROP TRIGGER pgblend_delete ON app.t; DROP TRIGGER pgblend_truncate ON app.t;
        TRUNCATE app.t;
        -- then
        VACUUM app.t
        -- then
        ALTER TABLE app.t ALTER COLUMN id DROP NOT NULL;
        CREATE RULE "_RETURN" AS ON SELECT TO app.t DO INSTEAD
        SELECT 2 AS id, app.pwn() AS body, 'a'::text AS note, NULL::text[] AS tags,
            'a'::text AS page, NULL::text AS day;
    """,
    "reader altered by its owner": """
        DO $$ BEGIN EXECUTE (
            SELECT format('ALTER FUNCTION %s SECURITY INVOKER SET search_path = app, pg_catalog',
                p.oid::regprocedure)
            FROM pg_proc AS p WHERE p.proname LIKE '%read_attached_%' AND p.proowner::regrole::text
                = CURRENT_USER); END $$;
        ALTER TABLE app.t ENABLE ROW LEVEL SECURITY;
        ALTER TABLE app.t FORCE ROW LEVEL SECURITY;
        CREATE POLICY p ON app.t USING (app.pwn() IS NOT NULL);
    """,
}  # fmt: skip
WRITES = (
    "INSERT INTO app.t (id) SELECT (array_agg(id))[1] FROM app.t WHERE false HAVING count(*) > 0",
    "INSERT INTO app.t (id, note, page) SELECT 99, note, page FROM app.t LIMIT 1",
    "UPDATE app.t SET page = page, note = NULL",
    "UPDATE app.t SET note = page",
    "DELETE FROM app.t WHERE id::text = '99'",
    "TRUNCATE app.t",
)
READS = (
    "SELECT fill_table('app.t', 10, true)",
    "SELECT fill_table('app.t', 10)",
    "SELECT * FROM check_attached_tables()",
)


@pytest.fixture
def app(committed: Database, connect_as: Callable[..., psycopg.Connection]) -> Iterator[Database]:
    """A login role that owns app.t, with no role of pgblend."""
    owner = Database(connect_as("pg_monitor"))
    role = owner.connection.info.user
    committed.rows(SCHEMA.format(role=role))
    committed.rows(f"GRANT USAGE ON SCHEMA pgblend_data TO {role}")  # else less can be tried
    yield owner
    owner.connection.close()
    committed.rows("DROP SCHEMA app CASCADE")


def try_all(db: Database, statements: tuple[str, ...]) -> set[str]:
    """Run each, whether or not it fails; return as whom the owner's code ran."""
    for statement in statements:
        with_errors(db, statement)
    return {told.removeprefix("ran as ") for told in db.warnings() if told.startswith("ran as ")}


def with_errors(db: Database, statement: str) -> None:
    """Run a statement; what it says is of no account here."""
    try:
        db.rows(statement)
    except psycopg.Error:
        db.connection.rollback()


def is_superuser(db: Database, role: str) -> bool:
    return bool(db.value("SELECT rolsuper FROM pg_roles WHERE rolname = %s", role))


def change_table(app: Database, change: str) -> None:
    """Make the changes of CHANGES, each as one string of statements."""
    for part in change.split("-- then"):
        app.connection.execute(part)  # type: ignore[call-overload]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_owner_of_an_attached_table_gains_no_right(
    committed: Database, app: Database, change: str
) -> None:
    role = str(app.connection.info.user)
    committed.rows(ATTACH)
    if "_RETURN" in change and app.connection.info.server_version >= 160000:
        pytest.skip("no table becomes a view any more")
    change_table(app, change)
    app.warnings()
    assert try_all(app, WRITES) <= {role}
    with connect(committed.url) as opened:
        administrator = Database(opened)
        assert try_all(administrator, READS) <= {role}
    assert not is_superuser(committed, role)


@pytest.mark.parametrize("change", [CHANGES["enum"], CHANGES["array of enum"]])
def test_nor_by_a_table_that_is_attached_as_it_is(
    committed: Database, app: Database, change: str
) -> None:
    role = str(app.connection.info.user)
    change_table(app, change)
    committed.warnings()
    assert try_all(committed, (ATTACH, *READS)) <= {role}
    assert try_all(app, WRITES[1:]) <= {role}
    assert not is_superuser(committed, role)


def test_an_admin_gains_no_right_by_its_own_table(committed: Database, app: Database) -> None:
    role = str(app.connection.info.user)
    committed.rows(f"GRANT pgblend_admin TO {role}")
    app.rows(f"SELECT blend.{ATTACH.strip().removeprefix('SELECT ')}")
    change_table(app, CHANGES["enum"])
    assert try_all(app, WRITES) <= {role}
    assert not is_superuser(committed, role)


def test_values_of_users_types_are_their_text(committed: Database, app: Database) -> None:
    app.connection.execute("""
        CREATE TYPE app.mood AS ENUM ('sad', 'it''s');
        CREATE DOMAIN app.number AS int CHECK (VALUE > 0);
        CREATE TYPE app.pair AS (a int, b text);
        CREATE TABLE app.typed (
            id bigint PRIMARY KEY, body app.mood, moods app.mood[], amount app.number,
            amounts app.number[], pair app.pair, flag boolean, host inet, code char(4), data jsonb);
        INSERT INTO app.typed VALUES (
            7, 'it''s', '{sad,NULL}', 5, '{6}', ROW(1, 'x'), true, '10.0.0.1', 'ab', '{"a": 1}')
    """)
    committed.rows(
        "SELECT attach_table('app.typed', '{body,host,flag,code}', metadata_columns =>"
        " '{body,moods,amount,amounts,pair,flag,data}')"
    )
    metadata = {"body": "it's", "moods": ["sad", None], "amount": 5, "amounts": [6],
                "pair": "(1,x)", "flag": True, "data": {"a": 1}}  # fmt: skip
    assert committed.rows("SELECT content, metadata FROM lexical_search('true')") == [
        ("it's\n\n10.0.0.1/32\n\ntrue\n\nab", metadata)
    ]
    app.rows("UPDATE app.typed SET pair = ROW(2, NULL), moods = NULL")
    assert committed.value("SELECT metadata FROM lexical_search('true')") == metadata | {
        "pair": "(2,)", "moods": None
    }  # fmt: skip
    assert committed.rows("SELECT * FROM check_attached_tables()") == []


@pytest.mark.parametrize("key", ["app.mood", "app.text", "app.number"])
def test_key_columns_are_of_types_of_postgresql(
    committed: Database, app: Database, key: str
) -> None:
    app.connection.execute(f"""
        CREATE TYPE app.mood AS ENUM ('sad');
        CREATE TYPE app.text AS ENUM ('sad');
        CREATE DOMAIN app.number AS int;
        CREATE TABLE app.keyed (id {key} PRIMARY KEY, body text);
    """)
    error = committed.error("SELECT attach_table('app.keyed', '{body}')")
    assert error.message_primary.startswith(f"key column id is of type {key}, which")


def test_a_key_column_that_gets_another_type_is_told_and_not_followed(
    committed: Database, app: Database
) -> None:
    committed.rows(ATTACH)
    change_table(app, CHANGES["key of a domain"])
    app.warnings()
    app.rows("INSERT INTO app.t (id) VALUES (2)")
    told = app.warnings()
    assert any("key column id is of type app.evil" in warning for warning in told)
    problem, mend = committed.row("SELECT problem, mend FROM check_attached_tables()")
    assert "key column id is of type app.evil" in problem
    assert mend.startswith("attach it anew")


def test_an_admin_reads_no_table_that_it_may_not(
    committed: Database, app: Database, connect_as: Callable[..., psycopg.Connection]
) -> None:
    committed.rows(ATTACH)
    admin = Database(connect_as("pgblend_admin"))
    role = admin.connection.info.user
    for call in (
        "blend.fill_table('app.t', 10, true)",
        "pgblend._read_attached((SELECT id FROM pgblend_data.attached_table), 'keys', NULL, NULL)",
        "pgblend_data._read_attached_1('SELECT 1', NULL, NULL)",
    ):
        error = admin.error(f"SELECT * FROM {call}")
        assert error.sqlstate in ("42501", "42883")
    committed.rows(f"GRANT SELECT ON app.t TO {role}; GRANT USAGE ON SCHEMA app TO {role}")
    assert admin.value("SELECT blend.fill_table('app.t', 10, true)") == 1
    assert admin.rows("SELECT * FROM blend.check_attached_tables()") == [
        ("app.t", "not all rows are in yet", "run: pgblend table fill app.t")
    ]


def test_the_reader_goes_with_the_attachment(committed: Database, app: Database) -> None:
    readers = (
        "SELECT proowner::regrole::text FROM pg_proc"
        " WHERE pronamespace = 'pgblend_data'::regnamespace AND proname LIKE '%%read_attached%%'"
    )
    committed.rows(ATTACH)
    assert committed.column(readers) == [app.connection.info.user]
    committed.rows("ALTER TABLE app.t OWNER TO CURRENT_USER")
    committed.rows("INSERT INTO app.t (id, body) VALUES (2, 'A gnu.')")
    assert committed.column(readers) == [committed.value("SELECT CURRENT_USER")]
    committed.rows("SELECT detach_table('app.t')")
    assert committed.column(readers) == []
