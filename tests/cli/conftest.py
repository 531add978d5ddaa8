"""The command line as its users call it, on a real database with a small library in it."""

import json
import os
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result
from conftest import Server
from jsonschema import Draft202012Validator

from pgblend.cli.base.database import connect
from pgblend.cli.main import cli
from support.model_provider import DEFAULT_DIMENSIONS, ModelProvider

DOCUMENTS = (
    (
        "deploy.md",
        "Deploy guide",
        "# Deploy\n\nHow to deploy to production: run <b>make deploy</b> & wait.",
        {"author": "knuth", "year": 1974},
    ),
    (
        "wine.md",
        "Wine | a *list*",
        "The production of wine in France.\n\nRed wine and white wine.",
        {"author": "hugh"},
    ),
    ("sea.md", None, "Ships sail the sea when the wind is fair.", {"author": "knuth"}),
)

Pgblend = Callable[..., Result]


@pytest.fixture
def pgblend(database_url: str) -> Pgblend:
    """Run `pgblend ARGS` on the test's database."""

    def run(*arguments: str, url: str = database_url, **options: Any) -> Result:
        return CliRunner().invoke(cli, ["--database-url", url, *arguments], **options)

    return run


@pytest.fixture(scope="session")
def library_template(server: Server, template: str) -> Iterator[tuple[str, list[int]]]:
    """A database to clone, with a collection `library` of three documents, and their ids."""
    with server.database(f"pgblend_library_{os.getpid()}", template) as url:
        with connect(url) as admin:
            admin.execute("SELECT blend.add_collection('library')")
            rows = [
                admin.execute(
                    "SELECT document_id FROM blend.ingest_document("
                    "'library', %s, %s, title => %s, uri => %s, metadata => %s::jsonb)",
                    [
                        key,
                        content,
                        title,
                        None if title is None else f"file:///{key}",
                        json.dumps(more),
                    ],
                ).fetchone()
                for key, title, content, more in DOCUMENTS
            ]
            name = admin.info.dbname
        yield name, [row[0] for row in rows if row is not None]


@pytest.fixture
def database_url(
    request: pytest.FixtureRequest, new_database: Callable[..., str], template: str
) -> str:
    """A fresh clone of the migrated template; of one with documents where a test asks for them.

    Storing them takes five times as long as a clone.
    """
    if "library_template" in request.fixturenames:
        template, _ = request.getfixturevalue("library_template")
    return new_database(template)


@pytest.fixture
def library(library_template: tuple[str, list[int]], database_url: str) -> list[int]:
    """The ids of the documents in the test's collection `library`."""
    return library_template[1]


def parse_valid(result: Result, schema_name: str) -> Any:
    """Parse a command's JSON output after holding it to its schema."""
    schema_file = files("pgblend.cli.schemas") / f"{schema_name}.schema.json"
    schema = json.loads(schema_file.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    value = json.loads(result.stdout)
    Draft202012Validator(schema).validate(value)
    return value


@pytest.fixture(name="parse_valid")
def parse_valid_fixture() -> Callable[[Result, str], Any]:
    """Hand `parse_valid` to tests, which cannot import a conftest."""
    return parse_valid


@pytest.fixture
def vectors(
    library: list[int], gateway_connection: psycopg.Connection, model_provider: ModelProvider
) -> None:
    """Vectors for the whole library, made through a real gateway."""
    gateway_connection.execute(
        "SELECT create_embedding_space('test', %s, %s)", [model_provider.model, DEFAULT_DIMENSIONS]
    )
    gateway_connection.execute(  # the gateway's first answer may take long: it imports litellm
        "CREATE TEMP TABLE embedding_stage AS SELECT chunk_id,"
        " (embed_text(ARRAY[input], 'test', 60000))[1] AS embedding"
        " FROM pgblend._next_embeddings('test', 100)"
    )
    stored = gateway_connection.execute("SELECT pgblend._store_embeddings('test')").fetchone()
    assert stored == (len(library),)
