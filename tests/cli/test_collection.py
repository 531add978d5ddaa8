"""collection: list, add, remove, grant, revoke."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from click.testing import Result

Pgblend = Callable[..., Result]
ParseValid = Callable[[Result, str], Any]


def test_add_and_list(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    empty = pgblend("collection", "list", "--json")
    assert parse_valid(empty, "collection-list") == {"collections": []}
    options = ["--text-config", "german", "--setting", "chunk_size_tokens=200"]
    added = pgblend("collection", "add", "bücher", *options)
    assert (added.exit_code, added.stdout) == (0, "")
    listed = parse_valid(pgblend("collection", "list", "--json"), "collection-list")
    (row,) = listed["collections"]
    assert row["name"] == "bücher"
    assert row["text_search_config"] == "german"
    assert row["settings"] == {"chunk_size_tokens": 200}
    for option in ([], ["--csv"], ["--md"]):
        assert "bücher" in pgblend("collection", "list", *option).stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["library"], "library"),
        (["new", "--text-config", "klingon"], "klingon"),
        (["new", "--setting", "chunk_size=3"], "chunk_size"),
        (["new", "--setting", "chunk_size_tokens=many"], "chunk_size_tokens"),
        ([" "], "' '"),
    ],
)
@pytest.mark.usefixtures("library")
def test_what_cannot_be_added(pgblend: Pgblend, arguments: list[str], expected: str) -> None:
    result = pgblend("collection", "add", *arguments)
    assert result.exit_code == 1
    assert expected in result.stderr.splitlines()[0]
    assert len(pgblend("collection", "list", "--csv").stdout.splitlines()) == 2


@pytest.mark.usefixtures("library")
def test_remove_asks_first(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    refused = pgblend("collection", "remove", "library", input="n\n")
    assert refused.exit_code == 1
    assert "all its documents" in refused.stderr
    listed = parse_valid(pgblend("document", "list", "--json"), "document-list")
    assert len(listed["documents"]) == 3
    assert pgblend("collection", "remove", "library", "--yes").exit_code == 0
    listed = parse_valid(pgblend("document", "list", "--json"), "document-list")
    assert listed["documents"] == []
    again = pgblend("collection", "remove", "library", "--yes")
    assert again.exit_code == 1
    assert again.stderr.startswith("pgblend: error: there is no collection 'library'")


@pytest.mark.usefixtures("library")
def test_grant_and_revoke(pgblend: Pgblend, connect_as: Callable[..., psycopg.Connection]) -> None:
    member = connect_as("pgblend_writer")

    def count() -> int:
        row = member.execute("SELECT count(*) FROM documents").fetchone()
        assert row is not None
        number: int = row[0]
        return number

    role = member.info.user
    assert count() == 0
    granted = pgblend("collection", "grant", "library", role, "--privilege", "write")
    assert granted.exit_code == 0, granted.stderr
    assert count() == 3
    member.execute("SELECT ingest_document('library', 'mine', 'text')")
    assert (
        f"{role} may no longer read library"
        in pgblend("collection", "revoke", "library", role).stderr
    )
    assert count() == 0
    assert "had no grant" in pgblend("collection", "revoke", "library", role).stderr


@pytest.mark.parametrize("command", ["grant", "revoke"])
@pytest.mark.usefixtures("library")
def test_grants_of_what_is_not_there(pgblend: Pgblend, command: str) -> None:
    for arguments, expected in (
        (["nope", "pgblend_reader"], "nope"),
        (["library", "no_such_role"], "no_such_role"),
    ):
        result = pgblend("collection", command, *arguments)
        assert result.exit_code == 1
        assert expected in result.stderr
    wrong = pgblend("collection", command, "library", "pgblend_reader", "--privilege", "own")
    assert wrong.exit_code == 2
