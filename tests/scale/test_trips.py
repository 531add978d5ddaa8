"""How often a search goes to the shards, and that it never goes by what has changed."""

import json
from typing import Any

import pytest

from pgblend.cli.base.database import connect
from pgblend.plpy.base.ports import AgesRequest, LanguagesRequest
from pgblend.plpy.shards.relay import over_shards
from pgblend.plpy.shards.wire import WIRE
from support.client_database import coordinator_here
from support.database import Database
from support.shard_graph import role_of
from support.shards import Scale, asked, make_counter

SEARCH = (
    "SELECT * FROM hybrid_search('red wine', collections => '{books}',"
    " query_embedding => '[1,2,3,4,5,6,7,8]',"
    """ options => '{"vector_scan": "exact"}')"""
)

MAKES_NO_SNIPPETS = """DO LANGUAGE plpython3u $$
import sys
snippets = sys.modules["pgblend.plpy.search.store"]
make = snippets.made_snippets
def refuse(db, passages, sought):
    assert not passages
    return make(db, passages, sought)
snippets.made_snippets = refuse
$$"""


@pytest.fixture
def wine(two_shards: Scale) -> Scale:
    make_counter(two_shards.coordinator)
    two_shards.clear()
    texts = ["red wine of France", "white wine", "a red fox", "the sea", "wine cellar, red"]
    for place, text in enumerate(texts):
        two_shards.add("books", f"k{place}", text)
    two_shards.embed("s", 8)
    return two_shards


def trips(coordinator: Database, search: str = SEARCH) -> int:
    """Return how many trips a search makes."""
    return asked(coordinator, search)[0]


def test_two_trips_where_words_are_known_and_nothing_changed(wine: Scale) -> None:
    coordinator = wine.coordinator
    trips(coordinator)
    assert trips(coordinator) == 2
    assert trips(coordinator, SEARCH.replace("red wine", "white sea")) == 3  # words are new
    assert trips(coordinator, SEARCH.replace("red wine", "white sea")) == 2
    wine.add("books", "more", "more red wine for the cellar")
    wine.embed("s", 8)
    assert trips(coordinator) == 3  # statistics have changed
    assert trips(coordinator) == 2
    words = "SELECT * FROM lexical_search('red wine', collections => '{books}')"
    assert [trips(coordinator, words) for _ in range(2)][-1] == 2
    vectors = "SELECT * FROM vector_search('x', query_embedding => '[1,2,3,4,5,6,7,8]')"
    assert [trips(coordinator, vectors) for _ in range(2)][-1] == 2


def test_a_session_s_first_search_learns_facts_in_one_trip(wine: Scale) -> None:
    with connect(wine.coordinator.url) as new:
        assert trips(Database(new)) == 4  # facts, words, lists, rows


def test_what_misspelt_words_stand_for_takes_one_trip_in_all_languages(wine: Scale) -> None:
    wine.add("briefe", "haus", "ein rotes Haus, red wine")
    words = "SELECT * FROM fuzzy_search('red wien Hauss')"
    assert [trips(wine.coordinator, words) for _ in range(3)][-1] == 3  # similar, lists, rows


def test_a_name_is_known_with_the_lists(wine: Scale) -> None:
    wine.add("books", "wine_list.txt", "the list of wine")
    wine.embed("s", 8)
    named = SEARCH.replace("red wine", "wine_list.txt")
    assert wine.coordinator.rows(named) == wine.one.rows(named)
    assert trips(wine.coordinator, named) == 2


def test_shards_make_the_snippets_of_a_page(wine: Scale) -> None:
    wine.add("briefe", "haus", "ein rotes Haus, red wine <b>")
    searches = [
        f"SELECT * FROM {search}_search('{query}')"
        for search in ("lexical", "fuzzy")
        for query in ("red wine", "red wien", "Häuser wine", '"red wine" -fox', "red wien Hauss")
    ]
    with connect(wine.coordinator.url) as own:
        session = Database(own)
        session.rows(searches[0])
        own.execute(MAKES_NO_SNIPPETS)
        assert list(map(session.rows, searches)) == list(map(wine.one.rows, searches))


def test_a_search_goes_by_what_is_there_now(wine: Scale) -> None:
    """Statistics, languages and vectors that a session remembers are checked by each search."""
    everywhere = SEARCH.replace("collections => '{books}',", "")
    for change in (
        lambda: wine.add("books", "n1", "red wine, red wine and red wine"),
        lambda: wine.add("briefe", "n2", "Roter Wein und red wine"),
        lambda: wine.embed("s", 8),
        lambda: wine.forget("books", "k0"),
        lambda: wine.forget("briefe", "n2"),
        wine.clear,
        lambda: wine.add("rest", "n3", "wine, red"),
    ):
        change()
        for search in (SEARCH, everywhere):
            assert wine.coordinator.rows(search) == wine.one.rows(search)


def test_strict_knows_that_nothing_is_left(wine: Scale) -> None:
    """The first search after it learns anew what is there, the second goes by counts of before."""
    strict = SEARCH.replace('"exact"', '"exact", "strict": true')
    searches = [strict, strict.replace("red wine", "white sea")]
    for search in searches:
        assert wine.coordinator.rows(search) == wine.one.rows(search)
    wine.clear()
    assert [wine.coordinator.error(search).sqlstate for search in searches] == ["PB003"] * 2


@pytest.mark.extended
def test_a_shard_that_lacks_a_change_of_the_front_is_an_error(wine: Scale) -> None:
    from support.shards import run_command

    coordinator = wine.coordinator
    coordinator.rows("SELECT set_setting('candidate_depth', '50')")
    said = coordinator.error(SEARCH)
    assert said.sqlstate == "PB014"
    assert "no shard answered (b0: it lacks the last changes" in str(said.message_primary)
    assert "pgblend shards push" in str(said.message_primary)
    assert "lacks changes" in run_command(coordinator.url, "shards", "status", "--json")
    run_command(coordinator.url, "shards", "push")
    assert coordinator.rows(SEARCH)
    assert wine.shards[0].value("SELECT get_setting('candidate_depth')") == 50
    coordinator.rows("SELECT reset_setting('candidate_depth')")
    run_command(coordinator.url, "shards", "push")
    assert coordinator.rows(SEARCH) == wine.one.rows(SEARCH)


def test_a_trip_to_no_shard_asks_nobody(wine: Scale) -> None:
    """Of no documents there is nothing to ask, which is no error."""
    with coordinator_here(wine) as database:
        assert over_shards(database, lambda store: store.trips.ask({})) == {}
        for name in ("ages_days", "languages"):
            kind = {"ages_days": AgesRequest, "languages": LanguagesRequest}[name]
            empty: Any = kind(*([] for _ in kind._fields))
            assert over_shards(database, lambda store, n=name, e=empty: getattr(store, n)(e)) == []


ENVELOPE = {"wire": WIRE, "left_ms": 60_000, "version": 0}
ALL_CHUNKS = [["view", "chunks"]]


@pytest.mark.parametrize(
    ("trip", "calls"),
    [
        ("no JSON", "[]"),
        (json.dumps([1]), "[]"),
        ("7", "[]"),
        ("{}", "[]"),
        (json.dumps(ENVELOPE), "[]"),
        (json.dumps({**ENVELOPE, "calls": ALL_CHUNKS, "wire": "x"}), "[]"),
        (json.dumps({**ENVELOPE, "calls": 7}), "[]"),
        (json.dumps({**ENVELOPE, "calls": ALL_CHUNKS}), "no JSON"),
        (json.dumps({**ENVELOPE, "calls": ALL_CHUNKS}), "7"),
        *(
            (json.dumps({**ENVELOPE, "calls": [*ALL_CHUNKS, call]}), "[]")
            for call in (7, [], ["nobody"], ["view"], ["view", "settings"], ["routine", "x", []],
                         ["routine", "_document_count", []], ["passages", 7], ["db"],
                         ["snippets", "wine"], ["snippets", "wine", 7, []],
                         ["snippets", "wine", {}, [7]])
        ),
    ],
)  # fmt: skip
def test_a_forged_trip_is_an_error_of_its_own(wine: Scale, trip: str, calls: str) -> None:
    """One call that is wrong ends the whole trip: nothing comes with the error."""
    shard = wine.shards[0]
    answer = "SELECT answer FROM pgblend._answer_shards('{0}', ARRAY[%s], %s)"
    said = shard.error(answer, calls, trip)
    assert said.sqlstate is not None
    assert "wine" not in f"{said.message_primary} {said.message_detail} {said.message_hint}"
    whole = json.dumps({**ENVELOPE, "calls": ALL_CHUNKS})
    assert "wine" in shard.value(answer, "[]", whole)


def test_forged_calls_show_a_reader_his_own_collections(wine: Scale) -> None:
    """Whatever is asked of a shard by its name, id or view, others' passages do not come."""
    for place in range(8):
        wine.add("briefe", f"b{place}", f"geheimes Haus {place}")
    shard = wine.shards[0]
    hidden = shard.rows(
        "SELECT c.id, c.document_id, c.collection_id FROM pgblend_data.chunk AS c"
        " WHERE c.content LIKE 'geheim%%' ORDER BY c.id"
    )
    chunks, documents, collections = (sorted({*column}) for column in zip(*hidden, strict=True))
    calls = [
        *ALL_CHUNKS,
        ["view", "documents"],
        ["routine", "_passage_rows", [chunks]],
        ["routine", "_document_facts", [documents[0]]],
        ["routine", "_node_facts", [[4 * one for one in documents]]],
        ["routine", "_sampled_chunks", [collections[0], 9]],
        ["passages", [chunks, [], 0.0]],
        ["snippets", "geheimes Haus", {"german": ["geheim"]}, [[chunks[0], ["haus"]]]],
    ]
    trip = json.dumps({**ENVELOPE, "calls": calls})
    answer = "SELECT answer FROM pgblend._answer_shards('{0}', '{[]}', %s)"
    with role_of(wine, "pgblend_reader", books="read") as (_, ann):
        shard.rows(f"SET ROLE {ann.connection.info.user}")
        try:
            first, *others = json.loads(shard.value(answer, trip))
        finally:
            shard.rows("RESET ROLE")
    assert "geheim" not in json.dumps([first, *others])
    assert any("wine" in row["content"] for row in first["value"])
    assert not {row["document_id"] for row in others[0]["value"]} & {*documents}
    assert [one["value"] for one in others[1:]] == [[]] * 6
