"""A coordinator of one to four shards answers as one node does, in all columns."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from support.shards import Scale

WORDS = ["wine", "wines", "red", "fox", "foxes", "sea", "deploy", "Haus", "Häuser", "the", "IL-6"]
LANGUAGES = {"books": None, "briefe": None, "rest": "french"}
VECTOR = "[1,-2,3,-4,5,-6,7,-8]"

documents = st.lists(
    st.tuples(
        st.sampled_from([*LANGUAGES]),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join),
        st.sampled_from(["", "Wine", "Fox and sea"]),
    ),
    max_size=10,
)
queries = st.lists(
    st.sampled_from([*WORDS, "wien", "foxs", '"red fox"', "-sea", "or", "nowhere"]), max_size=4
).map(" ".join)
options = st.fixed_dictionaries(
    {"vector_scan": st.just("exact")},
    optional={
        "fusion": st.sampled_from(["rrf", "convex"]),
        "fuzzy": st.sampled_from(["auto", "on", "off"]),
        "level": st.sampled_from(["chunk", "document"]),
        "dedup": st.sampled_from(["off", "exact", "overlap", "near"]),
        "candidate_depth": st.sampled_from([1, 2, 3, 5, 100]),
        "mmr": st.just({"lambda": 0.4, "pool": 5}),
        "feedback": st.just({"passages": 2, "weight": 0.5}),
        "min_relevance": st.just(0.1),
        "context_chars": st.just({"before": 20, "after": 20}),
        "language": st.sampled_from(["english", "german"]),
        "per_document": st.just(1),
        "offset": st.just(1),
        "lexical_method": st.just("ts_rank_cd"),
        "fuzzy_method": st.just("word_similarity"),
    },
)
SEARCHES = {
    "hybrid_search": "query_embedding => %(vector)s",
    "lexical_search": "",
    "fuzzy_search": "",
    "vector_search": "query_embedding => %(vector)s",
}
searches = st.lists(
    st.tuples(
        st.sampled_from([*SEARCHES]),
        queries,
        options,
        st.sampled_from([None, ["books"], ["books", "briefe"]]),
        st.sampled_from([None, {"$title": "Wine"}]),
    ),
    min_size=1,
    max_size=6,
)


def rows(database: Any, search: tuple[Any, ...]) -> Any:
    """Return all columns of a search, or its error."""
    function, query, given_options, collections, filter_ = search
    more = f", {SEARCHES[function]}" if SEARCHES[function] else ""
    statement = (
        f"SELECT * FROM {function}(%(query)s, 5, %(collections)s, %(filter)s,"
        f" options => %(options)s{more})"
    )
    values = {
        "query": query,
        "vector": VECTOR,
        "collections": collections,
        "filter": None if filter_ is None else json.dumps(filter_),
        "options": json.dumps(given_options),
    }
    try:
        return database.connection.execute(statement, values).fetchall()
    except database.connection.Error as error:
        return error.diag.sqlstate, error.diag.message_primary


def check_equal(
    scale: Scale, stored: list[tuple[str, str, str]], asked: list[tuple[Any, ...]], cut: int
) -> None:
    """Store documents, search, forget the first `cut` and seal, search again."""
    scale.clear()
    for place, (collection, content, title) in enumerate(stored):
        scale.add(collection, f"k{place}", content, title, language=LANGUAGES[collection])
    scale.embed("s", 8)
    for _ in range(2):
        for search in asked:
            expected = rows(scale.one, search)
            event(f"{len(expected)} rows" if isinstance(expected, list) else expected[1])
            assert rows(scale.coordinator, search) == expected, search
        for place, (collection, _, _) in enumerate(stored[:cut]):
            scale.forget(collection, f"k{place}")
        scale.seal()


CASES = given(stored=documents, asked=searches, cut=st.integers(0, 3))
UNHURRIED = [*HealthCheck]


@settings(max_examples=12, suppress_health_check=UNHURRIED, derandomize=True)
@CASES
def test_shards_are_one_node(
    scale: Scale, stored: list[tuple[str, str, str]], asked: list[tuple[Any, ...]], cut: int
) -> None:
    check_equal(scale, stored, asked, cut)


@pytest.mark.slow
@settings(max_examples=250, suppress_health_check=UNHURRIED)
@CASES
def test_shards_are_one_node_at_length(
    scale: Scale, stored: list[tuple[str, str, str]], asked: list[tuple[Any, ...]], cut: int
) -> None:
    check_equal(scale, stored, asked, cut)
