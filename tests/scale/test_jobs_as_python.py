"""The jobs of the graph over shards, run in this process: edges are those of one node."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pgblend.cli.base.places import push_changes
from pgblend.cli.shards import outbox
from pgblend.cli.shards.members import places_of
from pgblend.plpy.base.session import ProgramError
from pgblend.plpy.shards import links as entities
from pgblend.plpy.shards.links import link_entities, link_mentions, resolve_links, settle_graph
from support.client_database import CoordinatorDatabase, coordinator_here
from support.shard_graph import CHANGES, both, shard_of
from support.shards import Scale, number_from

COUNT = 8
EDGES = """
    SELECT source, target, edge_type, weight, origin, metadata, collection, document_id, chunk_id
    FROM edges ORDER BY source, target, edge_type, origin, chunk_id
"""
LINKS = """
    SELECT source_key, edge_type, target, line, target_key, target_document_id
    FROM links ORDER BY source_key, target, line
"""
STORED = "SELECT count(*) FROM pgblend_data.edge"
BOOKS = "SELECT c.id FROM pgblend_data.collection AS c WHERE c.name = 'books'"
NOBODY = 2**40


@pytest.fixture
def scale(two_shards: Scale) -> Iterator[Scale]:
    """Documents on both shards; none of them, and no change, is left behind."""
    empty(two_shards)
    for number in range(COUNT):
        two_shards.add("books", f"k{number}", f"Rosa Blum of Lisbon, house {number}")
    assert {shard_of(two_shards, f"k{number}") for number in range(COUNT)} == {0, 1}
    yield two_shards
    empty(two_shards)


def empty(scale: Scale) -> None:
    scale.clear()
    while scale.coordinator.value("SELECT pgblend._settle_graph()"):
        pass


@pytest.fixture
def database(scale: Scale) -> Iterator[CoordinatorDatabase]:
    with coordinator_here(scale) as coordinator:
        yield coordinator


def settle(database: CoordinatorDatabase) -> int:
    """Run the worker's job once; return how many changes it looked at."""
    with database.connection.transaction():
        return settle_graph(database)


def changes(scale: Scale) -> int:
    return sum(shard.value(CHANGES) for shard in scale.shards)


def check_same(scale: Scale, *calls: str) -> list[Any]:
    """Check that the graph is that of one node, with no edge left over; return its edges."""
    for call in (EDGES, *calls):
        expected, found = both(scale, call)
        assert found == expected, call
    assert sum(shard.value(STORED) for shard in scale.shards) == scale.one.value(STORED)
    return scale.one.rows(EDGES)


def link(scale: Scale) -> None:
    """Give each document a link to the next, and to one by its title, who is not there."""
    for number in range(COUNT):
        links = [{"target": f"k{(number + 1) % COUNT}"}, {"target": "Cellar", "kind": "name"}]
        both(scale, "SELECT add_links('books', %s, %s)", f"k{number}", json.dumps(links))


def test_links_follow_documents_that_come_and_go(
    scale: Scale, database: CoordinatorDatabase
) -> None:
    link(scale)
    noted = changes(scale)
    assert settle(database) == noted > 0
    assert len(check_same(scale, LINKS)) == COUNT
    scale.add("books", "later", "what all links mean", "Cellar")
    scale.forget("books", "k3")
    assert settle(database) > 0
    assert len(check_same(scale, LINKS)) == 2 * (COUNT - 1) - 1
    assert settle(database) == changes(scale) == 0


def test_resolve_links_returns_how_many_lead_elsewhere(
    scale: Scale, database: CoordinatorDatabase
) -> None:
    link(scale)
    books = scale.one.value(BOOKS)
    far = sum(
        shard_of(scale, f"k{number}") != shard_of(scale, f"k{(number + 1) % COUNT}")
        for number in range(COUNT)
    )
    assert resolve_links(database, books, ["nobody"]) == 0
    assert resolve_links(database, books, ["k1"]) == (
        shard_of(scale, "k0") != shard_of(scale, "k1")
    )
    assert resolve_links(database, books, None) == far - (
        shard_of(scale, "k0") != shard_of(scale, "k1")
    )
    check_same(scale, LINKS)
    assert resolve_links(database, books, None) == 0
    assert resolve_links(database, NOBODY, None) == 0


class Meanwhile(CoordinatorDatabase):
    """Has something done just before a routine is called on shards, as often as is said."""

    def __init__(self, of: CoordinatorDatabase, routine: str, event: Any, times: int = 1) -> None:
        self.connection, self.session, self.shards = of.connection, of.session, of.shards
        self.routine, self.event, self.left = routine, event, times

    def run(self, statement: str, types: list[str], *values: object) -> Any:
        if self.left and values[:1] == (self.routine,):
            self.left -= 1
            self.event()
        return super().run(statement, types, *values)


def test_a_link_that_leads_elsewhere_meanwhile_is_looked_at_again(
    scale: Scale, database: CoordinatorDatabase
) -> None:
    """Its change is not forgotten until all its links lead where they should."""
    far = next(
        key
        for key in (f"k{number}" for number in range(COUNT))
        if shard_of(scale, key) != shard_of(scale, "Cellar")
    )
    both(scale, "SELECT add_links('books', %s, %s)", far, json.dumps([{"target": "Cellar"}]))
    settle(database)
    scale.add("books", "Cellar", "what it means")

    def change() -> None:
        scale.shards[shard_of(scale, far)].rows(
            "UPDATE pgblend_data.link SET target_document_id = document_id WHERE target = 'Cellar'"
        )

    settle(Meanwhile(database, "pgblend._lead_links", change))  # type: ignore[arg-type]
    assert changes(scale) > 0
    while settle(database):
        pass
    assert changes(scale) == 0
    assert len(check_same(scale, LINKS)) == 1


ENTITIES = "SELECT entity_type, name, description, passages FROM entities ORDER BY 1, 2"
MODEL_EDGES = """
    SELECT coalesce(s.name, d.source_key), e.edge_type, t.name, e.metadata, d.source_key
    FROM edges AS e
    INNER JOIN entities AS t ON e.target = t.node
    LEFT JOIN entities AS s ON e.source = s.node
    INNER JOIN documents AS d ON d.document_id = e.document_id
    ORDER BY 1, 2, 3, 5
"""


def found_by_model(number: int) -> str:
    """Return what a model found in a passage: the first descriptions of two are of a later one."""
    names = {"Rosa Blum": "Person", "Lisbon": "place", f"House {number}": "house"}
    described = {"description": f"As {number} says."} if number > 2 else {}
    return json.dumps({
        "entities": [{"name": name, "type": names[name], **described} for name in names],
        "relations": [{"source": "rosa blum", "target": "LISBON", "type": "lives in"}],
    })  # fmt: skip


@pytest.fixture
def extracted(scale: Scale) -> Iterator[int]:
    """What a model found in the passages, and nothing in the last; return their collection."""
    stores = scale.one, *scale.shards
    for number in range(COUNT):
        found = found_by_model(number) if number < COUNT - 1 else '{"entities": []}'
        for store in stores:
            store.rows(
                "INSERT INTO pgblend_data.entity_extraction (collection_id, content_hash, version,"
                " result) SELECT c.collection_id, c.content_hash, 'v', %s"
                " FROM pgblend_data.chunk AS c WHERE c.content LIKE %s",
                found,
                f"%house {number}",
            )
    books = scale.one.value(BOOKS)
    assert scale.one.value("SELECT pgblend._link_entities(%s, 'v')", books) == COUNT - 1
    yield int(books)
    for store in stores:
        store.rows("DELETE FROM pgblend_data.entity_extraction")


def check_entities(scale: Scale) -> None:
    for call, count in ((ENTITIES, COUNT + 1), (MODEL_EDGES, 4 * (COUNT - 1))):
        expected, found = both(scale, call)
        assert len(expected) == count
        assert found == expected
    assert sum(shard.value(STORED) for shard in scale.shards) == scale.one.value(STORED)


def test_passages_share_entities(
    scale: Scale, database: CoordinatorDatabase, extracted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two passages of each shard at a time; once more finds none without edges."""
    monkeypatch.setattr(entities, "MOST_PASSAGES", 2)
    assert link_entities(database, extracted, "v") == COUNT - 1
    check_entities(scale)
    assert ("person", "Rosa Blum", "As 3 says.", COUNT - 1) in scale.one.rows(ENTITIES)
    assert link_entities(database, extracted, "v") == 0
    assert link_entities(database, NOBODY, "v") == 0
    while settle(database):
        pass
    check_entities(scale)


def drop_entity(scale: Scale, name: str) -> None:
    """Delete an entity, as the job does with one that it sees no edge of."""
    for shard in scale.shards:
        shard.rows("DELETE FROM pgblend_data.entity WHERE name = %s", name)


@pytest.mark.parametrize("times", [1, 2])
def test_an_entity_that_goes_before_its_edges_come(
    scale: Scale, database: CoordinatorDatabase, extracted: int, times: int
) -> None:
    """It is stored anew, and edges that lead to what it was are made again."""
    meanwhile = Meanwhile(
        database, "pgblend._join_passages", lambda: drop_entity(scale, "Lisbon"), times
    )
    assert link_entities(meanwhile, extracted, "v") == COUNT - 1
    assert meanwhile.left == 0
    check_entities(scale)
    while settle(database):
        pass
    check_entities(scale)


def test_an_entity_that_goes_every_time_is_an_error(
    scale: Scale, database: CoordinatorDatabase, extracted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entities, "_MOST_TURNS", 3)
    meanwhile = Meanwhile(
        database, "pgblend._join_passages", lambda: drop_entity(scale, "Lisbon"), 9
    )
    with pytest.raises(ProgramError, match="again and again"):
        link_entities(meanwhile, extracted, "v")
    assert meanwhile.left == 6
    assert link_entities(database, extracted, "v") == 0  # its passages have edges


class Moving(CoordinatorDatabase):
    """Says of entities' buckets that they are on a shard that is gone, as often as is said."""

    def __init__(self, of: CoordinatorDatabase, times: int) -> None:
        self.connection, self.session, self.shards = of.connection, of.session, of.shards
        self.left = times

    def run(self, statement: str, types: list[str], *values: object) -> Any:
        rows = super().run(statement, types, *values)
        if statement == entities._SHARDS and self.left:
            self.left -= 1
            return [{"shard": 99} for _ in rows]
        return rows


def test_an_entity_whose_bucket_moves_is_stored_where_it_is_then(
    database: CoordinatorDatabase,
    scale: Scale,
    extracted: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(entities, "_MOST_TURNS", 3)
    with pytest.raises(ProgramError, match="found no shard"):
        link_entities(Moving(database, 3), extracted, "v")
    assert link_entities(Moving(database, 2), extracted, "v") == COUNT - 1
    check_entities(scale)


def test_entities_go_with_their_last_edge(
    scale: Scale, database: CoordinatorDatabase, extracted: int
) -> None:
    link_entities(database, extracted, "v")
    for number in range(1, COUNT):
        scale.forget("books", f"k{number}")
    while settle(database):
        pass
    expected, found = both(scale, ENTITIES)
    assert found == expected
    assert [row[1] for row in expected] == ["House 0", "Rosa Blum", "Lisbon"]
    scale.forget("books", "k0")
    while settle(database):
        pass
    assert [shard.value("SELECT count(*) FROM pgblend_data.entity") for shard in scale.shards] == (
        [0, 0]
    )


TABLES = """
    CREATE TABLE public.notes (id integer PRIMARY KEY, body text);
    CREATE TABLE public.articles (
        id bigint PRIMARY KEY, body text, parent bigint REFERENCES articles,
        other integer REFERENCES notes, third integer REFERENCES notes);
    INSERT INTO notes SELECT n, 'note ' || n FROM generate_series(1, 4) AS n;
    INSERT INTO articles SELECT n, 'wine ' || n, nullif(n - 1, 0), 1 + n % 3, 1 + n % 4
    FROM generate_series(1, 8) AS n;
    SELECT blend.attach_table('public.articles', '{body}', collection => 'news');
    SELECT blend.attach_table('public.notes', '{body}')
"""
CHANGED = """
    UPDATE articles SET parent = NULL WHERE id = 3;
    UPDATE articles SET parent = 1, other = 1, third = 1 WHERE id = 8;
    INSERT INTO notes VALUES (9, 'more');
    UPDATE articles SET third = 9 WHERE id = 5;
    UPDATE articles SET other = 1 WHERE other = 2;
    UPDATE articles SET third = NULL WHERE third = 2;
    DELETE FROM notes WHERE id = 2
"""
DETACHED = (
    "SELECT detach_table('public.articles')",
    "SELECT detach_table('public.notes')",
    "DROP TABLE articles, notes",
)
KEY_EDGES = """
    SELECT s.collection, s.source_key, t.collection, t.source_key, e.edge_type, e.metadata
    FROM edges AS e
    INNER JOIN documents AS s ON e.source = 'document:' || s.document_id
    INNER JOIN documents AS t ON e.target = 'document:' || t.document_id
    ORDER BY 1, 2, 3, 4
"""


@pytest.fixture
def attached(two_shards: Scale) -> Iterator[Scale]:
    """Two tables with foreign keys, whose rows are documents of both shards."""
    empty(two_shards)
    for place, shard in enumerate(two_shards.shards, 1):
        number_from(shard, place * 10**6, place * 10**6)  # of no other shard
    run(two_shards, TABLES)
    yield two_shards
    for statement in DETACHED:
        run(two_shards, statement)


def run(scale: Scale, statements: str) -> None:
    """Run statements on both sides, and bring shards what they change."""
    for database in (scale.one, scale.coordinator):
        database.connection.execute(statements.encode())
    push_changes(scale.coordinator.connection)
    for place in places_of(scale.coordinator.connection):
        outbox.deliver(scale.coordinator.connection, place)


def test_rows_are_joined_by_foreign_keys(attached: Scale) -> None:
    counts = []
    with coordinator_here(attached) as database:
        for statements in ("", CHANGED):
            run(attached, statements)
            while settle(database):
                pass
            expected, found = both(attached, KEY_EDGES)
            assert found == expected
            assert sum(s.value(STORED) for s in attached.shards) == attached.one.value(STORED)
            counts.append(len(expected))
    assert counts == [21, 18]


def test_documents_that_name_each_other_are_joined(
    scale: Scale, database: CoordinatorDatabase
) -> None:
    people = "Jane Roe", "John Doe", "Ada Byron", "Max Muster"
    for number, name in enumerate(people):
        text = f"{name} met {people[number - 1]}, and {people[number - 2].upper()}'s aunt."
        scale.add("books", f"p{number}", text, name)
    books = scale.one.value(BOOKS)
    assert link_mentions(database, books) == scale.one.value("SELECT link_mentions('books')") == 8
    assert len(check_same(scale)) == 8
    assert link_mentions(database, books) == 8
    assert link_mentions(database, NOBODY) == 0
    check_same(scale)
