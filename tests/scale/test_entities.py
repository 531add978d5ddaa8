"""Entities over shards: passages of different shards share them, as on one node."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.database import Database
from support.model_provider import ModelProvider
from support.shard_graph import both, role_of, settle, shard_of
from support.shards import Scale, run_command

NAMES = {"Jane Roe": "Person", "John Doe": "person", "Lisbon": "place", "The Heart": "work"}
TEXTS = {
    f"f{number}.txt": f"{first} knew {second} in house {number}"
    for number, (first, second) in enumerate(
        [pair for pair in zip([*NAMES] * 3, [*NAMES][1:] * 3 + ["Lisbon"] * 3, strict=True)]
    )
} | {"alone.txt": "Rome is alone", "none.txt": "nothing of a name"}  # fmt: skip
ENTITIES = "SELECT entity_type, name, description, passages FROM entities ORDER BY 1, 2"
EDGES = """
    SELECT coalesce(s.name, d.source_key), e.edge_type, t.name, e.origin, e.weight, e.metadata,
        e.collection, d.source_key
    FROM edges AS e
    INNER JOIN entities AS t ON e.target = t.node
    LEFT JOIN entities AS s ON e.source = s.node
    INNER JOIN documents AS d ON d.document_id = e.document_id
    WHERE e.origin = 'model' ORDER BY 1, 2, 3, 8
"""
PASSAGE = """(
    SELECT 'chunk:' || min(c.chunk_id) FROM chunks AS c
    INNER JOIN documents AS d ON d.document_id = c.document_id WHERE d.source_key = 'f0.txt'
)"""
WALKS = [
    f"SELECT title, source_key, kind, distance, edge_type FROM graph_neighbors({PASSAGE}, 1)",
    f"SELECT title, source_key, kind, distance FROM graph_neighbors({PASSAGE}, 4)",
    f"SELECT source_key, score FROM graph_search(ARRAY[{PASSAGE}], 2, 100)",
    "SELECT source_key FROM hybrid_search('house 1', 100,"
    """ options => '{"graph": {"weight": 0.7, "depth": 2}}')""",
]  # fmt: skip
STORED = "SELECT count(*) FROM pgblend_data.entity"


def answer(body: dict[str, Any]) -> str:
    text = body["messages"][-1]["content"]
    known = NAMES | {"Rome": "place"}
    found = [name for name in known if name in text]
    return json.dumps({
        "entities": [{"name": n, "type": known[n], "description": f"It is {n}."} for n in found],
        "relations": [
            {"source": source, "target": target, "type": "knew"}
            for source, target in pairwise(found)
        ],
    })  # fmt: skip


@pytest.fixture
def scale(writing_shards: Scale, model_provider: ModelProvider, tmp_path: Path) -> Scale:
    """Return one node, and a coordinator of three shards, without documents, that ask a model."""
    writing_shards.clear()
    settle(writing_shards)
    for store in (writing_shards.one, *writing_shards.shards):
        assert store.value(STORED) == 0
        store.rows("DELETE FROM pgblend_data.entity_extraction")
    model_provider.reply = answer
    for name, value in {"gateway_url": model_provider.url, "entity_model": "test/chat"}.items():
        for database in (writing_shards.one, writing_shards.coordinator):
            database.rows("SELECT set_setting(%s, to_jsonb(%s::text))", name, value)
    run_command(writing_shards.coordinator.url, "shards", "push")
    write(tmp_path)
    return writing_shards


def write(folder: Path) -> None:
    for name, text in TEXTS.items():
        (folder / name).write_text(text)


def ingest(database: Database, folder: Path, *more: str) -> str:
    given = "-c", "books", "--no-embed", "--lang", "english", "--prune", *more
    return run_command(database.url, "ingest", str(folder), *given)


def asked(provider: ModelProvider) -> int:
    return sum("messages" in body for body in provider.bodies)


def check_same(scale: Scale) -> None:
    """Check that entities, edges and what walks find are those of one node."""
    for call in (ENTITIES, EDGES, *WALKS):
        expected, found = (sorted(map(str, rows)) for rows in both(scale, call))
        assert found == expected, call
        assert expected, call
    assert sum(shard.value(STORED) for shard in scale.shards) == scale.one.value(STORED)
    counts = "SELECT count(*) FROM pgblend_data.edge"
    assert sum(shard.value(counts) for shard in scale.shards) == scale.one.value(counts)


@pytest.mark.slow
def test_passages_of_different_shards_share_entities(
    scale: Scale, model_provider: ModelProvider, tmp_path: Path
) -> None:
    """Through an ingest and the command; once more asks nobody, and changes nothing."""
    assert len({shard_of(scale, name) for name in TEXTS}) == 3
    ingest(scale.one, tmp_path, "--entities")
    once = asked(model_provider)
    assert once == len(TEXTS)
    ingest(scale.coordinator, tmp_path, "--entities")
    assert asked(model_provider) == 2 * once
    check_same(scale)
    said = run_command(scale.coordinator.url, "graph", "entities", "-c", "books")
    assert "asked about 0 texts, joined 0 passages" in said
    settle(scale)
    check_same(scale)
    assert asked(model_provider) == 2 * once
    assert sum(shard.value(STORED) > 0 for shard in scale.shards) > 1
    for database in (scale.one, scale.coordinator):
        run_command(database.url, "config", "set", "entity_model", "test/other")
    told = {
        run_command(database.url, "graph", "entities", "-c", "books")
        for database in (scale.one, scale.coordinator)
    }
    assert told == {"pgblend: asked about 14 texts, joined 13 passages\n"}
    settle(scale)
    check_same(scale)


@pytest.mark.slow
def test_a_text_of_several_shards_is_asked_about_once(
    scale: Scale, model_provider: ModelProvider, tmp_path: Path
) -> None:
    for number in range(8):
        (tmp_path / f"same{number}.txt").write_text(TEXTS["f0.txt"])
    assert len({shard_of(scale, f"same{number}.txt") for number in range(8)}) > 1
    ingest(scale.one, tmp_path, "--entities")
    ingest(scale.coordinator, tmp_path, "--entities")
    assert asked(model_provider) == 2 * len(TEXTS)
    check_same(scale)


@pytest.mark.slow
def test_entities_go_with_their_last_passage(scale: Scale, tmp_path: Path) -> None:
    for database in (scale.one, scale.coordinator):
        ingest(database, tmp_path, "--entities")
    settle(scale)
    (tmp_path / "alone.txt").unlink()
    (tmp_path / "f1.txt").write_text("John Doe alone in house 1")
    for database in (scale.one, scale.coordinator):
        ingest(database, tmp_path, "--entities")
    settle(scale)
    check_same(scale)
    assert "Rome" not in str(scale.coordinator.rows(ENTITIES))
    for name in TEXTS.keys() - {"f0.txt", "f3.txt"}:
        scale.forget("books", name)
    settle(scale)
    check_same(scale)
    forget = "SELECT gone FROM forget_document((SELECT d.document_id FROM documents AS d"
    forget += " WHERE d.source_key = %s)) WHERE place = 'entities'"
    assert "worker has looked" in scale.coordinator.value(forget, "f0.txt")
    scale.coordinator.value(forget, "f3.txt")
    settle(scale)
    assert not any(shard.value(STORED) for shard in scale.shards)
    assert scale.coordinator.rows(ENTITIES) == []


@pytest.mark.slow
@pytest.mark.parametrize(("event", "table"), [("INSERT", "edge"), ("INSERT", "entity")])
def test_one_that_is_killed_begins_again(
    scale: Scale, tmp_path: Path, event: str, table: str
) -> None:
    """Killed on the second shard, once entities or edges of the first are stored."""
    ingest(scale.one, tmp_path, "--entities")
    ingest(scale.coordinator, tmp_path)
    crash = """
        CREATE FUNCTION public.crash() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
        CREATE TRIGGER zz_crash AFTER {} ON pgblend_data.{}
        FOR EACH STATEMENT EXECUTE FUNCTION public.crash()
    """
    shard = scale.shards[1]
    shard.connection.execute(crash.format(event, table).encode())
    command = "graph", "entities", "-c", "books"
    try:
        run_command(scale.coordinator.url, *command, fails=True)
    finally:
        shard.connection.execute("DROP FUNCTION public.crash() CASCADE")
    run_command(scale.coordinator.url, *command)
    check_same(scale)
    settle(scale)
    check_same(scale)


@pytest.mark.slow
def test_the_job_takes_no_entity_whose_edges_are_to_come(scale: Scale, tmp_path: Path) -> None:
    """What was kept without edges goes, what is touched since the job looked stays."""
    ingest(scale.one, tmp_path, "--entities")
    ingest(scale.coordinator, tmp_path, "--entities")
    kept = "SELECT node FROM pgblend._keep_entities('books', %s, true)"
    for place, shard in enumerate(scale.shards):
        entity = [{"shard": place, "type": "work", "key": "x", "name": "X", "description": None}]
        (node,) = shard.column(kept, json.dumps(entity))
        nodes = json.dumps([node])
        ((_, mark),) = shard.rows("SELECT * FROM pgblend._entity_marks(%s)", nodes)
        assert shard.column(kept, json.dumps(entity)) == [node]
        marks = json.dumps([{"node": node, "mark": mark}])
        shard.rows("SELECT pgblend._drop_entities(%s)", marks)
        assert shard.column("SELECT node FROM pgblend._entity_marks(%s)", nodes) == [node]
    settle(scale)
    check_same(scale)


@pytest.mark.slow
def test_a_writer_finds_entities_and_a_reader_sees_his_own(scale: Scale, tmp_path: Path) -> None:
    for database in (scale.one, scale.coordinator):
        ingest(database, tmp_path)
    link = "SELECT pgblend._link_entities(c.id, 'v') FROM collections AS n"
    link += " INNER JOIN pgblend_data.collection AS c ON c.name = n.name WHERE n.name = 'books'"
    with role_of(scale, "pgblend_writer", books="write") as anns:
        for database in (scale.one, *scale.shards):
            database.rows(
                "INSERT INTO pgblend_data.entity_extraction (collection_id, content_hash, version,"
                " result) SELECT c.collection_id, c.content_hash, 'v', %s"
                " FROM pgblend_data.chunk AS c ON CONFLICT DO NOTHING",
                answer({"messages": [{"content": " ".join([*NAMES, "Rome"])}]}),
            )
        one, other = [ann.value(link) for ann in anns]
        assert one == other == 13
        drop = "SELECT pgblend._drop_entities('[]')"
        assert [ann.error(drop).sqlstate for ann in anns] == ["42501", "0A000"]
        check_same(scale)
    with role_of(scale, "pgblend_reader", briefe="read") as anns:
        assert [ann.rows(ENTITIES) for ann in anns] == [[], []]
        assert anns[1].error(link.replace("n.name = 'books'", "true"))
