"""document: list, show, delete, set-metadata."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from click.testing import Result

Pgblend = Callable[..., Result]
ParseValid = Callable[[Result, str], Any]


def test_list(pgblend: Pgblend, parse_valid: ParseValid, library: list[int]) -> None:
    documents = parse_valid(pgblend("document", "list", "--json"), "document-list")["documents"]
    assert [row["document_id"] for row in documents] == library
    assert documents[0]["source_key"] == "deploy.md"
    assert documents[0]["chunks"] == 1
    table = pgblend("document", "list")
    assert table.exit_code == 0
    assert "Wine | a *list*" in table.stdout
    assert "| Wine \\| a \\*list\\* |" in pgblend("document", "list", "--md").stdout
    rows = list(csv.DictReader(io.StringIO(pgblend("document", "list", "--csv").stdout)))
    assert [row["title"] for row in rows] == ["Deploy guide", "Wine | a *list*", ""]
    files = pgblend("document", "list", "--files").stdout
    assert files == "file:///deploy.md\nfile:///wine.md\nsea.md\n"


@pytest.mark.usefixtures("library")
def test_list_by_pages(pgblend: Pgblend) -> None:
    first = pgblend("document", "list", "-n", "2", "--files")
    assert first.stdout == "file:///deploy.md\nfile:///wine.md\n"
    assert first.stderr == "pgblend: there are more: --offset 2\n"
    second = pgblend("document", "list", "-n", "2", "--offset", "2", "--files")
    assert (second.stdout, second.stderr) == ("sea.md\n", "")


@pytest.mark.usefixtures("library")
def test_list_of_a_collection(
    pgblend: Pgblend, parse_valid: ParseValid, connection: psycopg.Connection
) -> None:
    connection.execute("SELECT add_collection('empty')")
    for options, expected in (
        (["-c", "library"], 3),
        (["-c", "empty"], 0),
        (["-c", "empty", "-c", "library"], 3),
    ):
        listed = parse_valid(pgblend("document", "list", *options, "--json"), "document-list")
        assert len(listed["documents"]) == expected


def test_show_by_id_and_by_key(
    pgblend: Pgblend, parse_valid: ParseValid, library: list[int]
) -> None:
    by_id = parse_valid(pgblend("document", "show", str(library[1]), "--json"), "document-show")
    by_key = pgblend("document", "show", "-c", "library", "wine.md", "--json")
    assert parse_valid(by_key, "document-show") == by_id
    assert by_id["document"]["metadata"] == {"author": "hugh"}
    assert [chunk["chunk_index"] for chunk in by_id["chunks"]] == [0]
    text = pgblend("document", "show", str(library[1])).stdout
    assert "title: Wine | a *list*\n" in text
    assert "--- chunk 0 lines 1-3\nThe production of wine in France.\n\nRed wine" in text


def test_show_keeps_control_characters_from_the_terminal(
    pgblend: Pgblend, library: list[int], connection: psycopg.Connection
) -> None:
    connection.execute("SELECT ingest_document('library', 'esc', E'\\x1b]0;owned\\x07 text')")
    written = pgblend("document", "show", "-c", "library", "esc").stdout
    assert "text" in written
    assert "owned" not in written
    assert "\x1b" not in written
    assert "\x07" not in written


@pytest.mark.parametrize("command", ["show", "delete"])
@pytest.mark.usefixtures("library")
def test_a_document_that_is_not_there(pgblend: Pgblend, command: str) -> None:
    more = ["--yes"] if command == "delete" else []
    for name in (["999999"], ["-c", "library", "nope.md"], ["-c", "nope", "wine.md"]):
        result = pgblend("document", command, *name, *more)
        assert result.exit_code == 1
        assert result.stderr.startswith(f"pgblend: error: there is no document '{name[-1]}'")
    for no_id in ("wine.md", "99999999999999999999", "²"):
        result = pgblend("document", command, no_id, *more)
        assert result.exit_code == 2
        assert "--collection NAME" in result.stderr


def test_delete_asks_first(
    pgblend: Pgblend, library: list[int], connection: psycopg.Connection
) -> None:
    def count() -> int:
        row = connection.execute("SELECT count(*) FROM documents").fetchone()
        assert row is not None
        number: int = row[0]
        return number

    name = str(library[0])
    for answer in ("n\n", "", None):
        result = pgblend("document", "delete", name, input=answer)
        assert result.exit_code == 1
        assert "(deploy.md)?" in result.stderr
        assert count() == 3
    assert pgblend("document", "delete", name, input="y\n").exit_code == 0
    assert count() == 2
    result = pgblend("document", "delete", "-c", "library", "wine.md", "--yes")
    assert (result.exit_code, result.stdout) == (0, "")
    assert count() == 1


def test_set_metadata_merges_replaces_and_keeps_vectors(
    pgblend: Pgblend, library: list[int], connection: psycopg.Connection
) -> None:
    chunks = "SELECT chunk_id, content FROM chunks ORDER BY 1"
    before = connection.execute(chunks).fetchall()
    merged = pgblend("document", "set-metadata", str(library[0]), '{"year": null, "a": [1]}')
    assert merged.exit_code == 0, merged.stderr
    read = "SELECT metadata FROM documents WHERE document_id = %s"
    assert connection.execute(read, [library[0]]).fetchone() == ({"author": "knuth", "a": [1]},)
    arguments = ("-c", "library", "deploy.md", '{"b": 1}', "--replace")
    replaced = pgblend("document", "set-metadata", *arguments)
    assert replaced.stdout == '{\n  "b": 1\n}\n'
    assert connection.execute(read, [library[0]]).fetchone() == ({"b": 1},)
    assert connection.execute(chunks).fetchall() == before


def test_reset_metadata_forgets_what_was_set(pgblend: Pgblend, library: list[int]) -> None:
    assert pgblend("document", "set-metadata", str(library[0]), '{"a": 1}').exit_code == 0
    result = pgblend("document", "reset-metadata", "-c", "library", "deploy.md")
    assert json.loads(result.stdout) == {"author": "knuth", "year": 1974}
    assert pgblend("document", "reset-metadata", "99999").exit_code == 1


@pytest.mark.parametrize("metadata", ["[]", "{", "word", '"text"'])
def test_metadata_must_be_an_object(pgblend: Pgblend, library: list[int], metadata: str) -> None:
    result = pgblend("document", "set-metadata", str(library[0]), metadata)
    assert result.exit_code == 2


@pytest.mark.usefixtures("library")
def test_a_reader_sees_only_what_was_granted(
    pgblend: Pgblend,
    parse_valid: ParseValid,
    connect_as: Callable[..., psycopg.Connection],
    database_url: str,
) -> None:
    reader = connect_as("pgblend_reader").info
    url = psycopg.conninfo.make_conninfo(database_url, user=reader.user, password=reader.password)
    for command, schema, key in (
        (["document", "list"], "document-list", "documents"),
        (["collection", "list"], "collection-list", "collections"),
        (["search", "wine"], "search-results", "results"),
        (["query", "wine"], "search-results", "results"),
    ):
        assert parse_valid(pgblend(*command, "--json", url=url), schema)[key] == []
        assert pgblend("collection", "grant", "library", reader.user).exit_code == 0
        assert parse_valid(pgblend(*command, "--json", url=url), schema)[key]
        assert pgblend("collection", "revoke", "library", reader.user).exit_code == 0
    pgblend("collection", "grant", "library", reader.user)
    result = pgblend("document", "delete", "-c", "library", "wine.md", "--yes", url=url)
    assert result.exit_code == 1
