"""Edges of foreign keys between attached tables of a coordinator are those of one node."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from pgblend.cli.base.database import connect
from pgblend.cli.shards import outbox
from pgblend.cli.shards.members import places_of
from support.database import Database
from support.shards import Scale, run_command
from support.waiting import wait_until

TABLES = """
    CREATE TABLE public.notes (id integer PRIMARY KEY, body text);
    CREATE TABLE public.articles (
        id bigint PRIMARY KEY, body text, parent bigint REFERENCES articles,
        other integer CONSTRAINT other REFERENCES notes, third integer REFERENCES notes);
    INSERT INTO notes SELECT n, 'note ' || n FROM generate_series(1, 9) AS n;
    INSERT INTO articles SELECT n, 'wine of house ' || n FROM generate_series(1, 20) AS n;
    UPDATE articles SET parent = id - 1, other = 1 + id % 3, third = 1 + id % 4 WHERE id % 2 = 0
"""
ATTACH = "SELECT * FROM attach_table('public.articles', '{body}', collection => 'news')"
ATTACH_NOTES = "SELECT * FROM attach_table('public.notes', '{body}')"
STEPS = [
    "UPDATE articles SET parent = NULL WHERE id = 6",
    "UPDATE articles SET parent = 1, other = 1, third = 1 WHERE id = 8",
    "UPDATE articles SET body = 'white' WHERE id % 4 = 0; UPDATE notes SET body = 'black'",
    "UPDATE articles SET other = NULL, third = NULL WHERE 2 IN (other, third);"
    " DELETE FROM notes WHERE id = 2",
    "INSERT INTO notes (id, body) VALUES (2, 'again'); UPDATE articles SET other = 2 WHERE id = 9",
    "UPDATE articles SET parent = NULL WHERE parent = 11;"
    " DELETE FROM articles WHERE id IN (11, 14)",
    "INSERT INTO articles VALUES (30, 'more', 9, 9), (31, 'most', 31, 8)",
    "ALTER TABLE articles DROP CONSTRAINT other, ADD CONSTRAINT other FOREIGN KEY (other)"
    " REFERENCES articles; SELECT fill_table('public.articles', anew => true)",
    "SELECT detach_table('public.notes')",
    ATTACH_NOTES,
    "UPDATE articles SET third = NULL; DELETE FROM notes",
]
EDGES = """
    SELECT s.collection, s.source_key, t.collection, t.source_key, e.edge_type, e.origin,
        e.weight, e.metadata
    FROM edges AS e
    INNER JOIN documents AS s ON e.source = 'document:' || s.document_id
    INNER JOIN documents AS t ON e.target = 'document:' || t.document_id
    ORDER BY 1, 2, 3, 4
"""
COUNT = "SELECT count(*) FROM edges"
WALK = """
    SELECT collection, source_key, distance, weight
    FROM graph_neighbors(graph_node('news', '8'), 2, '{}') ORDER BY 1, 2
"""
SEARCH = """
    SELECT collection, source_key, score FROM graph_search(ARRAY[graph_node('news', '8')], 2, 100)
    ORDER BY 1, 2
"""
DROP = "DROP TABLE IF EXISTS articles, notes"
DETACH = "SELECT detach_table('public.articles')", "SELECT detach_table('public.notes')"
CRASH = """
    CREATE FUNCTION public.crash() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
    CREATE TRIGGER zz_crash AFTER {} ON pgblend_data.{}
    FOR EACH STATEMENT EXECUTE FUNCTION public.crash()
"""
SETTLE = "SELECT pgblend._settle_graph()"
WAITS = """
    SELECT EXISTS (
        SELECT FROM pg_stat_activity AS a
        WHERE a.datname = current_database() AND a.wait_event_type = 'Lock')
"""


@pytest.fixture
def scale(writing_shards: Scale) -> Iterator[Scale]:
    """One node, and a coordinator of three shards, each with two tables that are not attached."""
    run(writing_shards, TABLES)
    yield writing_shards
    for detach in DETACH:
        run(writing_shards, detach)
        push(writing_shards)
    run(writing_shards, DROP)


def run(scale: Scale, statements: str) -> None:
    for database in (scale.one, scale.coordinator):
        database.connection.execute(statements.encode())


def push(scale: Scale) -> None:
    run_command(scale.coordinator.url, "shards", "push")


def bring(scale: Scale) -> None:
    """Bring rows to shards, and leave their edges to the job."""
    with connect(scale.coordinator.url) as front:
        for place in places_of(front):
            outbox.deliver(front, place)


def bring_and_settle(scale: Scale) -> None:
    bring(scale)
    with connect(scale.coordinator.url) as front:
        front.execute(SETTLE)


def check_same(scale: Scale, step: str) -> None:
    """Check that edges, and what walks find, are those of one node."""
    one, coordinator = scale.one, scale.coordinator
    assert coordinator.rows(EDGES) == one.rows(EDGES), step
    assert coordinator.value(COUNT) == one.value(COUNT), step
    for query in (*(WALK.format(way) for way in ("out", "in", "both")), SEARCH):
        assert coordinator.rows(query) == one.rows(query), (step, query)


def attach_both(scale: Scale) -> None:
    run(scale, ATTACH)
    run(scale, ATTACH_NOTES)
    push(scale)


@pytest.mark.slow
def test_edges_follow_whatever_is_done(scale: Scale) -> None:
    """Whichever table is attached first; a row may be looked at twice, and nothing is said."""
    scale.coordinator.warnings()
    for step in (ATTACH, ATTACH_NOTES, *STEPS):
        run(scale, step)
        push(scale)
        check_same(scale, step)
        if step == ATTACH_NOTES:
            assert {row[2] for row in scale.one.rows(EDGES)} == {"news", "notes"}
    assert [said for said in scale.coordinator.warnings() if "foreign" in said] == []


@pytest.mark.slow
def test_whoever_is_killed_on_the_way_loses_no_edge(scale: Scale) -> None:
    """After the shard's commit, and at each of the job's own writes."""
    attach_both(scale)
    for place, (event, table) in enumerate(
        (("DELETE", "shard_outbox"), ("INSERT", "edge"), ("DELETE", "graph_change"))
    ):
        run(scale, f"UPDATE articles SET other = 3 + {place}, parent = {place + 1} WHERE id > 4")
        run(scale, f"INSERT INTO notes VALUES (100 + {place}, 'more')")
        crashes = scale.coordinator if table == "shard_outbox" else scale.shards[1]
        crashes.connection.execute(CRASH.format(event, table).encode())
        try:
            with pytest.raises(psycopg.Error):
                bring_and_settle(scale)
        finally:
            crashes.connection.execute("DROP FUNCTION public.crash() CASCADE")
        push(scale)
        check_same(scale, table)


@pytest.mark.slow
def test_a_row_that_changes_while_its_edge_is_made(scale: Scale) -> None:
    """The job waits for the worker's batch, and makes no edge that the row is done with."""
    attach_both(scale)
    run(scale, "UPDATE articles SET parent = 3 WHERE id = 10")
    bring(scale)
    run(scale, "UPDATE articles SET parent = 5 WHERE id = 10")
    with connect(scale.coordinator.url) as front, connect(scale.coordinator.url) as job:
        (place,) = (one for one in places_of(front) if outbox.waiting_for(front, one)["waiting"])
        with ThreadPoolExecutor() as pool, connect(place.url) as shard:
            with shard.transaction():
                assert outbox.deliver_batch(front, shard, place) == 1
                settling = pool.submit(job.execute, SETTLE)
                wait_until(lambda: scale.shards[place.number].value(WAITS))
            settling.result()
    push(scale)
    check_same(scale, "while the job ran")


@pytest.mark.slow
def test_edges_and_what_is_to_make_some_go_along_in_a_split(
    fresh_shards: Scale, new_database: Callable[..., str], template: str
) -> None:
    scale = fresh_shards
    run(scale, TABLES)
    attach_both(scale)
    run(scale, "UPDATE articles SET parent = 2, other = 4 WHERE id > 10")
    bring(scale)
    run(scale, "UPDATE articles SET parent = 3 WHERE id > 15")
    pairs = [f"b{number}={new_database(template)}" for number in (2, 3)]
    run_command(scale.coordinator.url, "shards", "split", "b0", *pairs)
    push(scale)
    with connect(scale.coordinator.url) as connection:
        split = Scale(scale.one, Database(connection), scale.shards)
        check_same(split, "after the split")
        for step in STEPS[:4]:
            run(split, step)
            push(split)
            check_same(split, step)
