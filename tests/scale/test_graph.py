"""The graph over shards: edges, links and walks are those of one node, after the job ran."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.shard_graph import both, role_of, settle, shard_of
from support.shards import Scale, number_from, run_command
from support.shards import stored as stored_in

VECTOR = "[1,-2,3,-4,5,-6,7,-8]"
COUNT = 12
EDGES = """
    SELECT source, target, edge_type, weight, origin, metadata, collection, document_id, chunk_id
    FROM edges ORDER BY source, target, edge_type, origin, chunk_id
"""
LINKS = """
    SELECT source_key, edge_type, kind, target, line, weight, origin, target_key, document_id,
        target_document_id
    FROM links ORDER BY source_key, target, kind, line
"""
_EXACT = json.dumps({"vector_scan": "exact", "graph": {"weight": 0.7, "depth": 2}})
WALKS = [
    *(
        f"SELECT * FROM graph_neighbors(graph_node('books', '{key}'), {depth}, '{direction}')"
        for key in ("k0", "k5")
        for depth in (1, 3)
        for direction in ("out", "in", "both")
    ),
    "SELECT * FROM graph_neighbors(graph_node('books', 'k0'), 4, node_limit => 3)",
    "SELECT * FROM graph_neighbors(graph_node('books', 'k1'), 3, edge_types => '{cites,part_of}')",
    "SELECT * FROM graph_search(ARRAY[graph_node('books', 'k0')], 3)",
    f"SELECT * FROM graph_search(query => 'house 3', query_embedding => '{VECTOR}', depth => 2,"
    """ options => '{"vector_scan": "exact"}')""",
    f"SELECT * FROM hybrid_search('house 4', query_embedding => '{VECTOR}', options => '{_EXACT}')",
]  # fmt: skip


@pytest.fixture
def scale(writing_shards: Scale) -> Scale:
    """Return one node, and a coordinator of three shards, without documents."""
    writing_shards.clear()
    settle(writing_shards)
    return writing_shards


def add(scale: Scale, key: str, content: str, links: Any = (), **more: Any) -> None:
    """Ingest a document into the one node, and with the same ids into its shard."""
    collection = more.pop("collection", "books")
    title = more.pop("title", "")
    document, chunk = stored_in(scale.one, collection, key, content, title, None)
    shard = scale.shards[shard_of(scale, key, collection)]
    number_from(shard, document, chunk)
    assert stored_in(shard, collection, key, content, title, None) == (document, chunk)
    if links:
        for database in (scale.one, scale.coordinator):
            database.rows("SELECT add_links(%s, %s, %s)", collection, key, json.dumps(links))


def fill(scale: Scale) -> None:
    """Documents, each with a link to the next, some to one that is not there."""
    for number in range(COUNT):
        links = [{"target": f"k{(number + 1) % COUNT}"}, {"target": f"k{number + 6}", "weight": 2}]
        add(scale, f"k{number}", f"red wine of house {number}", links)
    scale.embed("s", 8)
    assert len({shard_of(scale, f"k{number}") for number in range(COUNT)}) == 3


def check_same(scale: Scale) -> None:
    """Check that the graph is that of one node, and that each walk finds as much."""
    for call in (EDGES, LINKS, *WALKS):
        expected, found = both(scale, call)
        assert found == expected, call


def test_links_lead_to_documents_of_other_shards(scale: Scale) -> None:
    fill(scale)
    settle(scale)
    assert scale.one.rows(EDGES)
    check_same(scale)


def test_resolve_links_needs_no_worker(scale: Scale) -> None:
    fill(scale)
    assert scale.coordinator.value("SELECT resolve_links('books')") > 0
    check_same(scale)
    assert scale.coordinator.value("SELECT resolve_links('books')") == 0


@pytest.mark.slow
def test_links_follow_documents_that_come_move_and_go(scale: Scale) -> None:
    fill(scale)
    for _ in range(2):
        settle(scale)
        check_same(scale)
        add(scale, "k14", "a house that was missed", [{"target": "k3"}])
        add(scale, "x/k2.md", "another second house", [{"target": "k7", "kind": "wiki"}])
        add(scale, "y/k2.md", "one more", [{"target": "k2", "kind": "wiki"}], title="k9")
        add(scale, "z", "by its title", [{"target": "k9", "kind": "name"}])
        settle(scale)
        check_same(scale)
        for key in ("k3", "k14", "k2", "k9", "y/k2.md"):
            scale.forget("books", key)
        settle(scale)
        check_same(scale)
        for key in ("x/k2.md", "z"):
            scale.forget("books", key)
        for number in (2, 3, 9):
            links = [{"target": f"k{number + 1}"}]
            add(scale, f"k{number}", f"red wine of house {number}", links)


def test_edges_join_nodes_of_any_shards(scale: Scale) -> None:
    fill(scale)
    settle(scale)
    keys = [f"k{number}" for number in range(COUNT)]
    join = "SELECT add_edge(graph_node('books', %s), graph_node('books', %s), 'cites', %s, %s)"
    for place, key in enumerate(keys):
        for weight, given in ((1, "{}"), (place, '{"page": 3}')):
            one, other = both(scale, join, key, keys[(place * 5 + 3) % COUNT], weight, given)
            assert one == other
    check_same(scale)
    cut = "SELECT delete_edge(graph_node('books', %s), graph_node('books', %s), %s)"
    for source, target, kind in (("k0", "k3", "cites"), ("k1", "k8", None), ("k2", "k9", "link")):
        one, other = both(scale, cut, source, target, kind)
        assert one == other
    check_same(scale)


def test_a_far_end_that_goes_is_never_followed_and_then_forgotten(scale: Scale) -> None:
    """Before the worker comes a walk finds, and spends its limit on, what is there alone."""
    fill(scale)
    settle(scale)
    join = "SELECT add_edge(graph_node('books', %s), graph_node('books', %s), 'cites', %s)"
    for number in range(1, COUNT):
        both(scale, join, "k0", f"k{number}", number)
        both(scale, join, f"k{number}", "k0", 20)
    for key in ("k11", "k10", "k7"):
        scale.forget("books", key)
    cites = "SELECT * FROM graph_neighbors(graph_node('books', 'k0'), 2, 'out', '{cites}', 4)"
    one, other = both(scale, cites)
    assert one == other
    assert len(one) == 4
    settle(scale)
    check_same(scale)
    assert sum(shard.value("SELECT count(*) FROM pgblend_data.edge") for shard in scale.shards) == (
        scale.one.value("SELECT count(*) FROM pgblend_data.edge")
    )


def test_a_job_that_is_killed_begins_again(scale: Scale) -> None:
    """Killed at each of its calls on shards, and once more."""
    fill(scale)
    crash = """
        CREATE FUNCTION public.crash() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
        CREATE TRIGGER zz_crash AFTER {} ON pgblend_data.{}
        FOR EACH STATEMENT EXECUTE FUNCTION public.crash()
    """
    for event, table in (("INSERT", "edge"), ("UPDATE", "link"), ("DELETE", "graph_change")):
        shard = scale.shards[1]
        shard.connection.execute(crash.format(event, table).encode())
        try:
            assert scale.coordinator.error("SELECT pgblend._settle_graph()")
        finally:
            shard.connection.execute("DROP FUNCTION public.crash() CASCADE")
    settle(scale)
    check_same(scale)


@pytest.mark.slow
def test_an_ingest_joins_files_of_different_shards(fresh_shards: Scale, tmp_path: Path) -> None:
    scale = fresh_shards  # whose ids are of a block for each
    for number in range(8):
        (tmp_path / f"f{number}.md").write_text(
            f"# House {number}\n\nSee [next](f{(number + 1) % 8}.md) and [[f{(number + 3) % 8}]].\n"
        )
    for database in (scale.one, scale.coordinator):
        run_command(database.url, "ingest", str(tmp_path), "-c", "books", "--no-embed")
    walk = "SELECT source_key, distance FROM graph_neighbors(graph_node('books', 'f0.md'), 3)"
    expected, found = ({*rows} for rows in both(scale, walk))
    assert len(expected) == 7
    assert found == expected
    edges = """
        SELECT s.source_key, t.source_key, e.edge_type, e.weight, e.metadata FROM edges AS e
        INNER JOIN documents AS s ON e.source = 'document:' || s.document_id
        INNER JOIN documents AS t ON e.target = 'document:' || t.document_id ORDER BY 1, 2, 3
    """
    expected, found = both(scale, edges)
    assert len(expected) == 16
    assert found == expected
    assert run_command(scale.coordinator.url, "graph", "edges", "-c", "books", "--dangling") == (
        run_command(scale.one.url, "graph", "edges", "-c", "books", "--dangling")
    )


@pytest.mark.extended
def test_a_role_sees_no_edge_to_what_it_may_not_read(scale: Scale) -> None:
    fill(scale)
    for number in range(4):
        add(scale, f"b{number}", f"ein Haus {number}", collection="briefe")
    settle(scale)
    join = "SELECT add_edge(graph_node('books', %s), graph_node('briefe', %s), 'cites', 3)"
    for number in range(4):
        both(scale, join, "k0", f"b{number}")
    assert len({shard_of(scale, f"b{number}", "briefe") for number in range(4)}) > 1
    check_same(scale)
    walk = "SELECT * FROM graph_neighbors(graph_node('books', 'k0'), 3)"
    with role_of(scale, "pgblend_reader", books="read") as anns:
        expected, found = (ann.rows(walk) for ann in anns)
        assert expected
        assert found == expected
        for call in (EDGES, LINKS):
            expected, found = (ann.rows(call) for ann in anns)
            assert found == expected
            assert "briefe" not in str(found)


@pytest.mark.slow
def test_who_may_write_to_a_collection_may_resolve_its_links(scale: Scale) -> None:
    with role_of(scale, "pgblend_writer", books="write") as (one, ann):
        fill(scale)
        assert ann.value("SELECT resolve_links('books')") > 0
        said = [who.error("SELECT resolve_links('rest')") for who in (one, ann)]
        assert said[1].message_primary == said[0].message_primary
        assert ann.error("SELECT pgblend._settle_graph()").sqlstate == "42501"
        check_same(scale)


def test_an_edge_that_names_a_wrong_collection_is_not_followed(scale: Scale) -> None:
    """A shard cannot see of which collection a node of another one is: the walk asks that."""
    fill(scale)
    settle(scale)
    source = scale.shards[shard_of(scale, "k0")]
    other = next(f"b{n}" for n in range(50)
                 if shard_of(scale, f"b{n}", "briefe") != shard_of(scale, "k0"))  # fmt: skip
    add(scale, other, "ein Haus", collection="briefe")
    ends = [
        scale.one.value("SELECT pgblend._node_id(graph_node(%s, %s))", *document)
        for document in (("books", "k0"), ("briefe", other))
    ]
    source.rows(
        "SELECT pgblend._store_edges(ARRAY[ROW(%s, false, %s, 'claims', 'hand', 0, 0, c.id, c.id,"
        " 0, 1, '{}')::pgblend_data.edge]) FROM pgblend_data.collection AS c"
        " WHERE c.name = 'books'",
        *ends,
    )
    assert source.value("SELECT count(*) FROM pgblend_data.edge WHERE edge_type = 'claims'") == 2
    for key in (("books", "k0"), ("briefe", other)):
        walk = "SELECT * FROM graph_neighbors(graph_node(%s, %s), 1, edge_types => '{claims}')"
        assert scale.coordinator.rows(walk, *key) == []


@pytest.mark.extended
def test_a_forged_note_changes_nothing(scale: Scale) -> None:
    """Who may write to a collection may note nodes of others: the job looks, and they are there."""
    fill(scale)
    add(scale, "b0", "ein Haus", collection="briefe")
    settle(scale)
    nodes = "SELECT DISTINCT e.node FROM pgblend_data.edge AS e"
    nodes += " UNION SELECT d.id * 4 FROM pgblend_data.document AS d"
    note = "INSERT INTO pgblend_data.graph_change (collection_id, {}) SELECT c.id, {}"
    note += " FROM pgblend_data.collection AS c WHERE c.name = '{}'"
    other = scale.one.value("SELECT id FROM pgblend_data.collection WHERE name = 'briefe'")
    with role_of(scale, "pgblend_writer", books="write") as (_, ann):
        for shard in scale.shards:
            known = shard.column(nodes)
            shard.rows(f"SET ROLE {ann.connection.info.user}")
            try:
                shard.rows(note.format("node", "unnest(%s::bigint[])", "books"), known)
                shard.rows(note.format("name", "'k1'", "books"))
                keys = note.format("source_key", "'k1'", "books")
                of_another = "INSERT INTO pgblend_data.graph_change (collection_id, node)"
                of_another += " VALUES (%s, 4)"
                assert shard.error(keys).sqlstate == "42501"
                assert shard.error(of_another, other).sqlstate == "42501"
            finally:
                shard.rows("RESET ROLE")
    settle(scale)
    check_same(scale)
