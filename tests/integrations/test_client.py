"""The pool that frameworks share: roles, threads, connections that are lost."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from pgblend.cli.base.errors import UserError
from pgblend.integrations.client import Client, StoredText, search_request, shared_client
from support.database import Database, add_documents
from support.model_provider import DEFAULT_DIMENSIONS, embed

pytestmark = pytest.mark.slow
WINE = StoredText("wine", "How wine is made.", {"year": 1970}, embed("wine"))
SEA = StoredText("sea", "Ships sail the sea.", {"year": 2020}, embed("sea"))


def keys(client: Client, query: str, vector: list[float] | None = None) -> list[str]:
    return [row["source_key"] for row in client.search(search_request(query, 5, vector=vector))]


def test_each_role_does_what_it_may(connection: psycopg.Connection, url_as: Callable) -> None:
    db = Database(connection)
    with Client(url_as("pgblend_admin")) as admin:
        admin.make_collection("texts")
        admin.make_collection("texts")
        admin.store("texts", [SEA], "a model")
    reader_url, writer_url = url_as("pgblend_reader"), url_as("pgblend_writer")
    for url, privilege in ((reader_url, "read"), (writer_url, "write")):
        role = psycopg.conninfo.conninfo_to_dict(url)["user"]
        db.rows("SELECT grant_collection('texts', %s, %s)", role, privilege)
    with Client(writer_url) as writer, Client(reader_url) as reader:
        writer.make_collection("texts")  # is there
        writer.store("texts", [WINE])
        assert keys(reader, "ships") == ["sea"]
        assert set(keys(reader, "ships", embed("ships"))) == {"sea", "wine"}
        assert reader.keys("texts", {"year": {"lt": 2000}}) == ["wine"]
        assert reader.get("texts", ["wine", "nothing", "sea"]) == [
            each._replace(vector=None) for each in (WINE, SEA)
        ]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            reader.store("texts", [WINE._replace(content="Other.")])
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            writer.make_collection("mine")
        writer.delete("texts", ["sea", "nothing"])
        assert keys(reader, "ships") == []
        dimensions = db.value("SELECT dimensions FROM embedding_spaces WHERE model = 'a model'")
        assert dimensions == DEFAULT_DIMENSIONS
    with Client(url_as("pgblend_admin")) as admin:
        admin.store("texts", [StoredText("x", "Other.", {}, [0.5, 1.0])], "another", "small")
    active = "SELECT name, model FROM embedding_spaces WHERE active"
    assert db.rows(active) == [("default", "a model")]  # what others search stays


def test_lost_connections_are_made_anew(connection: psycopg.Connection, database_url: str) -> None:
    db = Database(connection)
    db.rows("SELECT add_collection('texts')")
    add_documents(db, "texts", [("sea", "Sea", "Ships sail the sea.")])
    with Client(database_url) as client:
        assert keys(client, "ships") == ["sea"]
        ended = db.value(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE application_name = 'pgblend integration' AND datname = current_database()"
        )
        assert ended >= 1
        assert keys(client, "ships") == ["sea"]
        client.close()
        assert keys(client, "ships") == ["sea"]


def test_many_threads_share_a_client(connection: psycopg.Connection, database_url: str) -> None:
    with Client(database_url, size=2) as client, ThreadPoolExecutor(8) as threads:
        client.make_collection("texts")
        texts = [StoredText(f"k{n}", f"number n{n}x", {}, None) for n in range(16)]
        list(threads.map(lambda text: client.store("texts", [text]), texts))
        found = threads.map(lambda n: keys(client, f"n{n}x"), range(16))
        assert list(found) == [[f"k{n}"] for n in range(16)]
        backends = Database(connection).value(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgblend integration'"
            " AND datname = current_database()"
        )
        assert 1 <= backends <= 2


def test_what_cannot_be_stored_is_cleaned_as_ingest_does(database_url: str) -> None:
    given = {"k\0": "v\0", "title": "T\0", "half": "\ud800", "odd": float("nan"), 5: ["\0"]}
    with Client(database_url) as client:
        client.make_collection("texts")
        client.store(
            "texts", [StoredText("n\0", "a\0b heron \udfff", given), StoredText("n2", "tern", {})]
        )
        assert keys(client, "heron") == ["n\ufffd"]
        (found,) = client.get("texts", ["n\0"])
        assert found.content == "a\ufffdb heron \ufffd"
        assert found.metadata == {
            "k\ufffd": "v\ufffd",
            "title": "T\ufffd",
            "half": "\ufffd",
            "odd": None,
            "5": ["\ufffd"],
        }
        client.delete("texts", ["n\0"])
        assert client.keys("texts", None) == ["n2"]


def test_a_process_has_one_client_for_a_url() -> None:
    assert shared_client("postgresql://a/b") is shared_client("postgresql://a/b")
    assert shared_client("postgresql://a/b") is not shared_client("postgresql://a/c")


def test_a_database_that_cannot_be_used_is_an_error_that_says_why(
    new_database: Callable[..., str],
) -> None:
    with pytest.raises(UserError, match="this database has no pgblend in it yet"):
        Client(new_database()).make_collection("texts")
    with pytest.raises(UserError, match="refused"):
        Client("postgresql://localhost:1/none").make_collection("texts")
