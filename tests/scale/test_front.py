"""What shards have a copy of: they get changes by commands and by the worker, never by a search."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pgblend.cli.base.database import connect
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.places import push_changes
from pgblend.cli.embed.worker_sessions import Until, Worker
from support.shards import Scale, run_command
from support.waiting import wait_until

SEARCH = "SELECT source_key FROM hybrid_search('wine', 100, query_embedding => %s)"
OLD = "lacks the last changes of settings, grants or collections"


@pytest.fixture
def scale(writing_shards: Scale) -> Scale:
    """Return one node, and a coordinator of three shards with documents."""
    writing_shards.clear()
    for number in range(9):
        writing_shards.coordinator.rows(
            "SELECT ingest_document('books', %s, %s)", f"k{number}", f"red wine {number}"
        )
    return writing_shards


def of_shards(scale: Scale, query: str) -> list[object]:
    return [shard.value(query) for shard in scale.shards]


def pgblend(scale: Scale, *arguments: str, fails: bool = False) -> str:
    return run_command(scale.coordinator.url, *arguments, fails=fails)


@contextmanager
def working(scale: Scale) -> Iterator[list[str]]:
    """A worker at the coordinator; yields what it says."""
    said: list[str] = []
    worker = Worker(scale.coordinator.url, Until.STOPPED, 1, 10, said.append)
    thread = threading.Thread(target=worker.run)
    thread.start()
    try:
        yield said
    finally:
        worker.stop()
        thread.join()


def test_commands_give_shards_what_they_change(scale: Scale) -> None:
    setting = "SELECT get_setting('candidate_depth')"
    pgblend(scale, "config", "set", "candidate_depth", "50")
    assert of_shards(scale, setting) == [50] * 3
    pgblend(scale, "config", "reset", "candidate_depth")
    assert of_shards(scale, setting) == [100] * 3
    pgblend(scale, "profile", "set", "mine", "--setting", "rrf_k=20")
    profile = "SELECT count(*) FROM profiles WHERE name = 'mine'"
    assert of_shards(scale, profile) == [1] * 3
    pgblend(scale, "profile", "drop", "mine")
    assert of_shards(scale, profile) == [0] * 3
    pgblend(scale, "collection", "add", "later", "--text-config", "german")
    scale.coordinator.rows("SELECT ingest_document('later', 'l', 'rote Häuser')")
    assert scale.coordinator.column("SELECT source_key FROM lexical_search('Haus')") == ["l"]
    pgblend(scale, "collection", "remove", "later", "--yes")
    assert sum(of_shards(scale, "SELECT count(*) FROM pgblend_data.document")) == 9
    assert scale.coordinator.column("SELECT source_key FROM lexical_search('Haus')") == []


def test_a_collection_that_goes_takes_its_documents_along_on_all_shards(scale: Scale) -> None:
    pgblend(scale, "collection", "add", "brief")
    for number in range(9):
        scale.coordinator.rows(
            "SELECT ingest_document('brief', %s, %s)", f"b{number}", f"wine {number}"
        )
    with scale.coordinator.connection.transaction(force_rollback=True):
        assert scale.coordinator.value("SELECT remove_collection('brief')")
    assert len(scale.coordinator.rows("SELECT rank FROM lexical_search('wine', 100)")) == 18
    assert scale.coordinator.value("SELECT remove_collection('brief')")
    assert OLD in str(
        scale.coordinator.error("SELECT rank FROM lexical_search('wine')").message_primary
    )
    pgblend(scale, "shards", "push")
    assert len(scale.coordinator.rows("SELECT rank FROM lexical_search('wine', 100)")) == 9
    assert sum(of_shards(scale, "SELECT count(*) FROM pgblend_data.document")) == 9


@pytest.mark.slow
def test_the_worker_gives_shards_what_sql_has_changed(scale: Scale) -> None:
    coordinator = scale.coordinator
    with working(scale) as said:
        coordinator.rows("SELECT set_setting('candidate_depth', '60')")
        wait_until(lambda: of_shards(scale, "SELECT get_setting('candidate_depth')") == [60] * 3)
        coordinator.rows("SELECT reset_setting('candidate_depth')")
        wait_until(lambda: of_shards(scale, "SELECT get_setting('candidate_depth')") == [100] * 3)
    assert "gave shards what has changed" in said
    assert len(coordinator.rows("SELECT rank FROM lexical_search('wine', 100)")) == 9


def test_no_search_and_no_write_changes_the_front_of_a_shard(scale: Scale) -> None:
    coordinator = scale.coordinator
    versions = of_shards(scale, "SELECT front_version FROM pgblend_data.shard_self")
    coordinator.rows("SELECT set_setting('candidate_depth', '70')")
    for call in (
        "SELECT rank FROM lexical_search('wine')",
        "SELECT ingest_document('books', 'new', 'wine')",
        "SELECT delete_document('books', 'k1')",
    ):
        said = coordinator.error(call)
        assert OLD in str(said.message_primary)
        assert "pgblend shards push" in f"{said.message_primary} {said.message_hint}"
    assert of_shards(scale, "SELECT front_version FROM pgblend_data.shard_self") == versions
    coordinator.rows("SELECT reset_setting('candidate_depth')")
    pgblend(scale, "shards", "push")
    assert len(coordinator.rows("SELECT rank FROM lexical_search('wine', 100)")) == 9


def test_a_shard_that_cannot_be_reached_is_named_and_the_others_get_the_change(
    scale: Scale,
) -> None:
    coordinator, shard = scale.coordinator, scale.shards[1]
    coordinator.rows("SELECT set_setting('candidate_depth', '80')")
    shard.rows("ALTER FUNCTION pgblend._apply_front RENAME TO _apply_front_away")
    try:
        with connect(coordinator.url) as admin, pytest.raises(UserError, match="shard b1 did not"):
            push_changes(admin)
    finally:
        shard.rows("ALTER FUNCTION pgblend._apply_front_away RENAME TO _apply_front")
    depths = of_shards(scale, "SELECT get_setting('candidate_depth')")
    assert depths == [80, 100, 80]
    coordinator.rows("SELECT reset_setting('candidate_depth')")
    with connect(coordinator.url) as admin:
        assert push_changes(admin) == 3
        assert push_changes(admin) == 0


def test_an_older_front_is_refused(scale: Scale) -> None:
    front = json.dumps(scale.coordinator.value("SELECT pgblend._front()"))
    said = scale.shards[0].error("SELECT pgblend._apply_front(0, 0, %s)", front)
    assert "this shard has version" in str(said.message_primary)


@pytest.mark.slow
def test_a_space_is_made_filled_indexed_used_and_dropped(scale: Scale) -> None:
    coordinator = scale.coordinator
    pgblend(scale, "space", "create", "second", "--model", "m", "--dimensions", "4", "--no-probe")
    waiting = "SELECT waiting FROM count_vectors('second')"
    assert coordinator.value(waiting) == 9 == sum(of_shards(scale, waiting))
    said = coordinator.error("SELECT switch_embedding_space('second')")
    assert said.message_primary == '9 chunks have no vector in embedding space "second" yet'
    for store in scale.shards:
        store.rows(
            "INSERT INTO pgblend_data.embedding_second SELECT c.id, c.document_id, c.chunk_index,"
            " c.collection_id, c.bucket, '[1,2,3,4]' FROM pgblend_data.chunk AS c"
        )
        store.rows("DELETE FROM pgblend_data.embedding_queue WHERE space = 'second'")
    assert "searches use second instead of s" in pgblend(scale, "space", "switch", "second")
    assert len(coordinator.rows(SEARCH, "[1,2,3,4]")) == 9
    index = "SELECT to_regclass('pgblend_data.embedding_second_embedding_hnsw') IS NULL"
    assert "there is no index now" in pgblend(scale, "space", "index", "second", "--off")
    assert of_shards(scale, index) == [True] * 3
    assert "the index is made" in pgblend(scale, "space", "index", "second")
    tried = json.loads(pgblend(scale, "space", "tune", "second", "--json"))["tries"]
    found = "SELECT ef_search FROM embedding_spaces WHERE name = 'second'"
    assert of_shards(scale, found) == [tried[-1]["ef_search"]] * 3
    listed = json.loads(pgblend(scale, "space", "list", "--json"))["spaces"]
    assert {one["name"]: one["vectors"] for one in listed} == {"s": 0, "second": 9}
    pgblend(scale, "space", "switch", "s", "--even-incomplete")
    pgblend(scale, "space", "drop", "second", "--yes")
    for database in (coordinator, *scale.shards):
        assert database.value("SELECT to_regclass('pgblend_data.embedding_second') IS NULL")
    assert not coordinator.value("SELECT drop_embedding_space('second')")
    said = coordinator.error("SELECT drop_embedding_space('s')")
    assert said.sqlstate == "55006"


def test_a_space_that_is_made_and_rolled_back_is_nowhere(scale: Scale) -> None:
    coordinator = scale.coordinator
    with coordinator.connection.transaction(force_rollback=True):
        coordinator.rows("SELECT create_embedding_space('third', 'm', 4, probe => false)")
        said = coordinator.error("SELECT FROM pgblend_data.embedding_third")
        assert "documents are on the shards" in str(said.message_primary)
    assert len(coordinator.rows("SELECT rank FROM lexical_search('wine', 100)")) == 9


def test_settings_of_a_collection_are_applied_by_shards(scale: Scale) -> None:
    waiting = "SELECT count(*) FROM pgblend_data.document_summary"
    pgblend(scale, "config", "set", "summaries", "true", "-c", "books")
    assert sum(of_shards(scale, waiting)) == 9
    pgblend(scale, "config", "set", "summaries", "false", "-c", "books")
    assert sum(of_shards(scale, waiting)) == 0
