"""What is public moves from pgblend, where 0.0.1 had it, to the schema blend."""

import os
from collections.abc import Callable, Iterator

import psycopg
import pytest

from pgblend.cli.errors import UserError
from pgblend.migrations import runner
from support.catalogue import schema, settings_of
from support.database import Database, add_documents

# What users build on functions, views and types.
BUILT = """
CREATE VIEW public.found AS
SELECT h.source_key, h.score FROM pgblend.hybrid_search('words') AS h;
CREATE VIEW public.keys AS SELECT d.source_key FROM pgblend.documents AS d;
CREATE MATERIALIZED VIEW public.all_keys AS SELECT source_key FROM pgblend.documents;
CREATE TABLE public.kept (
    id int PRIMARY KEY,
    fused float8 NOT NULL DEFAULT pgblend.rrf('{1}', k => 1) CHECK (pgblend.rrf('{1}') > 0),
    hit pgblend.search_result,
    documents pgblend.documents[]
);
CREATE INDEX kept_decay ON public.kept (fused) WHERE fused > 0;
CREATE FUNCTION public.best(query text) RETURNS SETOF pgblend.search_result LANGUAGE sql
BEGIN ATOMIC SELECT * FROM pgblend.lexical_search(query, 1); END;
CREATE FUNCTION public.unqualified() RETURNS text LANGUAGE plpgsql
AS 'BEGIN RETURN (SELECT source_key FROM hybrid_search(''words'')); END';
"""
ANSWERS = (
    "SELECT source_key, score > 0 FROM found",
    "SELECT source_key FROM keys",
    "SELECT source_key FROM best('words')",
    "SELECT unqualified()",
    "SELECT (hit).source_key FROM kept WHERE id = 1",
)
INSERT = """
    INSERT INTO kept (id, hit, documents)
    SELECT %s, h, ARRAY(SELECT d FROM documents AS d) FROM lexical_search('words') AS h
    RETURNING fused, (hit).source_key, (documents[1]).source_key
"""
PLACES = """
    SELECT array_agg(DISTINCT pronamespace::regnamespace::text) FROM pg_proc
    WHERE proname IN ('hybrid_search', 'rrf', 'last_search')
"""


@pytest.fixture
def old(first_release_url: str) -> Iterator[Database]:
    """A database of the first release with a document, seen by a session that stays open."""
    with psycopg.connect(first_release_url, autocommit=True) as connection:
        db = Database(connection)
        db.rows("SELECT add_collection('c')")
        add_documents(db, "c", [("k", "Title", "some words")])
        yield db


@pytest.fixture
def app(server, old: Database) -> Iterator[Database]:  # type: ignore[no-untyped-def]
    """A user's role that is a member of none of ours, with rights on a function and a view."""
    role = f"pgblend_test_app_{os.getpid()}"
    database = old.connection.info.dbname
    old.rows(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'")
    old.rows(f"GRANT USAGE ON SCHEMA pgblend TO {role}")
    old.rows(f"GRANT EXECUTE ON FUNCTION pgblend.graph_score TO {role}")
    old.rows(f"GRANT SELECT ON pgblend.documents TO {role}")
    try:
        with psycopg.connect(server.url(database, user=role, password="secret")) as connection:
            connection.autocommit = True
            yield Database(connection)
    finally:
        old.rows(f"DROP OWNED BY {role}")
        old.rows(f"DROP ROLE {role}")


def again(db: Database) -> Database:
    """A new session of the same role: it has the database's new search_path."""
    return Database(psycopg.connect(db.url, autocommit=True))


def answers(db: Database) -> list[object]:
    return [db.rows(query) for query in ANSWERS]


def test_what_users_built_stays(old: Database) -> None:
    old.rows(BUILT)
    assert old.row(INSERT, 1) == (0.5, "k", "k")
    before = answers(old)
    runner.upgrade(old.url)
    session = again(old)
    assert session.value(PLACES) == ["blend"]
    assert answers(session) == before
    session.rows("REFRESH MATERIALIZED VIEW all_keys")
    assert session.row(INSERT, 2) == (0.5, "k", "k")
    session.connection.close()


def test_rights_of_users_roles_stay(first_release_url: str, app: Database) -> None:
    runner.upgrade(first_release_url)
    session = again(app)
    assert session.value("SELECT graph_score(0.5, 0)") == 1.5
    assert session.value("SELECT has_table_privilege('documents', 'SELECT')") is True
    assert session.error("SELECT * FROM hybrid_search('words')").sqlstate == "42501"
    assert session.value("SELECT has_schema_privilege(current_schema, 'CREATE')") is False
    session.connection.close()


def test_prepared_statements_stay(old: Database) -> None:
    """One on a view runs on; one on our names does once its session has the new search_path."""
    old.rows("CREATE VIEW public.found AS SELECT source_key FROM hybrid_search('words')")
    old.rows("PREPARE on_view AS SELECT * FROM public.found")
    old.rows("PREPARE on_function AS SELECT source_key FROM hybrid_search($1)")
    old.rows("PREPARE on_documents AS SELECT source_key FROM documents")
    run = ("EXECUTE on_view", "EXECUTE on_function('words')", "EXECUTE on_documents")
    runner.upgrade(old.url)
    assert old.column(run[0]) == ["k"]
    assert old.error(run[1]).sqlstate == "42883"
    old.rows("SET search_path = public, blend")
    assert [old.column(statement) for statement in run] == [["k"]] * 3


def test_the_database_s_search_path_has_it_in_the_same_place(first_release_url: str) -> None:
    with psycopg.connect(first_release_url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f'ALTER DATABASE "{name}" SET search_path = app, pgblend, public')  # type: ignore[call-overload]
    runner.upgrade(first_release_url)
    assert settings_of(first_release_url) == ["search_path=app, blend, public"]


def test_routines_of_users_that_say_the_old_name_are_named(
    old: Database, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, body in {
        "old": "SELECT count(*) FROM pgblend.hybrid_search(''x'')",
        "old_view": "SELECT count(*) FROM pgblend.documents",
        "parameter": "SELECT current_setting(''pgblend.purpose'', true)",
        "unqualified": "SELECT count(*) FROM hybrid_search(''x'')",
    }.items():
        old.rows(f"CREATE FUNCTION public.{name}() RETURNS text LANGUAGE sql AS '{body}'")
    runner.upgrade(old.url)
    (line,) = capfd.readouterr().err.splitlines()
    assert "schema blend; routines that say pgblend: " in line
    assert " old(), old_view() (create them anew" in line


@pytest.mark.parametrize("is_new", [True, False])
def test_a_schema_of_somebody_else_is_refused(
    new_database: Callable[..., str], first_release_url: str, connect_as, is_new: bool
) -> None:
    url = new_database() if is_new else first_release_url
    owner = connect_as("pgblend_reader").info.user
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA blend AUTHORIZATION {owner}")  # type: ignore[call-overload]
        connection.execute("CREATE TABLE blend.coffee ()")
        connection.execute(
            "CREATE FUNCTION blend.hybrid_search() RETURNS int LANGUAGE sql RETURN 1"
        )  # a name of ours makes it not ours
    before = schema(url), settings_of(url)
    with pytest.raises(UserError, match=f"not pgblend's: it belongs to {owner}") as caught:
        runner.upgrade(url)
    assert "ALTER SCHEMA blend RENAME TO" in caught.value.hint
    assert (schema(url), settings_of(url)) == before
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER SCHEMA blend RENAME TO coffee_blends")
        connection.execute("DROP FUNCTION coffee_blends.hybrid_search()")
    runner.upgrade(url)
    with psycopg.connect(url, autocommit=True) as connection:
        assert Database(connection).value(PLACES) == ["blend"]
        connection.execute("DROP SCHEMA coffee_blends CASCADE")  # its owner's role goes away


def test_another_superuser_may_migrate(first_release_url: str, server) -> None:  # type: ignore[no-untyped-def]
    other = f"pgblend_test_other_{os.getpid()}"
    with psycopg.connect(first_release_url, autocommit=True) as connection:
        db = Database(connection)
        owner = db.value("SELECT current_user::text")
        db.rows(f"CREATE ROLE {other} SUPERUSER LOGIN PASSWORD 'secret'")
        try:
            url = server.url(connection.info.dbname, user=other, password="secret")
            runner.upgrade(url)
            runner.upgrade(first_release_url)
            owners = "SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'blend'"
            assert db.value(owners) == owner
            assert settings_of(first_release_url) == ['search_path="$user", public, blend']
        finally:
            db.rows(f"REASSIGN OWNED BY {other} TO {owner}")
            db.rows(f"DROP OWNED BY {other}")
            db.rows(f"DROP ROLE {other}")


def test_the_role_of_up_makes_nothing_in_a_schema_of_ours(empty: str) -> None:
    """Its name is pgblend, and so "$user" would be our schema."""
    runner.upgrade(empty)
    with psycopg.connect(empty, autocommit=True) as connection:
        db = Database(connection)
        if db.value("SELECT current_user::text") != "pgblend":
            pytest.skip("the server's superuser has another name")
        db.rows("CREATE TABLE made_here ()")
        assert db.value("SELECT 'public.made_here'::regclass::text") == "made_here"
        assert db.value("SELECT rrf('{1}') > 0") is True
        db.rows("CREATE SCHEMA app")
        own = f"ALTER ROLE pgblend IN DATABASE {connection.info.dbname} {{}} search_path"
        db.rows(own.format("SET") + " = app, blend")
        runner.upgrade(empty)
        assert again(db).value("SHOW search_path") == "app, blend"
        db.rows(own.format("RESET"))
    runner.downgrade(empty, "base")
    with psycopg.connect(empty, autocommit=True) as connection:
        assert Database(connection).value("SHOW search_path") == '"$user", public'
