"""Databases to migrate, and rows to put into them."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from pgblend.migrations.as_extension.build import build
from support.catalogue import schema
from support.database import Database, add_documents, add_space, embed_waiting
from support.extension_server import Place
from support.relocated_server import relocated_cluster


@pytest.fixture
def fresh_schema(server, template: str) -> str:  # type: ignore[no-untyped-def]
    """What a new installation looks like."""
    return schema(server.url(template))


def fill(url: str) -> list[str]:
    """Put rows into a database; returns counts that must survive."""
    with psycopg.connect(url, autocommit=True) as connection:
        db = Database(connection)
        db.rows("INSERT INTO pgblend_data.profile VALUES ('mine', 'test', '{}')")
        db.rows("SELECT add_collection('kept')")
        add_documents(db, "kept", [("k", "Title", "some words")])
        add_space(db)
        embed_waiting(db)
        db.rows("SELECT set_setting('k1', '2')")
    return [
        "SELECT count(*) FROM pgblend_data.profile WHERE name = 'mine'",
        "SELECT count(*) FROM blend.lexical_search('words')",
        "SELECT count(*) FROM pgblend_data.embedding_test_space",
        "SELECT count(*) FROM blend.setting_changes WHERE name = 'k1'",
    ]


@pytest.fixture(name="fill")
def fill_fixture() -> Callable[[str], list[str]]:
    """Hand `fill` to tests, which cannot import a conftest."""
    return fill


@pytest.fixture
def empty(new_database: Callable[..., str]) -> str:
    """A new database with the extensions, and nothing of ours."""
    url = new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        for extension in ("vector", "pg_trgm", "plpython3u"):
            connection.execute(f"CREATE EXTENSION {extension}")  # type: ignore[call-overload]
    return url


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A server that has pgblend among its extensions."""
    folder = tmp_path_factory.mktemp("extension")
    build(folder)
    with relocated_cluster() as cluster:
        place = Place(cluster)
        place.install(folder)
        yield place


@pytest.fixture
def bare(place: Place) -> Iterator[Database]:
    """An empty database of that server."""
    with place.database() as db:
        yield db
