"""Row security on a coordinator: each role goes to the shards as itself."""

import pytest
from psycopg.conninfo import make_conninfo

from pgblend.cli.database import connect
from support.database import Database
from support.shards import Scale, run_command

SEARCH = "SELECT * FROM lexical_search('wine')"


def test_a_role_sees_what_it_may_read_and_no_more(two_shards: Scale) -> None:
    scale = two_shards
    scale.clear()
    for place, collection in enumerate(["books", "briefe", "books", "rest"]):
        scale.add(collection, f"k{place}", f"wine of house {place}")
    role = f"ann_{scale.coordinator.connection.info.backend_pid}"
    admin = scale.coordinator
    admin.rows(f"CREATE ROLE {role} LOGIN PASSWORD 'x' IN ROLE pgblend_reader")
    try:
        for database in (scale.one, admin):
            database.rows("SELECT grant_collection('books', %s)", role)
        run_command(admin.url, "shards", "push")
        one, ann = (as_role(database, role) for database in (scale.one, admin))
        with ann.connection, one.connection:
            said = ann.error(SEARCH)
            assert "no shard answered" in str(said.message_primary)
            assert "pgblend shards grant ROLE" in str(said.message_hint)
            run_command(admin.url, "shards", "grant", role, "--password", "x")
            assert len(ann.rows(SEARCH)) == 2
            assert ann.rows(SEARCH) == one.rows(SEARCH)
            assert ann.error("SELECT pgblend._map_user('x', 'y', 'z')").sqlstate == "42501"
            for database in (scale.one, admin):
                database.rows("SELECT revoke_collection('books', %s)", role)
            run_command(admin.url, "shards", "push")
            assert ann.rows(SEARCH) == one.rows(SEARCH) == []
    finally:
        for database in (admin, scale.one, *scale.shards):
            database.connection.execute(f"DROP OWNED BY {role}".encode())
        admin.connection.execute(
            f"DROP USER MAPPING IF EXISTS FOR {role} SERVER pgblend_shards".encode()
        )
        admin.connection.execute(f"DROP ROLE {role}".encode())


def as_role(database: Database, role: str) -> Database:
    """Connect once more, as a role."""
    url = make_conninfo(database.url, user=role, password="x")
    return Database(connect(url))


def test_nobody_goes_to_shards_as_everybody(two_shards: Scale) -> None:
    mapped = two_shards.coordinator.column("SELECT usename FROM pg_user_mappings")
    assert "public" not in mapped
    assert mapped


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["b1"], "expected NAME=URL"),
        (["b1=dbname=a user=x", "b1=dbname=b user=x"], "each name once"),
        (["b1=dbname=a user=x", "b2=dbname=b user=y"], "different users"),
        (["b1=dbname=a"], "no user"),
        (["other=dbname=a user=x"], "others cannot be added yet"),
    ],
)
def test_shards_that_cannot_be_added(two_shards: Scale, given: list[str], said: str) -> None:
    if said == "others cannot be added yet":
        given = [f"other={two_shards.shards[0].url}"]
    assert said in run_command(two_shards.coordinator.url, "shards", "add", *given, fails=True)


def test_a_database_with_documents_becomes_neither(two_shards: Scale) -> None:
    shard, one = two_shards.shards[0], two_shards.one
    two_shards.clear()
    two_shards.add("books", "k", "wine")
    said = run_command(one.url, "shards", "add", f"b1={shard.url}", fails=True)
    assert "this database has documents: a coordinator has none" in said
    assert "this database has no shards" in run_command(one.url, "shards", "push", fails=True)
    said = run_command(two_shards.coordinator.url, "shards", "status")
    assert "ready" in said
