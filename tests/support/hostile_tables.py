"""Tables whose owner tries to become a superuser when others read them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg

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


# The same for a column of vectors, v.
ATTACH_VECTORS = """
    ALTER TABLE app.t ADD COLUMN v vector(3);
    UPDATE app.t SET v = '[1,2,3]';
    SELECT attach_table('app.t', '{body}', embedding_column => 'v',
        embedding_model => 'openai/x', probe => false)
"""
_FUNCTIONS_OF_VECTORS = """
    CREATE FUNCTION app.translate(text, text, text) RETURNS text LANGUAGE sql AS 'SELECT app.pwn()';
    CREATE FUNCTION app.num_nulls(vector) RETURNS int LANGUAGE sql
        AS 'SELECT length(app.pwn()) - 1';
    CREATE FUNCTION app.same(vector, vector) RETURNS boolean LANGUAGE sql
        AS 'SELECT app.pwn() IS NOT NULL';
    CREATE OPERATOR app.= (FUNCTION = app.same, LEFTARG = vector, RIGHTARG = vector);
    CREATE OPERATOR app.<> (FUNCTION = app.same, LEFTARG = vector, RIGHTARG = vector);
"""
VECTOR_CHANGES = {
    "domain over vector": """
        CREATE DOMAIN app.evil AS vector CHECK (app.pwn() IS NOT NULL);
        ALTER TABLE app.t ALTER COLUMN v TYPE app.evil USING v::app.evil;
    """,
    "a type named vector": ENUM.replace("evil", "vector") + CASTS.format(type="app.vector")
    + "ALTER TABLE app.t ALTER COLUMN v TYPE app.vector USING 'a'::app.vector;",
    "composite": "CREATE TYPE app.evil AS (a vector);" + CASTS.format(type="app.evil")
    + "ALTER TABLE app.t ALTER COLUMN v TYPE app.evil USING ROW(v)::app.evil;",
    "functions and operators of vector": _FUNCTIONS_OF_VECTORS + """
        DO $$ BEGIN EXECUTE format('ALTER ROLE %I SET search_path = app, pg_catalog', CURRENT_USER);
        END $$;
    """,
    "generated vector": """
        CREATE FUNCTION app.made(text) RETURNS vector IMMUTABLE LANGUAGE plpgsql
        AS $$ BEGIN PERFORM app.pwn(); RETURN '[1,2,3]'; END $$;
        ALTER TABLE app.t DROP COLUMN v;
        ALTER TABLE app.t ADD COLUMN v vector(3) GENERATED ALWAYS AS (app.made(note)) STORED;
    """,
    "index of vectors": _FUNCTIONS_OF_VECTORS + """
        CREATE FUNCTION app.constant(int) RETURNS vector IMMUTABLE LANGUAGE plpgsql
        AS $$ BEGIN PERFORM app.pwn(); RETURN '[1,2,3]'; END $$;
        CREATE INDEX ON app.t ((app.constant(1) <-> v));
    """,
    "row security": CHANGES["row security"],
    "row security that sets search_path": CHANGES["row security that sets search_path"]
    + _FUNCTIONS_OF_VECTORS.replace("app.same", "app.alike"),
    "trigger": CHANGES["trigger"],
}  # fmt: skip


@contextmanager
def owner_of_a_table(
    db: Database, connect_as: Callable[..., psycopg.Connection]
) -> Iterator[Database]:
    """A login role that owns app.t, with no role of pgblend."""
    owner = Database(connect_as("pg_monitor"))
    role = owner.connection.info.user
    db.rows(SCHEMA.format(role=role))
    db.rows(f"GRANT USAGE ON SCHEMA pgblend_data TO {role}")  # else less can be tried
    yield owner
    owner.connection.close()
    db.rows("DROP SCHEMA app CASCADE")


def change_table(app: Database, change: str) -> None:
    """Make the changes of CHANGES, each as one string of statements."""
    for part in change.split("-- then"):
        app.connection.execute(part)  # type: ignore[call-overload]


def is_superuser(db: Database, role: str) -> bool:
    """Tell whether a role is."""
    return bool(db.value("SELECT rolsuper FROM pg_roles WHERE rolname = %s", role))
