"""A shard that is split while documents come and searches run: nothing lost, nothing twice."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count as numbers
from pathlib import Path
from typing import Any

import pytest
from conftest import Server

from pgblend.cli.base.database import connect
from support.database import Database
from support.shards import Scale, asked, make_counter, run_command

_names = numbers()
SEARCH = (
    "SELECT source_key, chunk_id, content, score, metadata FROM hybrid_search(%s, 100,"
    """ options => '{"vector_scan": "exact", "graph": {"depth": 1}}',"""
    " query_embedding => '[1,2,3,4,5,6,7,8]')"
)
QUERIES = ["red wine", "wnie of house", "fox", '"house 3"', "house -red"]
GRAPH = [
    "SELECT source, target, edge_type, metadata, document_id FROM edges ORDER BY 1, 2, 3, 5",
    "SELECT source_key, target, target_key FROM links ORDER BY 1, 2",
    "SELECT * FROM graph_neighbors(graph_node('books', 'k3'), 2)",
    "SELECT node, entity_type, name, passages FROM entities ORDER BY node",
]
WORDS = (
    "SELECT source_key FROM lexical_search('wine', 1000,"
    """ options => '{"candidate_depth": 1000}')"""
)
# Each has an alias that another one's text has.
_METADATA = """
    SELECT set_metadata(d.id, jsonb_build_object('by', 'hand', 'aliases',
        jsonb_build_array('house ' || (substr(d.source_key, 2)::integer + 4) % 30)))
    FROM pgblend_data.document AS d
"""
_EXTRACTED = """
    INSERT INTO pgblend_data.entity_extraction (collection_id, content_hash, version, result)
    SELECT DISTINCT c.collection_id, c.content_hash, 'v', %s::jsonb FROM pgblend_data.chunk AS c
"""
FOUND = json.dumps({
    "entities": [{"name": name, "type": "thing"} for name in ("wine", "fox", "house")],
    "relations": [{"source": "fox", "target": "house", "type": "is_in"}],
})  # fmt: skip
KEYS = "SELECT d.source_key FROM pgblend_data.document AS d"


@pytest.fixture
def scale(fresh_shards: Scale) -> Scale:
    """Return a coordinator of two shards of its own, with documents."""
    coordinator = fresh_shards.coordinator
    for number in range(30):
        links = f'[{{"target": "k{number % 7}"}}]'
        coordinator.rows(
            "SELECT ingest_document('books', %s, %s, links => %s)",
            f"k{number}",
            f"red wine of house {number}" if number % 2 else f"a fox in house {number}",
            links,
        )
    coordinator.rows("SELECT resolve_links('books')")
    for number in range(0, 30, 3):
        coordinator.rows(
            "SELECT add_edge(graph_node('books', %s), graph_node('books', %s), 'cites')",
            f"k{number}",
            f"k{(number + 7) % 30}",
        )
    for shard in fresh_shards.shards:
        shard.rows(
            "INSERT INTO pgblend_data.embedding_s SELECT c.id, c.document_id, c.chunk_index,"
            " c.collection_id, c.bucket, (SELECT array_agg(length(c.content) % g)"
            " FROM generate_series(1, 8) AS g)::vector FROM pgblend_data.chunk AS c"
            " WHERE c.id % 5 <> 0"
        )
        shard.rows(
            "DELETE FROM pgblend_data.embedding_queue AS q USING pgblend_data.embedding_s AS e"
            " WHERE e.chunk_id = q.chunk_id"
        )
        shard.rows(_METADATA)
        shard.rows(_EXTRACTED, FOUND)
    assert coordinator.value("SELECT link_mentions('books')") == 30
    assert coordinator.value(
        "SELECT pgblend._link_entities((pgblend._named_collection('books')).id, 'v')"
    ) == 30  # fmt: skip
    assert coordinator.value("SELECT count(*) FROM entities") == 3
    return fresh_shards


@contextmanager
def new_databases(server: Server, template: str, *names: str) -> Iterator[dict[str, str]]:
    """Empty databases to split to."""
    if not names:
        yield {}
        return
    given = f"pgblend_split_{next(_names)}_{names[0]}"
    with (
        server.database(given, template) as url,
        new_databases(server, template, *names[1:]) as others,
    ):
        yield {names[0]: url, **others}


def pairs(given: dict[str, str]) -> list[str]:
    return [f"{name}={url}" for name, url in given.items()]


def told(scale: Scale, session: Database | None = None) -> list[Any]:
    asked_of = session or scale.coordinator
    found = [asked_of.rows(SEARCH, query) for query in QUERIES]
    return [*found, *(asked_of.rows(query) for query in GRAPH)]


@pytest.mark.slow
def test_a_split_changes_no_search_and_moves_each_document_once(
    scale: Scale, server: Server, template: str, tmp_path: Path
) -> None:
    before, coordinator = told(scale), scale.coordinator
    saved = "reindex", "-c", "books", "--save", str(tmp_path / "saved")
    run_command(coordinator.url, *saved)
    keys = set(scale.shards[0].column(KEYS))
    with (
        new_databases(server, template, "b2", "b3") as given,
        connect(coordinator.url) as earlier,
        earlier.transaction(),
    ):
        long = Database(earlier)
        assert told(scale, long) == before
        said = run_command(coordinator.url, "shards", "split", "b0", *pairs(given))
        assert f"copied {len(keys)} documents" in said
        assert told(scale) == before
        assert told(scale, long) == before
        long.rows("SELECT ingest_document('books', %s, 'later wine')", max(keys))
        with connect(given["b2"]) as one, connect(given["b3"]) as other:
            parts = [set(Database(shard).column(KEYS)) for shard in (one, other)]
            assert parts[0] | parts[1] == keys
            assert not parts[0] & parts[1]
            assert all(parts)
            run_command(coordinator.url, "shards", "check")
        names = coordinator.column("SELECT name FROM pgblend_data.shard ORDER BY number")
        assert names == ["b1", "b2", "b3"]
        coordinator.rows("SELECT ingest_document('books', %s, 'new wine')", min(keys))
        assert "new wine" in coordinator.column("SELECT content FROM lexical_search('new')")
        old = scale.shards[0].error("SELECT delete_document('books', 'k1')")
        assert old.sqlstate == "PB016"
        load = *saved[:3], "--load", saved[-1]
        said = run_command(coordinator.url, *load, fails=True)
        assert "with the shards 0, 1, and this is a database with the shards 1, 2, 3" in said
        check_blocks(coordinator, given)


def check_blocks(coordinator: Database, given: dict[str, str]) -> None:
    """Check that new ids are of their own shard's block; documents that moved keep theirs."""
    ids = coordinator.column(
        "SELECT (ingest_document('books', 'block' || n, 'wine')).document_id"
        " FROM generate_series(1, 12) AS n"
    )
    assert {number >> 40 for number in ids} == {1, 2, 3}
    for number, url in enumerate(given.values(), 2):
        with connect(url) as shard:
            of_keys = Database(shard).rows(
                "SELECT d.source_key LIKE 'block%', d.id >> 40 FROM pgblend_data.document AS d"
            )
        assert {block for is_new, block in of_keys if is_new} == {number}
        assert 0 in {block for is_new, block in of_keys if not is_new}


@pytest.mark.slow
def test_a_move_takes_all(scale: Scale, server: Server, template: str) -> None:
    before = told(scale)
    with new_databases(server, template, "b2") as given:
        run_command(scale.coordinator.url, "shards", "split", "b1", *pairs(given))
        assert told(scale) == before


@pytest.mark.slow
def test_a_split_that_is_killed_goes_on(scale: Scale, server: Server, template: str) -> None:
    """Killed in the copy, and once the shard takes no more changes.

    No other command splits it, or cancels that, while it runs: documents would be lost.
    """
    before, coordinator, shard = told(scale), scale.coordinator, scale.shards[0]
    with new_databases(server, template, "b2", "b3") as given:
        command = [sys.executable, "-m", "pgblend.cli.main", "--database-url", coordinator.url]
        command += ["shards", "split", "b0", *pairs(given)]
        with connect(given["b3"]) as holder, holder.transaction():
            holder.execute("LOCK TABLE pgblend_data.shard_copy")
            with subprocess.Popen(command, stderr=subprocess.PIPE) as running:
                with connect(given["b2"]) as half:
                    while not Database(half).column(KEYS):
                        assert running.poll() is None
                for name, more, said in (
                    ("b0", ["--cancel"], "shard b0 is being split by another command"),
                    ("b0", pairs(given), "shard b0 is being split by another command"),
                    ("b1", pairs(given), "another shard of this coordinator is being split"),
                ):
                    assert said in run_command(
                        coordinator.url, "shards", "split", name, *more, fails=True
                    )
                running.kill()
        assert told(scale) == before
        shard.rows("UPDATE pgblend_data.shard_self SET is_moved = true")
        assert "run its split again" in run_command(coordinator.url, "shards", "check", fails=True)
        run_command(coordinator.url, "shards", "split", "b0", "--cancel")
        shard.rows("SELECT delete_document('books', %s)", min(shard.column(KEYS)))
        shard.rows("SELECT set_metadata(d.id, '{\"new\": 1}') FROM pgblend_data.document AS d")
        before = told(scale)
        run_command(coordinator.url, "shards", "split", "b0", *pairs(given))
        assert told(scale) == before


@pytest.mark.slow
def test_documents_come_and_are_found_while_a_shard_is_split(
    scale: Scale, server: Server, template: str
) -> None:
    """Every search finds all that was stored when it began, each once."""
    coordinator, wrong, sent = scale.coordinator, list[Any](), list[str]()
    ended = threading.Event()

    def write() -> None:
        with connect(coordinator.url) as connection:
            database = Database(connection)
            for number in numbers():
                if ended.is_set() and number > 30:
                    return
                database.rows(
                    "SELECT ingest_document('books', %s, %s)", f"n{number}", f"wine {number}"
                )
                sent.append(f"n{number}")

    def search() -> None:
        with connect(coordinator.url) as connection:
            database = Database(connection)
            while not ended.is_set():
                there = set(sent)
                found = database.column(WORDS)
                if len(found) != len(set(found)) or there - set(found):
                    wrong.append((there - set(found), found))

    threads = [threading.Thread(target=one) for one in (write, search)]
    with new_databases(server, template, "b2", "b3") as given:
        for thread in threads:
            thread.start()
        try:
            run_command(coordinator.url, "shards", "split", "b0", *pairs(given))
        finally:
            ended.set()
            for thread in threads:
                thread.join()
        assert wrong == []
        found = coordinator.column(WORDS)
        assert {*sent} <= {*found}
        assert len(found) == len(set(found))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nobody", "b2=dbname=x user=u"], "there is no shard 'nobody'"),
        (["b0", "b1=dbname=x user=u"], "another user"),
        (["b0"], "give NAME=URL of new shards, or --cancel"),
        (["b0", "--cancel", "b2=dbname=x user=u"], "give NAME=URL of new shards, or --cancel"),
    ],
)
def test_splits_that_cannot_be(two_shards: Scale, arguments: list[str], said: str) -> None:
    url = two_shards.coordinator.url
    assert said in run_command(url, "shards", "split", *arguments, fails=True)
    taken = f"b1={two_shards.shards[1].url}"
    told = run_command(url, "shards", "split", "b0", taken, fails=True)
    assert "there is a shard 'b1' already" in told
    taken = f"b2={two_shards.shards[1].url}"
    told = run_command(url, "shards", "split", "b0", taken, fails=True)
    assert "is a shard or a coordinator already" in told


@pytest.mark.slow
def test_a_split_takes_a_placed_collection_along(
    fresh_shards: Scale, server: Server, template: str
) -> None:
    """Sessions that searched before it ask the successors, and no others."""
    scale, coordinator = fresh_shards, fresh_shards.coordinator
    make_counter(coordinator)
    for name, shard in (("north", "b0"), ("south", "b1")):
        coordinator.rows("SELECT add_collection(%s, shards => ARRAY[%s])", name, shard)
    run_command(coordinator.url, "shards", "push")
    ingest = "SELECT ingest_document(%s, %s, %s)"
    for number in range(12):
        coordinator.rows(ingest, "north", f"k{number}", f"red wine of house {number}")
    coordinator.rows(ingest, "south", "k", "red wine")
    words = "SELECT source_key, score FROM lexical_search('red wine', 50, {})"
    asked_for = [words.format(where) for where in ("'{north}'", "'{south}'", "NULL")]
    before = [coordinator.rows(query) for query in asked_for]
    assert [len(rows) for rows in before] == [12, 1, 13]
    with (
        new_databases(server, template, "b2", "b3") as given,
        connect(coordinator.url) as earlier,
        earlier.transaction(),
    ):
        long = Database(earlier)
        assert [long.rows(query) for query in asked_for] == before
        run_command(coordinator.url, "shards", "split", "b0", *pairs(given))
        for session in (coordinator, long):
            assert [session.rows(query) for query in asked_for] == before
            assert asked(session, asked_for[0]) == [2, 4]
            assert asked(session, asked_for[1]) == [2, 2]
        with scale.without(1):
            strict = asked_for[0].replace(")", """, options => '{"strict": true}')""")
            assert coordinator.rows(strict) == before[0]
        halves = []
        for url in given.values():
            with connect(url) as half:
                halves.append(Database(half).column(KEYS))
        assert sorted([*halves[0], *halves[1]]) == sorted(f"k{number}" for number in range(12))
        assert all(halves)
        gone = coordinator.error("SELECT add_collection('wrong', shards => '{b0}')")
        assert "There are: b1, b2, b3" in str(gone.message_hint)
        coordinator.rows("SELECT add_collection('new', shards => '{b3}')")
        run_command(coordinator.url, "shards", "push")
        coordinator.rows(ingest, "new", "k", "new wine")
        with connect(given["b3"]) as half:
            assert len(Database(half).column(KEYS)) == len(halves[1]) + 1
        run_command(coordinator.url, "shards", "check")
