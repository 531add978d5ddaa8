"""Names, links and edges: what documents say of each other, and what becomes of it."""

import json
from typing import Any

import psycopg
import pytest

from support.database import Database

DOCUMENTS = ("a/home.md", "a/Note One.md", "b/note-one.md", "b/other.md")
EDGES = (
    "SELECT source_key, target_key, edge_type, kind FROM blend.links"
    " WHERE target_key IS NOT NULL ORDER BY 1, 2, 3"
)


def put(db: Database, key: str, links: list[dict[str, Any]] | None = None, **more: Any) -> str:
    """Store a document with links; returns its node."""
    db.rows(
        "SELECT blend.ingest_document('c', %s, %s, title => %s, uri => %s, metadata => %s::jsonb,"
        " links => %s::jsonb)",
        key,
        more.get("text", f"text of {key}"),
        more.get("title", ""),
        more.get("uri"),
        json.dumps(more.get("metadata", {})),
        None if links is None else json.dumps(links),
    )
    return str(db.value("SELECT graph_node('c', %s)", key))


@pytest.fixture
def vault(db: Database) -> Database:
    db.rows("SELECT blend.add_collection('c')")
    return db


def pairs(db: Database) -> list[tuple[str, str]]:
    """Both rows of every edge, as (node, neighbour) by source keys; a reverse row the other way."""
    return db.rows(
        "SELECT a.source_key, b.source_key FROM pgblend_data.edge AS e"
        " JOIN pgblend_data.document AS a ON a.id * 4 = e.node"
        " JOIN pgblend_data.document AS b ON b.id * 4 = e.neighbour ORDER BY 1, 2"
    )


@pytest.mark.parametrize(
    ("link", "meant"),
    [
        ({"target": "b/other.md"}, "b/other.md"),
        ({"target": "B/other.md"}, None),  # a key is a key
        ({"target": "Note One.md", "kind": "path"}, "a/Note One.md"),
        ({"target": "note%20one.html?x=1#top", "kind": "path"}, "a/Note One.md"),
        ({"target": "../b/./other.md", "kind": "path"}, "b/other.md"),
        ({"target": "/b/other", "kind": "path"}, "b/other.md"),
        ({"target": "other.md", "kind": "path"}, None),
        ({"target": "mailto:somebody@b/other.md", "kind": "path"}, None),
        ({"target": "#part", "kind": "path"}, None),
        ({"target": "note one", "kind": "wiki"}, "a/Note One.md"),  # the nearer one
        ({"target": "b/Note-One#Heading|shown", "kind": "wiki"}, "b/note-one.md"),
        ({"target": "moved/other", "kind": "wiki"}, "b/other.md"),
        ({"target": "moved/note one", "kind": "wiki"}, None),  # which of the two?
        ({"target": "The other", "kind": "wiki"}, "b/other.md"),  # an alias
        ({"target": "THE TITLE!", "kind": "name"}, "b/other.md"),
        ({"target": "https://www.example.org/x/#y", "kind": "path"}, "b/other.md"),
        ({"target": "http://example.org/x", "kind": "uri"}, "b/other.md"),
    ],
)
def test_what_a_link_means(vault: Database, link: dict[str, str], meant: str | None) -> None:
    put(vault, "a/home.md", [link])
    put(vault, "b/note-one.md")
    put(
        vault,
        "b/other.md",
        title="The title",
        uri="https://example.org/x/",
        metadata={"aliases": ["The Other", 1]},
    )
    put(vault, "a/Note One.md")
    found = vault.column("SELECT target_key FROM blend.links")
    if link["target"].startswith(("mailto", "#")):
        assert found == []
    else:
        assert found == [meant]
    expected = [("a/home.md", meant), (meant, "a/home.md")] if meant else []
    assert pairs(vault) == sorted(expected)  # type: ignore[type-var]


@pytest.mark.parametrize("order", [DOCUMENTS, DOCUMENTS[::-1]])
def test_the_order_of_arrival_does_not_matter(vault: Database, order: tuple[str, ...]) -> None:
    for key in order:
        put(vault, key, [{"target": "note one", "kind": "wiki"}])
    assert vault.rows(EDGES) == [
        ("a/Note One.md", "a/Note One.md", "link", "wiki"),
        ("a/home.md", "a/Note One.md", "link", "wiki"),
        ("b/note-one.md", "b/note-one.md", "link", "wiki"),
        ("b/other.md", "b/note-one.md", "link", "wiki"),
    ]
    assert len(pairs(vault)) == 4  # no loops


def test_a_moved_file_is_found_again(vault: Database) -> None:
    put(vault, "a/home.md", [{"target": "other", "kind": "wiki"}])
    put(vault, "b/other.md")
    vault.rows("SELECT delete_document('c', 'b/other.md')")
    assert vault.rows(EDGES) == pairs(vault) == []
    put(vault, "z/other.md")
    assert pairs(vault) == [("a/home.md", "z/other.md"), ("z/other.md", "a/home.md")]


def test_another_document_of_the_name_takes_over(vault: Database) -> None:
    put(vault, "a/home.md", [{"target": "other", "kind": "wiki"}])
    for key in ("a/other.md", "b/other.md"):
        put(vault, key)
    assert [row[1] for row in vault.rows(EDGES)] == ["a/other.md"]
    vault.rows("SELECT delete_document('c', 'a/other.md')")
    assert pairs(vault) == [("a/home.md", "b/other.md"), ("b/other.md", "a/home.md")]


def test_links_are_replaced_with_their_text(vault: Database) -> None:
    put(vault, "b/other.md")
    put(vault, "b/note-one.md")
    put(vault, "a/home.md", [{"target": "b/other.md"}, {"target": "b/note-one.md"}])
    put(vault, "a/home.md", None)  # nothing changed
    assert len(pairs(vault)) == 4
    put(vault, "a/home.md", [{"target": "b/other.md", "type": "cites", "line": 7, "weight": 2}])
    assert vault.rows("SELECT edge_type, weight, origin, metadata FROM blend.edges") == [
        ("cites", 2.0, "text", {"lines": [7]})
    ]
    put(vault, "a/home.md", None, text="new text, no links")
    assert vault.rows("SELECT * FROM blend.links") == pairs(vault) == []


def test_links_of_a_name_that_a_document_gets_later(vault: Database) -> None:
    put(vault, "a/home.md", [{"target": "Later", "kind": "wiki"}])
    put(vault, "b/other.md")
    document = int(put(vault, "b/other.md").removeprefix("document:"))
    vault.rows('SELECT set_metadata(%s, \'{"alias": "later"}\')', document)
    assert [row[1] for row in vault.rows(EDGES)] == ["b/other.md"]
    vault.rows("SELECT set_metadata(%s, '{\"alias\": null}')", document)
    assert vault.rows(EDGES) == pairs(vault) == []


def test_links_as_data_stay_with_their_document(vault: Database) -> None:
    put(vault, "a/home.md")
    links = [{"target": "later", "type": "cites", "metadata": {"page": 3}}]
    assert vault.value("SELECT add_links('c', 'a/home.md', %s::jsonb)", json.dumps(links)) == 1
    assert vault.value("SELECT add_links('c', 'a/home.md', %s::jsonb)", json.dumps(links)) == 0
    put(vault, "a/home.md", [], text="new text")
    put(vault, "later")
    assert vault.rows("SELECT edge_type, origin, metadata FROM blend.edges") == [
        ("cites", "data", {"page": 3})
    ]
    vault.rows("SELECT delete_document('c', 'a/home.md')")
    assert vault.rows("SELECT * FROM pgblend_data.edge") == []
    assert vault.rows("SELECT * FROM pgblend_data.link") == []


@pytest.mark.parametrize(
    ("links", "problem"),
    [
        ('{"target": "x"}', 'links is {"target": "x"}: expected an array'),
        ('[{"target": ""}]', 'link 1 is {"target": ""}: expected an object with a text "target"'),
        ('[{"target": "x"}, 3]', "link 2 is 3: expected an object"),
        ('[{"target": "x", "kind": "odd"}]', '"kind": expected one of path, wiki, uri, key, name'),
        ('[{"target": "x", "type": ""}]', '"type": expected a text of 1 to 200 bytes'),
        ('[{"target": "x", "weight": -1}]', '"weight": expected a number from 0 to 1000000'),
        ('[{"target": "x", "line": 1.5}]', '"line": expected a whole number from 1'),
        ('[{"target": "x", "metadata": []}]', '"metadata": expected an object'),
    ],
)
def test_wrong_links(vault: Database, links: str, problem: str) -> None:
    put(vault, "a/home.md")
    error = vault.error("SELECT add_links('c', 'a/home.md', %s::jsonb)", links)
    assert error.sqlstate == "22023"
    assert problem in str(error.message_primary)
    assert error.message_hint


def test_edges_by_hand(vault: Database) -> None:
    home, other = put(vault, "a/home.md"), put(vault, "b/other.md")
    chunk = vault.value("SELECT 'chunk:' || max(id) FROM pgblend_data.chunk")
    assert vault.value("SELECT add_edge(%s, %s, 'cites')", home, other) is True
    assert vault.value("SELECT add_edge(%s, %s, 'cites', 3, '{\"x\": 1}')", home, other) is False
    assert vault.value("SELECT add_edge(%s, %s)", home, chunk) is True
    assert vault.rows("SELECT * FROM blend.edges ORDER BY edge_type") == [
        (home, other, "cites", 3.0, "hand", {"x": 1}, "c", None, None),
        (home, chunk, "link", 1.0, "hand", {}, "c", None, None),
    ]
    put(vault, "b/other.md", text="another text")  # its chunk goes, the document stays
    assert vault.column("SELECT edge_type FROM blend.edges") == ["cites"]
    assert vault.value("SELECT delete_edge(%s, %s, 'other')", home, other) == 0
    assert vault.value("SELECT delete_edge(%s, %s)", home, other) == 1
    assert vault.rows("SELECT * FROM pgblend_data.edge") == []


@pytest.mark.parametrize(
    ("arguments", "state", "problem"),
    [
        ("NULL, 'document:1'", "22023", "an edge from NULL to document:1: expected two different"),
        ("'document:1', 'document:1'", "22023", "an edge from document:1 to document:1"),
        ("'document:1', 'file:1'", "22023", 'node is "file:1": expected document:ID'),
        ("'document:1', 'chunk:99'", "42704", "there is no node document:1"),
        ("'document:1', 'chunk:99', ''", "22023", 'edge_type is "": expected a text'),
        ("'document:1', 'chunk:99', 'x', -1", "22023", "weight is -1: expected a number from 0"),
        ("'document:1', 'chunk:99', 'x', 1, '[]'", "22023", "metadata is []: expected a JSON"),
    ],
)
def test_wrong_edges(vault: Database, arguments: str, state: str, problem: str) -> None:
    error = vault.error(f"SELECT add_edge({arguments})")
    assert (error.sqlstate, problem in str(error.message_primary)) == (state, True)
    assert error.message_hint


def test_the_graph_goes_with_its_collection_and_with_truncate(vault: Database) -> None:
    for _ in range(2):
        put(vault, "a/home.md", [{"target": "b/other.md"}])
        put(vault, "b/other.md")
        assert len(pairs(vault)) == 2
        vault.rows("SELECT remove_collection('c')")
        assert vault.value("SELECT count(*) FROM pgblend_data.edge") == 0
        vault.rows("SELECT blend.add_collection('c')")
    put(vault, "a/home.md", [{"target": "b/other.md"}])
    put(vault, "b/other.md")
    vault.rows("TRUNCATE pgblend_data.document CASCADE")
    assert vault.value("SELECT count(*) FROM pgblend_data.edge") == 0


def test_edges_to_what_the_reader_may_not_see(committed: Database, connect_as) -> None:
    for collection in ("open", "secret"):
        committed.rows("SELECT add_collection(%s)", collection)
        committed.rows("SELECT ingest_document(%s, 'k', 'text')", collection)
    nodes = committed.column("SELECT graph_node(c, 'k') FROM unnest('{open,secret}'::text[]) AS c")
    committed.rows("SELECT add_edge(%s, %s)", *nodes)
    writer = connect_as("pgblend_writer")
    committed.rows("SELECT grant_collection('open', %s, 'write')", writer.info.user)
    mine = Database(writer)
    assert mine.rows("SELECT * FROM blend.edges") == []
    assert mine.rows("SELECT * FROM graph_neighbors(%s)", nodes[0]) == []
    assert mine.error("SELECT * FROM graph_neighbors(%s)", nodes[1]).sqlstate == "42704"
    assert mine.error("SELECT add_edge(%s, %s, 'x')", *nodes).sqlstate == "42704"
    committed.rows("SELECT grant_collection('secret', %s, 'read')", writer.info.user)
    assert mine.column("SELECT target FROM blend.edges") == [nodes[1]]
    assert mine.column("SELECT neighbour FROM graph_neighbors(%s)", nodes[0]) == [nodes[1]]
    assert mine.error("SELECT add_edge(%s, %s, 'x')", *nodes).sqlstate == "42501"
    assert mine.value("SELECT (ingest_document('open', 'l', 'x', links => '[{\"target\": \"k\"}]'))"
                      ".status") == "added"  # fmt: skip
    assert mine.value("SELECT resolve_links('open')") == 0


def test_two_sessions_that_do_not_see_each_other(
    committed: Database,
) -> None:
    committed.rows("SELECT add_collection('c')")
    put(committed, "first")  # whose language both would have to note
    with psycopg.connect(committed.url) as first, psycopg.connect(committed.url) as second:
        put(Database(first), "a", [{"target": "b"}])
        put(Database(second), "b", [{"target": "a"}])
    assert committed.value("SELECT count(*) FROM blend.edges") == 0
    assert committed.value("SELECT resolve_links('c')") == 2
    assert committed.value("SELECT resolve_links('c')") == 0
    assert committed.value("SELECT count(*) FROM blend.edges") == 2
