"""Links in a folder that is ingested: none leads to what the caller did not name."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner

from pgblend.cli.main import cli

pytestmark = pytest.mark.extended

Ingest = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def ingest(database_url: str) -> Ingest:
    """Run `pgblend ingest … -c c --json`; return exit code, report and standard error."""

    def run(*arguments: object, command: str = "ingest") -> tuple[int, Any, str]:
        options = ["--database-url", database_url, command, *map(str, arguments), "-c", "c"]
        result = CliRunner().invoke(cli, [*options, "--json", "--no-embed"])
        return result.exit_code, json.loads(result.stdout or "null"), result.stderr

    return run


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """A folder `given` with one file, beside a folder `secret` that nobody names."""
    folder, secret = tmp_path / "given", tmp_path / "secret"
    (folder / "sub").mkdir(parents=True)
    (secret / "deep").mkdir(parents=True)
    (folder / "sub" / "own.txt").write_text("walrus")
    (secret / "password.txt").write_text("hunter two")
    (secret / "deep" / "key.txt").write_text("hunter three")
    return folder


def keys(connection: psycopg.Connection) -> list[str]:
    found = connection.execute("SELECT source_key FROM blend.documents")
    return sorted(key for (key,) in found)


def warnings(report: Any) -> dict[str, str]:
    return {Path(each["source"]).name: each["message"] for each in report["warnings"]}


def link_out(given: Path) -> None:
    """Make links of every kind: out of the folder, over another link, by .., within, to nothing."""
    secret = given.parent / "secret"
    (given / "file.txt").symlink_to(secret / "password.txt")
    (given / "folder").symlink_to(secret)
    (given / "chain.txt").symlink_to("file.txt")
    (given / "sub" / "up.txt").symlink_to("../../secret/password.txt")
    (given / "within.txt").symlink_to("sub/own.txt")
    (given / "again").symlink_to("sub")
    (given / "loop.txt").symlink_to("loop.txt")
    (given / "nothing.txt").symlink_to("gone.txt")
    (given / "nowhere.txt").symlink_to(secret / "gone.txt")
    (given / "unseen.txt").symlink_to("x" * 300)  # as into a folder one may not enter: an error


@pytest.mark.parametrize("command", ["ingest", "sync"])
def test_links_out_of_what_was_given_are_left_out_and_reported(
    ingest: Ingest, connection: psycopg.Connection, given: Path, command: str
) -> None:
    link_out(given)
    code, report, stderr = ingest(given, command=command)
    assert code == 0
    assert keys(connection) == ["sub/own.txt", "within.txt"]
    told = warnings(report)
    out = {"file.txt", "folder", "chain.txt", "up.txt"}
    dangling = {"loop.txt", "nothing.txt", "nowhere.txt", "unseen.txt"}
    assert {name for name, message in told.items() if "--follow-links" in message} == out
    assert {name for name, message in told.items() if "leads nowhere" in message} == dangling
    assert set(told) == out | dangling
    assert all(f"warning: {given / name}: " in stderr for name in ("file.txt", "folder"))


def test_links_are_followed_where_that_is_asked_for(
    ingest: Ingest, connection: psycopg.Connection, given: Path
) -> None:
    link_out(given)
    (given.parent / "secret" / "deep" / "back").symlink_to(given.parent)  # no endless way round
    _, report, _ = ingest(given, "--follow-links")
    assert keys(connection) == [
        "chain.txt", "file.txt", "folder/deep/key.txt", "folder/password.txt", "sub/own.txt",
        "sub/up.txt", "within.txt",
    ]  # fmt: skip
    assert set(warnings(report)) == {"loop.txt", "nothing.txt", "nowhere.txt", "unseen.txt"}


def test_a_link_may_lead_to_whatever_was_given(
    ingest: Ingest, connection: psycopg.Connection, given: Path
) -> None:
    """Named is named: as another folder, or as a link."""
    link_out(given)
    named = given.parent / "named"
    named.symlink_to(given)
    code, report, _ = ingest(named, given.parent / "secret", "--root", given.parent)
    assert code == 0
    assert {"named/file.txt", "named/chain.txt", "secret/password.txt"} <= set(keys(connection))
    assert set(warnings(report)) == {"loop.txt", "nothing.txt", "nowhere.txt", "unseen.txt"}


def test_a_root_allows_no_links(
    ingest: Ingest, connection: psycopg.Connection, given: Path
) -> None:
    """--root says what keys look like, not what may be read."""
    link_out(given)
    ingest(given, "--root", given.parent)
    assert keys(connection) == ["given/sub/own.txt", "given/within.txt"]


def test_a_link_that_is_excluded_is_not_reported(ingest: Ingest, given: Path) -> None:
    link_out(given)
    _, report, _ = ingest(given, "--include", "*.md")
    assert report["warnings"] == []


def test_a_dangling_link_that_was_named(ingest: Ingest, given: Path) -> None:
    link_out(given)
    code, _, stderr = ingest(given / "nothing.txt")
    assert code == 1
    assert f"{given / 'nothing.txt'}: a link that leads nowhere" in stderr


def test_an_export_of_slack_holds_no_links_out_of_it(
    ingest: Ingest, connection: psycopg.Connection, given: Path
) -> None:
    message = {"type": "message", "user": "U1", "ts": "1700000000.000100", "text": "sealion"}
    channels = [{"id": "C1", "name": "general"}, {"id": "C2", "name": "other"}]
    (given / "general").mkdir()
    for name, content in (
        ("users.json", [{"id": "U1", "name": "ann"}]),
        ("channels.json", channels),
        ("general/2023-11-14.json", [message]),
    ):
        (given / name).write_text(json.dumps(content))
    stolen = given.parent / "secret" / "day.json"
    stolen.write_text(json.dumps([message | {"text": "hunter"}]))
    (given / "general" / "2023-11-15.json").symlink_to(stolen)
    (given / "general" / "2023-11-16.json").symlink_to("gone.json")
    found = "SELECT count(*) FROM blend.lexical_search(%s)"

    def hits(word: str) -> int:
        row = connection.execute(found, [word]).fetchone()
        assert row is not None
        return int(row[0])

    _, report, _ = ingest(given)
    assert (hits("sealion"), hits("hunter")) == (1, 0)
    assert set(warnings(report)) == {"2023-11-15.json", "2023-11-16.json"}
    ingest(given, "--follow-links")
    assert hits("hunter") == 1


def test_prune_takes_what_an_earlier_run_found_over_a_link(
    ingest: Ingest, connection: psycopg.Connection, given: Path
) -> None:
    link_out(given)
    ingest(given, "--follow-links")
    ingest(given, "--follow-links", "--prune")
    assert "file.txt" in keys(connection)
    _, report, _ = ingest(given, "--prune")
    assert report["documents"]["pruned"] == 5
    assert keys(connection) == ["sub/own.txt", "within.txt"]
