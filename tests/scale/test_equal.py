"""A coordinator of one to four shards answers as one node does, in all columns."""

from collections.abc import Set
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, event, example, given, settings
from hypothesis import strategies as st

from pgblend.cli.base.database import connect
from support.database import Database
from support.random_searches import LANGUAGES, Document, Search, documents, rows, searches
from support.shards import Scale, embed, number_from, stored

MOST = 60  # documents
# Keys of a collection; of one of its shards alone where a second argument says so.
_KEYS = """
    SELECT 'k' || n FROM generate_series(1, 1000) AS n
    CROSS JOIN pgblend_data.collection AS c
    INNER JOIN pgblend_data.shard_bucket AS b ON b.bucket = pgblend._bucket(c.id, 'k' || n)
    WHERE c.name = %s AND (NOT %s OR b.shard = (
        SELECT max(o.shard) FROM pgblend_data.shard_bucket AS o
        WHERE c.buckets IS NULL OR o.bucket::integer <@ c.buckets))
    ORDER BY n LIMIT 60
"""
_NAMES = "SELECT s.name FROM pgblend_data.shard AS s ORDER BY s.number"
Placement = dict[str, Set[int] | None]
EVERYWHERE: Placement = dict.fromkeys(LANGUAGES)


def store_everywhere(
    scale: Scale, given: list[Document], on_one: bool, placed: Placement
) -> list[tuple[Any, ...]]:
    """Store nothing but these documents, all on one shard or anywhere; return them with keys.

    Collections are on some of the shards, by their places in turn, or on all.
    """
    scale.clear()
    names = scale.coordinator.column(_NAMES)
    scale.place(
        {
            collection: places and [names[place % len(names)] for place in places]
            for collection, places in placed.items()
        }
    )
    keys = {name: iter(scale.coordinator.column(_KEYS, name, on_one)) for name in LANGUAGES}
    documents = [
        (collection, next(keys[collection]), content, title, LANGUAGES[collection])
        for collection, content, title in given
    ]
    scale.ingest(documents)
    embed(scale.one, "s", 8)
    scale.spread()
    return documents


def check_equal(
    scale: Scale,
    of_case: list[Document],
    asked: list[Search],
    gone: Set[int],
    on_one: bool,
    placed: Placement,
) -> None:
    """Store documents, search, forget some and seal, search again."""
    given_documents = store_everywhere(scale, of_case, on_one, placed)
    for _ in range(2):
        for search in asked:
            expected = rows(scale.one, search)
            event(f"{len(expected)} rows" if isinstance(expected, list) else expected[1])
            assert rows(scale.coordinator, search) == expected, search
        for place in gone:
            if place < len(of_case):
                scale.forget(*given_documents[place][:2])
        scale.seal()


Case = tuple[list[Document], list[Search], Set[int], bool, Placement]


def cases(most: int, asked: int) -> st.SearchStrategy[Case]:
    """Return what check_equal is given: at most so many documents, and so many searches."""
    gone = st.sets(st.integers(0, most - 1), max_size=8)
    places = st.none() | st.sets(st.integers(0, 3), min_size=1, max_size=2)
    placed = st.fixed_dictionaries(dict.fromkeys(LANGUAGES, places))
    return st.tuples(documents(most), searches(asked), gone, st.booleans(), placed)


# A case that fails is not made smaller: each example takes seconds.
PATIENT = settings(
    suppress_health_check=[*HealthCheck], phases=[Phase.explicit, Phase.reuse, Phase.generate]
)


# "or" is no word of the query: so it may be French, in which "il" is a stop word.
_OF_WHICH_LANGUAGE: Case = (
    [("books", "red", ""), ("briefe", "wine deploy IL-6", ""), ("rest", "red wine", "")],
    [("hybrid_search", "wien wines or IL-6", {"vector_scan": "exact"}, None, None)],
    set(), False, EVERYWHERE,
)  # fmt: skip


@settings(PATIENT, max_examples=3, derandomize=True, database=None)
@example(case=_OF_WHICH_LANGUAGE)
@given(case=cases(10, 4))
def test_shards_are_one_node(scale: Scale, case: Case) -> None:
    check_equal(scale, *case)


@pytest.mark.slow
@settings(PATIENT, max_examples=90)
@given(case=cases(MOST, 12))
def test_shards_are_one_node_at_length(scale: Scale, case: Case) -> None:
    """1,080 random option sets, each before and after deletes and a seal."""
    check_equal(scale, *case)


@pytest.mark.slow
@settings(PATIENT, max_examples=25)
@given(case=cases(MOST, 12))
def test_shards_after_a_split_are_one_node(split_scale: Scale, case: Case) -> None:
    check_equal(split_scale, *case)


@pytest.mark.slow
@settings(PATIENT, max_examples=15)
@given(case=cases(20, 6), more=documents(12))
def test_a_search_beside_writes_is_one_of_a_single_moment(
    split_scale: Scale, case: Case, more: list[Document]
) -> None:
    """Documents come to one shard: rows are those of one node before or after one of them."""
    scale, (stored_before, asked, *_) = split_scale, case
    store_everywhere(scale, stored_before, False, EVERYWHERE)
    keys = {name: scale.coordinator.column(_KEYS, name, True) for name in LANGUAGES}
    added = [
        (collection, keys[collection][-1 - place], content, title, LANGUAGES[collection])
        for place, (collection, content, title) in enumerate(more)
    ]
    moments = [[rows(scale.one, search) for search in asked]]
    ids = []
    for document in added:
        ids.append(stored(scale.one, *document))
        moments.append([rows(scale.one, search) for search in asked])
    if ids:
        number_from(scale.shards[-1], *ids[0])
    done: list[tuple[int, int]] = []

    def write() -> None:
        with connect(scale.shards[-1].url) as connection:
            done.extend(stored(Database(connection), *document) for document in added)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        while not writing.done():
            for place, search in enumerate(asked):
                first = len(done)
                found = rows(scale.coordinator, search)
                # The next one may be there already, and `done` not know it.
                possible = [one[place] for one in moments[first : len(done) + 2]]
                assert found in possible, search
        writing.result()
    assert done == ids
    assert [rows(scale.coordinator, search) for search in asked] == moments[-1]
