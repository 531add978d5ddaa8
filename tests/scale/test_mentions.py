"""Mentions over shards: documents that name each other are joined as on one node."""

import json
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from pgblend.cli.base.database import connect
from support.database import Database
from support.shard_graph import both, role_of, settle, shard_of
from support.shards import Scale, number_from, run_command, stored

PEOPLE = (
    "Jane Roe",
    "John Doe",
    "Maria Müller",
    "Ada Byron",
    "Max Muster",
    "Erika Gabler",
    "Rosa Blum",
)
CALL = "SELECT link_mentions('books')"
EDGES = """
    SELECT source, target, edge_type, weight, origin, metadata, collection, document_id, chunk_id
    FROM edges ORDER BY source, target, edge_type, origin, chunk_id
"""
WALKS = [
    f"SELECT * FROM graph_neighbors(graph_node('books', 'r{number}'), {depth}, '{direction}')"
    for number in (0, 3)
    for depth in (1, 3)
    for direction in ("out", "in", "both")
]
KEPT = "SELECT array_agg(ROW(e.*, e.xmin)::text ORDER BY e) FROM pgblend_data.edge AS e"


@pytest.fixture
def scale(writing_shards: Scale) -> Scale:
    """Return one node, and a coordinator of three shards: people who name one another."""
    scale = writing_shards
    scale.clear()
    settle(scale)
    for number, name in enumerate(PEOPLE):
        others = PEOPLE[number - 1], PEOPLE[number - 2].upper()
        add(scale, f"r{number}", f"{name} met {others[0]}, and {others[1]}'s aunt.", name)
    assert len({shard_of(scale, f"r{number}") for number in range(len(PEOPLE))}) == 3
    return scale


def add(scale: Scale, key: str, content: str, title: str = "") -> None:
    """Ingest a document into the one node, and with the same ids into its shard."""
    given = "books", key, content, title, None
    document, chunk = stored(scale.one, *given)
    shard = scale.shards[shard_of(scale, key)]
    number_from(shard, document, chunk)
    assert stored(shard, *given) == (document, chunk)


def linked(scale: Scale) -> int:
    """Link mentions on both sides, check that the graphs are equal, and return how many."""
    counts = [rows[0][0] for rows in both(scale, CALL)]
    assert counts[1] == counts[0]
    for call in (EDGES, *WALKS):
        expected, found = both(scale, call)
        assert found == expected, call
    assert len(scale.one.rows(EDGES)) == counts[0]
    return counts[0]


@pytest.mark.slow
def test_texts_name_documents_of_other_shards(scale: Scale) -> None:
    """Once more changes no row."""
    assert linked(scale) == 14
    before = [shard.value(KEPT) for shard in scale.shards]
    assert linked(scale) == 14
    assert [shard.value(KEPT) for shard in scale.shards] == before
    settle(scale)
    assert linked(scale) == 14


def test_names_that_come_change_and_go(scale: Scale) -> None:
    linked(scale)
    for database in (scale.one, scale.coordinator):
        database.rows(
            """SELECT set_metadata(document_id, '{"aliases": ["aunt"]}') FROM documents"""
            " WHERE source_key = 'r2'"
        )
    add(scale, "r4", "Nobody.", "Max the Great")
    add(scale, "r9", "Max the Great met Jane Roe (poet).", "Jane Roe (poet)")
    assert linked(scale) == 18
    scale.forget("books", "r1")
    settle(scale)
    expected, found = both(scale, EDGES)
    assert found == expected
    assert linked(scale) == 12


def test_names_are_counted_over_all_shards(scale: Scale) -> None:
    """A name of six documents means none, one that eleven mention is a word."""
    spread = [f"n{number}" for number in range(12)]
    assert len({shard_of(scale, key) for key in spread}) == 3
    assert linked(scale) == 14
    for key in spread[:5]:
        add(scale, key, "Nothing.", "Jane Roe")
    assert linked(scale) == 12  # two texts named her, who is six now
    for number, key in enumerate(spread):
        add(scale, key, f"Ada Byron, again {number}")
    add(scale, "word", f"{'Ada Byron, ' * 3}: more")
    # Two named her before, thirteen more do now: of none any more; of Jane Roe there is one again.
    assert linked(scale) == 12


def test_a_common_word_of_one_shard_is_not_sent_for(scale: Scale) -> None:
    """A shard where a name is a word already tells the name alone."""
    shard = scale.shards[0]
    keys = [key for key in (f"k{n}" for n in range(60)) if shard_of(scale, key) == 0][:12]
    for number, key in enumerate(keys):
        add(scale, key, f"Ada Byron, again {number}")
    found = "SELECT * FROM pgblend._names_found('books', '[\"ada byron\"]', {})"
    assert shard.rows(found.format(11)) == [(None, None, "ada byron")]
    assert len(shard.rows(found.format(99))) >= 12
    assert linked(scale) == 12


@pytest.mark.slow
def test_an_ingest_and_the_command_link_them(fresh_shards: Scale, tmp_path: Path) -> None:
    scale = fresh_shards  # whose ids are of a block for each
    for number, name in enumerate(PEOPLE):
        (tmp_path / f"f{number}.md").write_text(f"# {name}\n\nWho met {PEOPLE[number - 1]}.\n")
    edges = """
        SELECT s.source_key, t.source_key, e.metadata FROM edges AS e
        INNER JOIN documents AS s ON e.source = 'document:' || s.document_id
        INNER JOIN documents AS t ON e.target = 'document:' || t.document_id ORDER BY 1, 2, 3
    """

    def ingested(database: Database) -> object:
        given = "-c", "books", "--no-embed", "--lang", "english"
        run_command(database.url, "ingest", str(tmp_path), *given)
        return database.rows(edges)

    assert [ingested(one) for one in (scale.one, scale.coordinator)] == [[], []]
    for database in (scale.one, scale.coordinator):
        said = run_command(database.url, "graph", "mentions", "-c", "books")
        assert f"{len(PEOPLE)} mentions" in said
    expected, found = both(scale, edges)
    assert len(expected) == len(PEOPLE)
    assert found == expected
    (tmp_path / "f0.md").write_text(f"# {PEOPLE[0]}\n\nWho met {PEOPLE[2]}, {PEOPLE[3]}.\n")
    for database in (scale.one, scale.coordinator):
        database.rows("""SELECT set_collection_settings('books', '{"mentions": true}')""")
    run_command(scale.coordinator.url, "shards", "push")
    expected, found = (ingested(one) for one in (scale.one, scale.coordinator))
    assert len(expected) == len(PEOPLE) + 1
    assert found == expected


def test_a_document_that_went_meanwhile_is_forgotten(scale: Scale) -> None:
    """Its edge is stored after its shard told of its name: the job looks whether it is there."""
    document, chunk = scale.one.rows(
        "SELECT c.document_id, c.chunk_id FROM chunks AS c"
        " INNER JOIN documents AS d ON d.document_id = c.document_id WHERE d.source_key = 'r0'"
    )[0]
    there = scale.one.value("SELECT document_id FROM documents WHERE source_key = 'r1'")
    gone = 2**40
    shard = scale.shards[shard_of(scale, "r0")]
    keep = "SELECT pgblend._keep_mentions('books', '{}')".replace("{}", "%s")
    wanted = f'[[{document}, {chunk}, {there}, "a"], [{document}, {chunk}, {gone}, "b"]]'
    assert shard.value(keep % wanted) == 2
    ends = "SELECT count(*) FROM pgblend_data.edge AS e WHERE e.neighbour = {} * 4"
    assert [shard.value(ends.format(one)) for one in (there, gone)] == [1, 1]
    settle(scale)
    assert [shard.value(ends.format(one)) for one in (there, gone)] == [1, 0]
    assert linked(scale) == 14


def test_a_shard_that_is_away_is_told_and_once_more_stores_the_rest(scale: Scale) -> None:
    with scale.without(1):
        assert scale.coordinator.error(CALL)
    assert linked(scale) == 14


@pytest.mark.slow
def test_only_writers(scale: Scale) -> None:
    with role_of(scale, "pgblend_reader", books="read") as anns:
        assert [ann.error(CALL).sqlstate for ann in anns] == ["42501", "42501"]
    with role_of(scale, "pgblend_writer", books="write") as anns:
        assert [ann.value(CALL) for ann in anns] == [14, 14]
        said = [ann.error("SELECT link_mentions('rest')").message_primary for ann in anns]
        assert said[1] == said[0]
    assert linked(scale) == 14


@pytest.mark.extended
def test_a_writer_forges_no_mention_of_another_collection(scale: Scale) -> None:
    """Of a document that is here it is refused; one of another shard is not followed."""
    number_from(scale.shards[0], 1000, 1000)  # of no other shard
    stored(scale.shards[0], "briefe", "b0", "ein Haus", "", None)
    target = scale.shards[0].value(
        "SELECT id FROM pgblend_data.document WHERE source_key = 'b0'"
    )  # fmt: skip
    keep = "SELECT pgblend._keep_mentions('books', %s::jsonb)"
    with role_of(scale, "pgblend_writer", books="write") as (_, ann):
        role = ann.value("SELECT current_user::text")
        for shard in scale.shards:
            passage = "SELECT document_id, id FROM pgblend_data.chunk"
            passage += " WHERE collection_id = (SELECT id FROM pgblend_data.collection"
            passage += " WHERE name = 'books') LIMIT 1"
            document, chunk = shard.rows(passage)[0]
            url = make_conninfo(shard.url, user=role, password="x")
            with connect(url) as connection:
                forger = Database(connection)
                forged = json.dumps([[document, chunk, target, "b"]])
                if shard is scale.shards[0]:
                    assert forger.error(keep, forged).sqlstate == "42501"
                else:
                    assert forger.value(keep, forged) == 1  # where nobody can tell
                assert (
                    forger.error("SELECT pgblend._keep_mentions('briefe', '[]')").sqlstate
                    == "42704"
                )
    walk = "SELECT * FROM graph_neighbors(graph_node('briefe', 'b0'), 1)"
    assert scale.coordinator.rows(walk) == []
