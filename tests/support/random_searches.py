"""Random corpora and random searches of them, for stores that must answer alike."""

import json
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from support.database import Database

WORDS = ["wine", "wines", "red", "fox", "foxes", "sea", "deploy", "Haus", "Häuser", "the", "IL-6"]
LANGUAGES = {"books": None, "briefe": None, "rest": "french"}
VECTOR = "[1,-2,3,-4,5,-6,7,-8]"
Document = tuple[str, str, str]  # collection, content, title
Search = tuple[Any, ...]


def documents(most: int) -> st.SearchStrategy[list[Document]]:
    """Return lists of short documents, in one to three languages; some have the same text."""
    contents = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
    titles = st.sampled_from(["", "Wine", "Fox and sea"])
    collections = st.lists(st.sampled_from([*LANGUAGES]), min_size=1, max_size=3, unique=True)
    ties = st.lists(contents, min_size=1, max_size=4)
    return st.tuples(collections, ties).flatmap(
        lambda drawn: st.lists(
            st.tuples(st.sampled_from(drawn[0]), st.sampled_from(drawn[1]) | contents, titles),
            max_size=most,
        )
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
        "b": st.sampled_from([0, 1]),
        "title_weight": st.just(1),
        "rrf_k": st.just(5),
        "weights": st.just({"lexical": 0.5, "vector": 2, "fuzzy": 0.3}),
        "normalization": st.sampled_from(
            [{"method": name} for name in ("theoretical", "absolute", "zscore", "spread")]
        ),
        "boosts": st.just([{"filter": {"$title": "Wine"}, "factor": 2}]),
        "pinned": st.just([{"query": "*wine*", "documents": ["k3", "k5"]}]),
        "hidden": st.just([{"query": "*", "documents": ["k2"]}]),
        "synonyms": st.just([{"words": ["sea", "fox"]}]),
        "strict": st.just(True),
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
_searches = st.tuples(  # function, query, options, collections, filter
    st.sampled_from([*SEARCHES]),
    queries,
    options,
    st.sampled_from([None, ["books"], ["books", "briefe"]]),
    st.sampled_from([None, {"$title": "Wine"}]),
)


def searches(count: int) -> st.SearchStrategy[list[Search]]:
    """Return lists of so many searches."""
    return st.lists(_searches, min_size=count, max_size=count)


def drawn_searches(count: int) -> list[Search]:
    """Return so many searches, in twenties, the same each time."""
    found: list[Search] = []

    @given(several=searches(20))
    @settings(
        max_examples=count // 20,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
        database=None,
    )
    def draw(several: list[Search]) -> None:
        found.extend(several)

    draw()
    return found


def rows(database: Database, search: Search) -> Any:
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
