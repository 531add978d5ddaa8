"""Collections on some of the shards: rows are one node's, and the other shards are not asked."""

import json
from pathlib import Path
from typing import Any

import pytest

from pgblend.cli.base.database import connect
from support.database import Database
from support.shards import Scale, asked, changing_spans, make_counter, run_command

VECTOR = "[1,-2,3,-4,5,-6,7,-8]"
PLACED = {"north": "b0", "south": "b1", "pair": "b1,b2"}
WORDS = ("red wine", "white wine of the sea", "a fox", "wine, wine and the red sea")
SEARCHES: list[tuple[str, dict[str, Any]]] = [
    ("red wine", {}),
    ("wnie of the sae", {"fuzzy": "on"}),
    ("red wine", {"level": "document", "candidate_depth": 3}),
    ("red", {"mmr": {"lambda": 0.4, "pool": 5}, "context_chars": {"before": 9, "after": 9}}),
    ("wine", {"graph": {"depth": 2}, "feedback": {"passages": 2, "weight": 0.5}}),
    ("wine", {"pinned": [{"query": "*", "documents": ["north3", "books1"]}]}),
]
WHERE = [None, ["north"], ["south"], ["pair"], ["north", "south"], ["pair", "books", "rest"]]
ASKED = f"query_embedding => '{VECTOR}', options => '{{{{\"vector_scan\": \"exact\"}}}}'"
CALLS = {
    "facets": "SELECT * FROM search_facets('wine', '{{$collection,$title}}', collections => {0},"
    f" {ASKED})",
    "filter": "SELECT * FROM lexical_search('wine', 3, {0},"
    """ filter => '{{"$title": "Title 1"}}')""",
    "context": f"SELECT get_context('wine', collections => {{0}}, {ASKED}) -> 'passages'",
    "chunks": "SELECT count(*), min(content) FROM chunks",
    "collections": "SELECT name, documents, chunks FROM collections ORDER BY name",
}
DOCUMENTS = "SELECT d.source_key FROM pgblend_data.document AS d ORDER BY 1"


@pytest.fixture(scope="module")
def scale(writing_shards: Scale) -> Scale:
    """Collections on all of three shards, on one each, and on two; documents in all."""
    scale = writing_shards
    for name, shards in PLACED.items():
        run_command(scale.coordinator.url, "collection", "add", name, "--shards", shards)
        scale.one.rows("SELECT add_collection(%s)", name)
    scale.place_one_alike()
    for collection in ("books", "rest", *PLACED):
        for place in range(20 if collection == "north" else 8):
            title = f"Title {place % 3}" if place % 2 else ""
            text = f"{WORDS[place % 4]} {collection}"
            scale.add(collection, f"{collection}{place}", text, title)
    scale.embed("s", 8)
    make_counter(scale.coordinator)
    for database in (scale.one, scale.coordinator):
        for ends in (("north1", "north2"), ("north2", "north7"), ("south0", "south5")):
            nodes = ", ".join(f"graph_node('{end[:-1]}', '{end}')" for end in ends)
            database.rows(f"SELECT add_edge({nodes})")
    return scale


SEARCH = (
    "SELECT * FROM hybrid_search(%s, 100, collections => %s, options => %s,"
    f" query_embedding => '{VECTOR}')"
)


def found(
    database: Database, query: str, collections: list[str] | None, **options: Any
) -> list[Any]:
    given = {"vector_scan": "exact", **options}
    return database.rows(SEARCH, query, collections, json.dumps(given))


def asked_again(database: Database, collections: list[str] | None, **options: Any) -> list[int]:
    """Return how many trips a search makes that is made again, and to how many shards in all."""
    given = {"vector_scan": "exact", "dedup": "off", **options}
    values = "red wine", collections, json.dumps(given)
    database.rows(SEARCH, *values)
    return asked(database, SEARCH, *values)


@pytest.mark.parametrize("collections", WHERE, ids=str)
def test_rows_are_those_of_one_node(scale: Scale, collections: list[str] | None) -> None:
    for query, options in SEARCHES:
        expected = found(scale.one, query, collections, **options)
        assert expected
        assert found(scale.coordinator, query, collections, **options) == expected


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
@pytest.mark.parametrize("collections", ["'{north}'", "'{south,pair}'", "NULL"])
def test_surfaces_are_those_of_one_node(scale: Scale, call: str, collections: str) -> None:
    query = call.format(collections)
    expected = scale.one.rows(query)
    assert expected
    assert scale.coordinator.rows(query) == expected


def test_a_search_asks_the_shards_of_its_collections_alone(scale: Scale) -> None:
    coordinator = scale.coordinator
    assert asked_again(coordinator, ["north"]) == [2, 2]
    assert asked_again(coordinator, ["pair"]) == [2, 4]
    assert asked_again(coordinator, ["north", "south"]) == [2, 4]
    for everywhere in (["books"], None):
        trips, shards = asked_again(coordinator, everywhere)
        assert trips == 2
        assert 3 < shards <= 6
    # Edges may lead through documents of other collections.
    assert asked_again(coordinator, ["north"], graph={"weight": 0.5, "depth": 1})[1] > 2 * 3


def test_a_shard_that_has_most_is_asked_for_its_share_at_once(scale: Scale) -> None:
    words = (
        "SELECT * FROM lexical_search('wine', 12, '{north,briefe}',"
        """ options => '{"candidate_depth": 12, "dedup": "off"}')"""
    )
    coordinator = scale.coordinator
    assert coordinator.rows(words) == scale.one.rows(words)
    assert asked(coordinator, words)[0] == 2


def test_documents_are_on_the_shards_of_their_collection(scale: Scale) -> None:
    keys = [set(shard.column(DOCUMENTS)) for shard in scale.shards]
    assert {key for key in keys[0] if key.startswith("north")} == {f"north{n}" for n in range(20)}
    assert not {key for key in keys[1] | keys[2] if key.startswith("north")}
    assert not {key for key in keys[0] | keys[2] if key.startswith("south")}
    assert not {key for key in keys[0] if key.startswith("pair")}
    assert all(any(key.startswith("pair") for key in of_shard) for of_shard in keys[1:])


def degraded(rows: list[tuple[Any, ...]]) -> list[str]:
    return next(value for value in rows[0] if isinstance(value, list))


def test_a_shard_that_is_away_matters_where_it_has_what_is_searched(scale: Scale) -> None:
    facets = (
        "SELECT count(*) FROM search_facets('wine', '{$title}', collections => '{north}',"
        f" query_embedding => '{VECTOR}')"
    )
    with scale.without(1), connect(scale.coordinator.url) as connection:
        said: list[str] = []
        connection.add_notice_handler(lambda notice: said.append(str(notice.message_primary)))
        session = Database(connection)
        expected = found(scale.one, "wine", ["north"])
        assert found(session, "wine", ["north"], strict=True) == expected
        assert session.value(facets) > 1
        assert session.value("SELECT lexical_seal('north')") is not None
        assert said == []
        nowhere = session.error("SELECT * FROM lexical_search('wine', collections => '{south}')")
        assert nowhere.sqlstate == "PB014"
        assert "no shard answered (b1: " in str(nowhere.message_primary)
        rows = session.rows("SELECT degraded FROM lexical_search('wine', collections => '{pair}')")
        assert str(rows[0][0][0]).startswith("shards: 1 of 2 did not answer (b1: ")
        assert "about 50 % of the passages are missing" in rows[0][0][0]
        mixed = "SELECT degraded FROM lexical_search('wine', collections => '{north,pair}')"
        told = session.column(mixed)[0][0]
        assert told.startswith("shards: 1 of 3 did not answer (b1: ")
        assert "about 25 % of the passages are missing" in told
        strict = session.error(
            "SELECT * FROM lexical_search('wine', collections => '{books}', options => %s)",
            '{"strict": true}',
        )
        assert strict.sqlstate == "PB014"
        written = "SELECT status FROM ingest_document('north', 'later', 'late wine')"
        assert session.value(written) == "added"
        assert session.value("SELECT delete_document('north', 'later')")


def test_a_role_that_may_read_one_collection_goes_to_its_shard(scale: Scale) -> None:
    admin = scale.coordinator
    role = f"north_{admin.connection.info.backend_pid}"
    admin.rows(f"CREATE ROLE {role} LOGIN PASSWORD 'x' IN ROLE pgblend_reader")
    try:
        run_command(admin.url, "collection", "grant", "north", role)
        run_command(admin.url, "shards", "grant", role, "--password", "x")
        with connect(f"{admin.url} user={role} password=x") as connection, scale.without(2):
            reader = Database(connection)
            assert asked_again(reader, None, strict=True) == [2, 2]
            assert asked_again(reader, None, strict=True, graph={"weight": 0.5, "depth": 1})[1] < 6
            expected = found(scale.one, "wine", ["north"], graph={"depth": 2})
            assert found(reader, "wine", None, graph={"depth": 2}) == expected
    finally:
        for database in (admin, *scale.shards):
            database.connection.execute(f"DROP OWNED BY {role}".encode())
        admin.connection.execute(
            f"DROP USER MAPPING IF EXISTS FOR {role} SERVER pgblend_shards".encode()
        )
        admin.connection.execute(f"DROP ROLE {role}".encode())


@pytest.mark.slow
def test_a_session_knows_a_collection_that_another_one_has_placed(scale: Scale) -> None:
    coordinator = scale.coordinator
    before = found(coordinator, "wine", None)
    run_command(coordinator.url, "collection", "add", "later", "--shards", "b2")
    try:
        coordinator.rows("SELECT ingest_document('later', 'k', 'wine, wine and wine')")
        assert scale.shards[2].column("SELECT source_key FROM documents WHERE source_key = 'k'")
        assert len(found(coordinator, "wine", None)) == len(before) + 1
        trips, shards = asked_again(coordinator, ["later"])
        assert trips == shards
    finally:
        run_command(coordinator.url, "collection", "remove", "later", "--yes")
    assert found(coordinator, "wine", None) == before


@pytest.mark.slow
def test_ingest_and_what_is_said_of_places(scale: Scale, tmp_path: Path) -> None:
    url = scale.coordinator.url
    for number in range(6):
        (tmp_path / f"f{number}.txt").write_text(f"a placed file {number}")
    run_command(url, "ingest", str(tmp_path), "--collection", "south", "--no-embed")
    files = "SELECT source_key FROM documents WHERE source_key LIKE '%.txt'"
    assert [len(shard.column(files)) for shard in scale.shards] == [0, 6, 0]
    told = json.loads(run_command(url, "shards", "status", "--json"))["shards"]
    assert [one["placed"] for one in told] == [["north"], ["pair", "south"], ["pair"]]
    run_command(url, "shards", "check")
    scale.coordinator.rows("SELECT count(delete_document(d.document_id)) FROM documents AS d"
        " WHERE d.source_key LIKE '%.txt'")  # fmt: skip
    # On the shard that has the bucket, and outside of the collection's.
    document = "SELECT d.id FROM pgblend_data.document AS d WHERE d.source_key = 'pair0'"
    holder = next(shard for shard in scale.shards if shard.column(document))
    move = "UPDATE pgblend_data.collection SET buckets = {} WHERE name = 'pair'"
    for database in (scale.coordinator, holder):
        said = database.error(move.format("'{[0,1)}'"))
        assert said.message_primary == 'the buckets of collection "pair" cannot be changed'
    with changing_spans(holder):
        holder.connection.execute(move.format("'{[0,1)}'").encode())
    try:
        assert "documents that belong to another shard" in run_command(
            url, "shards", "check", fails=True
        )
    finally:
        span = scale.coordinator.value("SELECT quote_literal(buckets) FROM pgblend_data.collection"
            " WHERE name = 'pair'")  # fmt: skip
        with changing_spans(holder):
            holder.connection.execute(move.format(span).encode())
    run_command(url, "shards", "check")


@pytest.mark.parametrize(
    ("shards", "said"),
    [
        ("b0,b9", "shards is {b0,b9}: expected names of shards\nThere are: b0, b1, b2"),
        ("", 'shards is {""}: expected names of shards'),
    ],
)
def test_places_that_are_none(scale: Scale, shards: str, said: str) -> None:
    arguments = "collection", "add", "wrong", "--shards", shards
    told = run_command(scale.coordinator.url, *arguments, fails=True)
    assert all(line in told for line in said.splitlines())


def test_what_cannot_be_placed(scale: Scale) -> None:
    one = scale.one.error("SELECT add_collection('wrong', shards => '{b0}')")
    assert "this database has no shards to place a collection on" in str(one.message_primary)
    none = scale.coordinator.error("SELECT add_collection('wrong', shards => '{}')")
    assert "shards is {}: expected names of shards" in str(none.message_primary)
    there = scale.coordinator.error("SELECT add_collection('north', shards => '{b1}')")
    assert there.sqlstate == "42710"
    assert "make another and ingest again" in str(there.message_hint)
