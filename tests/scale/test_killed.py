"""Commands that are killed between two shards: again, they store what is missing, nothing twice."""

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Server

from pgblend.cli.base.database import connect
from support.database import Database
from support.server import temporary_cluster
from support.shards import Scale, kill_at, run_command

pytestmark = pytest.mark.slow

_KEYS = "SELECT d.source_key FROM pgblend_data.document AS d"
_VERSION = "SELECT s.front_version FROM pgblend_data.shard_self AS s"
_FOUND = "SELECT source_key FROM lexical_search(%s, 1000, options => '{\"candidate_depth\": 1000}')"


@pytest.fixture
def scale(writing_shards: Scale) -> Scale:
    """Return one node, and a coordinator of three shards, without documents."""
    writing_shards.clear()
    return writing_shards


def write_files(folder: Path, start: int, count: int) -> set[str]:
    """Write files about wine; return their names."""
    names = {f"f{number}.txt" for number in range(start, start + count)}
    for name in names:
        (folder / name).write_text(f"red wine of house {name}")
    return names


@pytest.mark.parametrize("command", ["ingest", "sync"])
def test_documents_come_once(scale: Scale, tmp_path: Path, command: str) -> None:
    url, arguments = scale.coordinator.url, (command, str(tmp_path), "-c", "books", "--no-embed")
    old = write_files(tmp_path, 0, 9)
    run_command(url, *arguments)
    for name in old:
        (tmp_path / name).write_text(f"white wine of house {name}")
    known = old | write_files(tmp_path, 100, 30)

    def are_two_done() -> bool:
        return all({*shard.column(_KEYS)} - old for shard in scale.shards[:2])

    kill_at(scale.shards[2].url, "document", are_two_done, url, *arguments)
    assert {*scale.shards[2].column(_KEYS)} <= old
    run_command(url, *arguments)
    for query, names in (("wine", known), ("white", old), ("red", known - old)):
        assert sorted(scale.coordinator.column(_FOUND, query)) == sorted(names)


def test_changes_are_pushed_to_all_shards(scale: Scale) -> None:
    """A shard that lacks them is left out, and named, until the command has run again."""
    coordinator = scale.coordinator
    for number in range(9):
        coordinator.rows("SELECT ingest_document('books', %s, %s)", f"k{number}", f"wine {number}")
    before = scale.shards[0].value(_VERSION)
    coordinator.rows("SELECT set_setting('candidate_depth', '90')")
    try:
        kill_at(
            scale.shards[1].url,
            "setting",
            lambda: scale.shards[0].value(_VERSION) > before,
            coordinator.url,
            *("shards", "push"),
        )
        (degraded,) = {*coordinator.column("SELECT degraded[1] FROM lexical_search('wine', 20)")}
        assert "2 of 3 did not answer (b1: it lacks the last changes" in str(degraded)
        run_command(coordinator.url, "shards", "push")
        assert len(coordinator.column(_FOUND, "wine")) == 9
        depths = [shard.value("SELECT get_setting('candidate_depth')") for shard in scale.shards]
        assert depths == [90, 90, 90]
    finally:
        coordinator.rows("SELECT reset_setting('candidate_depth')")
        run_command(coordinator.url, "shards", "push")


def test_shards_are_added(new_database: Callable[..., str], template: str, plproxy: None) -> None:
    url, *shards = (new_database(template) for _ in range(3))
    arguments = ["shards", "add", *(f"b{number}={one}" for number, one in enumerate(shards))]
    with connect(shards[0]) as first:

        def is_one_done() -> bool:
            return bool(Database(first).value("SELECT count(*) FROM pgblend_data.shard_self"))

        kill_at(shards[1], "shard_self", is_one_done, url, *arguments)
    run_command(url, *arguments)
    run_command(url, "shards", "check")
    run_command(url, "collection", "add", "books")
    with connect(url) as connection:
        coordinator = Database(connection)
        for number in range(9):
            coordinator.rows(
                "SELECT ingest_document('books', %s, %s)", f"k{number}", f"wine {number}"
            )
        assert len(coordinator.column(_FOUND, "wine")) == 9


def test_a_server_that_asks_for_no_password_is_refused(
    new_database: Callable[..., str], server: Server, template: str, plproxy: None
) -> None:
    url = new_database(template)
    with temporary_cluster() as other:
        rules = other.data / "pg_hba.conf"
        asks = rules.read_text()
        rules.write_text("host all all 127.0.0.1/32 trust\n" + asks)
        with connect(other.url, check=False) as admin:
            admin.execute("SELECT pg_reload_conf()")
        given = "shards", "add", f"b0={other.url}"
        told = run_command(url, *given, fails=True)
        assert "shard b0 asks for no password: whoever may search" in told
        rules.write_text(asks)
        with connect(other.url, check=False) as admin:
            admin.execute("SELECT pg_reload_conf()")
        told = run_command(url, *given, fails=True)
        assert "asks for no password" not in told
        assert "pgblend migrate up" in told
