"""Writes on a coordinator: each document comes to its shard, once, whatever is killed meanwhile."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from support.shards import Scale, run_command

KEYS = [f"k{number}" for number in range(12)]
_OWN = """
    SELECT d.source_key FROM pgblend_data.document AS d ORDER BY d.source_key COLLATE "C"
"""
_PLACED = """
    SELECT b.shard FROM pgblend_data.shard_bucket AS b
    WHERE b.bucket = pgblend._bucket((pgblend._named_collection(%s)).id, %s)
"""
# The first change ends its session, as a crash of the shard in the middle of the call would.
_CRASH = """
    CREATE FUNCTION public.crash() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_terminate_backend(pg_backend_pid());
        RETURN NULL;
    END $$;
    CREATE TRIGGER zz_crash AFTER {} ON pgblend_data.{}
    FOR EACH ROW EXECUTE FUNCTION public.crash();
"""


@pytest.fixture
def scale(writing_shards: Scale) -> Scale:
    """Return one node, and a coordinator of three shards, without documents."""
    writing_shards.clear()
    return writing_shards


@contextmanager
def crashing(shard: Any, change: str = "INSERT", table: str = "document") -> Iterator[None]:
    """A shard that dies while it stores a document, or does something else."""
    shard.connection.execute(_CRASH.format(change, table))
    try:
        yield
    finally:
        shard.connection.execute("DROP FUNCTION public.crash() CASCADE")


def stored(scale: Scale) -> list[str]:
    """Return the keys of all shards' documents, of which each must be where it belongs."""
    keys = []
    for number, shard in enumerate(scale.shards):
        own = shard.column(_OWN)
        assert all(scale.coordinator.value(_PLACED, "books", key) == number for key in own)
        keys += own
    return sorted(keys)


def add(scale: Scale, keys: list[str] = KEYS) -> None:
    for key in keys:
        scale.coordinator.rows(
            "SELECT ingest_document('books', %s, %s)", key, f"red wine of house {key}"
        )


# What is said of a document, without its number.
CALLS = [
    "SELECT status, chunk_count FROM ingest_document('books', 'a', 'red wine', 'T')",
    "SELECT status, chunk_count FROM ingest_document('books', 'a', 'red wine', 'T', metadata =>"
    """ '{"a": 1}', modified_at => '2026-01-31 10:00+01')""",
    "SELECT status, chunk_count FROM ingest_document('books', 'b', NULL, content_hash => 'x',"
    """ chunks => '[{"content": "one"}, {"content": "two", "metadata": {"n": 2}}]')""",
    "SELECT status, chunk_count FROM ingest_document('books', 'c', 'text',"
    """ links => '[{"target": "a"}, {"target": "nobody"}]')""",
    "SELECT status FROM ingest_document('books', 'a', 'white wine')",
    "SELECT ingest_document('nowhere', 'a', 'text')",
    "SELECT ingest_document('books', '', 'text')",
    "SELECT ingest_document('books', NULL, 'text')",
    "SELECT ingest_document('books', 'd', NULL)",
    "SELECT ingest_document('books', 'd', 'text', metadata => '[]')",
    "SELECT ingest_document('books', 'd', 'text', metadata => 'null')",
    "SELECT ingest_document('books', 'd', 'text', language => 'nobody')",
    """SELECT add_links('books', 'a', '[{"target": "b"}]')""",
    """SELECT add_links('books', 'nobody', '[{"target": "b"}]')""",
    "SELECT lexical_rebuild('books')",
    "SELECT lexical_seal()",
    "SELECT resolve_links('nowhere')",
    "SELECT link_mentions('books')",
    "SELECT retry_embeddings()",
    "SELECT queue_missing_vectors('s')",
    "SELECT queue_missing_vectors('nobody')",
    "SELECT name, chunks, vectors, waiting, dead, missing FROM count_vectors('s')",
    "SELECT * FROM count_vectors('nobody')",
    "SELECT index_embedding_space('s', false)",
    "SELECT index_embedding_space('s')",
    """SELECT set_metadata(-5, '{"a": 1}')""",
    "SELECT set_metadata(-5, NULL)",
    "SELECT reset_metadata(-5)",
    "SELECT set_summary(-5, 'short')",
    "SELECT delete_document(-5)",
    "SELECT delete_document('books', 'b')",
    "SELECT delete_document('books', 'b')",
    "SELECT delete_document('books', NULL)",
    "SELECT delete_document('nowhere', 'b')",
]  # fmt: skip


def test_calls_say_what_one_node_says(scale: Scale) -> None:
    wrong: list[Any] = []
    for call in CALLS:
        said = []
        for database in (scale.one, scale.coordinator):
            try:
                said.append(database.rows(call))
            except psycopg.Error as error:
                told = error.diag
                said.append([(told.sqlstate, told.message_primary, told.message_hint)])
        wrong += [(call, *said)] if said[0] != said[1] else []
    assert wrong == []


def test_each_document_comes_to_its_shard_and_is_found(scale: Scale) -> None:
    add(scale)
    assert stored(scale) == sorted(KEYS)
    assert all(shard.column(_OWN) for shard in scale.shards)
    found = scale.coordinator.column("SELECT source_key FROM lexical_search('wine', 100)")
    assert sorted(found) == sorted(KEYS)


def test_metadata_summaries_and_deletes_find_a_document_by_its_number(scale: Scale) -> None:
    add(scale)
    coordinator = scale.coordinator
    ids = dict(coordinator.rows("SELECT source_key, document_id FROM lexical_search('wine', 100)"))
    for key, number in ids.items():
        assert coordinator.value("SELECT set_metadata(%s, %s)", number, json.dumps({"k": key}))
        assert coordinator.value("SELECT set_summary(%s, %s)", number, f"about {key}")
    seen = coordinator.rows(
        "SELECT source_key FROM lexical_search('wine', filter => %s)", json.dumps({"k": "k7"})
    )
    assert seen == [("k7",)]
    assert coordinator.value("SELECT reset_metadata(%s)", ids["k7"]) == {}
    assert coordinator.value("SELECT delete_document(%s)", ids["k7"])
    assert not coordinator.value("SELECT delete_document(%s)", ids["k7"])
    assert "k7" not in stored(scale)


def test_a_document_is_forgotten_where_it_is(scale: Scale) -> None:
    add(scale)
    coordinator = scale.coordinator
    coordinator.rows("SELECT ingest_document('books', 'own', 'zanzibar')")
    coordinator.rows("SELECT add_judged_set('j', 'books')")
    coordinator.rows("SELECT record_judgement('j', 'zanzibar', 'own', 1)")
    try:
        told = run_command(coordinator.url, "forget", "own", "-c", "books", "--yes", "--json")
    finally:
        coordinator.rows("SELECT remove_judged_set('j')")
    gone = {row["place"]: row["gone"] for row in json.loads(told)["places"]}
    assert (gone["vocabulary"], gone["judgements"]) == ("now", "1 keep its key")
    assert stored(scale) == sorted(KEYS)
    known = "SELECT count(*) FROM pgblend_data.vocabulary WHERE lexeme = 'zanzibar'"
    assert [shard.value(known) for shard in scale.shards] == [0, 0, 0]
    assert coordinator.rows("SELECT * FROM forget_document(-5)") == []


def test_edges_join_nodes_of_all_shards(scale: Scale) -> None:
    add(scale)
    coordinator = scale.coordinator
    first, second, *_ = scale.shards[0].column(_OWN)
    (other, *_) = scale.shards[1].column(_OWN)
    nodes = {
        key: coordinator.value("SELECT graph_node('books', %s)", key)
        for key in (first, second, other)
    }
    join = "SELECT add_edge(%s, %s, 'cites', 2, %s)"
    assert coordinator.value(join, nodes[first], nodes[second], "{}")
    assert not coordinator.value(join, nodes[first], nodes[second], '{"page": 3}')
    found = "SELECT neighbour, edge_type, weight FROM graph_neighbors(%s)"
    assert coordinator.rows(found, nodes[first]) == [(nodes[second], "cites", 2)]
    assert coordinator.value(join, nodes[first], nodes[other], "{}")
    assert not coordinator.value(join, nodes[first], nodes[other], "{}")
    assert coordinator.rows(found, nodes[other]) == [(nodes[first], "cites", 2)]
    for source, target, problem in (
        (nodes[first], "document:999999999", "there is no node document:999999999"),
        (nodes[first], nodes[first], "expected two different nodes"),
        ("nothing", nodes[first], 'node is "nothing"'),
    ):
        assert problem in str(coordinator.error(join, source, target, "{}").message_primary)
    for end in (second, other):
        assert coordinator.value("SELECT delete_edge(%s, %s)", nodes[first], nodes[end]) == 1
    assert coordinator.rows(found, nodes[first]) == []


def test_a_document_survives_its_caller_and_comes_once(scale: Scale) -> None:
    """The shard commits for itself: what is called once more changes nothing."""
    coordinator = scale.coordinator
    with coordinator.connection.transaction(force_rollback=True):
        add(scale)
    assert stored(scale) == sorted(KEYS)
    call = "SELECT status FROM ingest_document('books', %s, %s)"
    for key in KEYS:
        assert coordinator.value(call, key, f"red wine of house {key}") == "unchanged"
    assert stored(scale) == sorted(KEYS)


def test_a_shard_that_dies_stores_nothing_and_then_all(scale: Scale) -> None:
    with crashing(scale.shards[1]):
        lost = []
        for key in KEYS:
            try:
                add(scale, [key])
            except psycopg.Error:
                lost.append(key)
        assert lost
        assert sorted([*stored(scale), *lost]) == sorted(KEYS)
    add(scale)
    assert stored(scale) == sorted(KEYS)


_NUMBER = "(SELECT d.document_id FROM documents AS d WHERE d.source_key = %s)"
# What is called, with a key; the change that kills it; what tells that it was done.
KILLED = {
    "delete": (
        "SELECT delete_document('books', %s)",
        ("DELETE", "document"),
        "SELECT NOT EXISTS (SELECT FROM documents AS d WHERE d.source_key = %s)",
    ),
    "metadata": (
        f'SELECT set_metadata({_NUMBER}, \'{{"by": "hand"}}\')',
        ("UPDATE", "document"),
        "SELECT d.metadata ? 'by' FROM documents AS d WHERE d.source_key = %s",
    ),
    "links": (
        "SELECT add_links('books', %s, '[{\"target\": \"nowhere\"}]')",
        ("INSERT", "link"),
        f"SELECT count(*) = 1 FROM links AS l WHERE l.document_id = {_NUMBER}",
    ),
}


@pytest.mark.extended
@pytest.mark.parametrize(("call", "change", "done"), KILLED.values(), ids=KILLED.keys())
def test_a_change_that_a_shard_dies_in_is_made_once_more(
    scale: Scale, call: str, change: tuple[str, str], done: str
) -> None:
    add(scale)
    coordinator, lost = scale.coordinator, []
    with crashing(scale.shards[1], *change):
        for key in KEYS:
            try:
                coordinator.value(call, key)
            except psycopg.Error:
                lost.append(key)
    assert lost == sorted(scale.shards[1].column(_OWN), key=KEYS.index)
    assert [key for key in KEYS if not coordinator.value(done, key)] == lost
    for key in KEYS:
        coordinator.value(call, key)
    assert all(coordinator.value(done, key) for key in KEYS)


def write_files(folder: Path, count: int) -> list[str]:
    for number in range(count):
        (folder / f"f{number}.txt").write_text(f"red wine of house {number}")
    return sorted(f"f{number}.txt" for number in range(count))


def ingest(scale: Scale, folder: Path, *more: str, fails: bool = False) -> str:
    return run_command(
        scale.coordinator.url,
        "ingest",
        str(folder),
        "-c",
        "books",
        "--no-embed",
        *more,
        fails=fails,
    )


@pytest.mark.slow
def test_an_ingest_goes_to_all_shards_and_goes_on_after_a_crash(
    scale: Scale, tmp_path: Path
) -> None:
    names = write_files(tmp_path, 20)
    with crashing(scale.shards[2]):
        ingest(scale, tmp_path, fails=True)
        assert Counter(stored(scale)) <= Counter(names)
        assert not scale.shards[2].column(_OWN)
    ingest(scale, tmp_path)
    assert stored(scale) == names
    told = ingest(scale, tmp_path, "--json")
    report = json.loads(told[told.index("{") :])
    assert report["documents"]["unchanged"] == 20
    found = scale.coordinator.column("SELECT source_key FROM lexical_search('wine', 100)")
    assert sorted(found) == names


@pytest.mark.slow
def test_an_ingest_prunes_and_syncs_on_all_shards(scale: Scale, tmp_path: Path) -> None:
    names = write_files(tmp_path, 9)
    ingest(scale, tmp_path)
    for name in names[:5]:
        (tmp_path / name).unlink()
    (tmp_path / names[5]).write_text("white wine")
    ingest(scale, tmp_path, "--prune")
    assert stored(scale) == names[5:]
    assert scale.coordinator.column("SELECT source_key FROM lexical_search('white')") == [names[5]]
    (tmp_path / "new.txt").write_text("new wine")
    run_command(scale.coordinator.url, "sync", str(tmp_path), "-c", "books", "--no-embed")
    assert stored(scale) == sorted([*names[5:], "new.txt"])


@pytest.mark.slow
def test_a_dry_run_stores_nothing(scale: Scale, tmp_path: Path) -> None:
    write_files(tmp_path, 3)
    ingest(scale, tmp_path, "--dry-run")
    run_command(scale.coordinator.url, "ingest", str(tmp_path), "-c", "not there", "--dry-run")
    assert stored(scale) == []


def test_who_may_not_write_may_not_write_by_way_of_shards(scale: Scale) -> None:
    coordinator = scale.coordinator
    role = f"reader_{coordinator.connection.info.backend_pid}"
    coordinator.rows(f"CREATE ROLE {role} LOGIN PASSWORD 'x' IN ROLE pgblend_reader")
    try:
        run_command(coordinator.url, "shards", "grant", role, "--password", "x")
        coordinator.rows(f"SET ROLE {role}")
        assert coordinator.error("SELECT ingest_document('books', 'k', 't')").sqlstate == "42501"
        call = json.dumps(
            {
                "version": coordinator.value("SELECT version FROM pgblend_data.shard_front"),
                "routine": "blend.ingest_document",
                "arguments": {"collection": "books", "source_key": "k", "content": "text"},
            }
        )
        coordinator.rows("RESET ROLE")
        shard = scale.shards[0]
        shard.rows(f"SET ROLE {role}")
        (said,) = shard.column("SELECT answer FROM pgblend._carry_out('{0}', ARRAY[%s])", call)
        assert json.loads(said)["error"][0] == "42501"
    finally:
        coordinator.rows("RESET ROLE")
        scale.shards[0].rows("RESET ROLE")
        coordinator.rows(f"DROP USER MAPPING IF EXISTS FOR {role} SERVER pgblend_shards")
        coordinator.rows(f"DROP ROLE {role}")


@pytest.mark.slow
def test_a_writer_ingests_by_way_of_shards_as_themselves(scale: Scale, tmp_path: Path) -> None:
    coordinator = scale.coordinator
    role = f"writer_{coordinator.connection.info.backend_pid}"
    coordinator.rows(f"CREATE ROLE {role} LOGIN PASSWORD 'x' IN ROLE pgblend_writer")
    names = write_files(tmp_path, 6)
    try:
        run_command(coordinator.url, "shards", "grant", role, "--password", "x")
        run_command(coordinator.url, "collection", "grant", "books", role, "--privilege", "write")
        url = make_conninfo(coordinator.url, user=role, password="x")
        run_command(url, "ingest", str(tmp_path), "-c", "books", "--no-embed")
        assert stored(scale) == names
        said = run_command(url, "ingest", str(tmp_path), "-c", "rest", "--no-embed", fails=True)
        assert "permission denied" in said
        assert stored(scale) == names
    finally:
        for database in (coordinator, *scale.shards):
            database.rows(f"DROP OWNED BY {role}")
        coordinator.rows("SELECT revoke_collection('books', %s)", role)
        coordinator.rows(f"DROP USER MAPPING IF EXISTS FOR {role} SERVER pgblend_shards")
        run_command(coordinator.url, "shards", "push")
        coordinator.rows(f"DROP ROLE {role}")
