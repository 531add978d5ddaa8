"""What searches find for the judged queries of a collection."""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pgblend.cli.calibrate.fit import JudgedSearch
from pgblend.cli.database import Connection, fetch_rows, fetch_value
from pgblend.cli.learn.collection import PREFIX
from pgblend.plpy.search.relevance import RANKED_BY, Signals

MOST_QUERIES = 1000  # more say little more
DEPTH = 50  # rows of a search, which a list of a coverage can have
# One query may be in several sets; a document is relevant where one says so.
_QUERIES = """
    SELECT pgblend._plain_query(q.query) AS query,
        (array_agg(q.embedding ORDER BY q.id) FILTER (
            WHERE s.embedding_model = %(model)s))[1] AS embedding,
        array_agg(DISTINCT j.source_key) FILTER (WHERE j.grade > 0) AS relevant
    FROM pgblend_data.judged_set AS s
    INNER JOIN pgblend_data.judged_query AS q ON q.set_id = s.id
    INNER JOIN pgblend_data.judgement AS j ON j.query_id = q.id
    WHERE s.collection_id = %(collection_id)s
        AND (%(feedback)s OR NOT starts_with(s.name, %(learned)s))
    GROUP BY pgblend._plain_query(q.query)
    HAVING bool_or(j.grade > 0)
    ORDER BY md5(pgblend._plain_query(q.query)) LIMIT %(most)s
"""
_SEARCH = """
    SELECT blend.search_explain(
        %(query)s, %(depth)s, ARRAY[%(collection)s], options => %(options)s::jsonb,
        query_embedding => %(embedding)s) AS trace
"""
_OPTIONS = {
    "rerank": "off",
    "expand": "off",
    "timeouts_ms": {"lexical": 60000, "total": 600000, "embed": 60000},
    **{rule: [] for rule in ("boosts", "decays", "pinned", "hidden")},  # relevance knows of none
}
_PURPOSE = "SELECT set_config('pgblend.purpose', 'evaluation', false)"


class Judged(NamedTuple):
    """The judged searches of a collection that could be made, and the settings they rank by."""

    searches: list[JudgedSearch]
    ranking: Mapping[str, Any]


def judged_queries(
    connection: Connection, collection_id: int, model: str, feedback: bool = False
) -> list[dict[str, Any]]:
    """Return the queries that have a relevant document: query, embedding and relevant keys.

    What was learned of clicks counts with `feedback`.
    """
    values = {"collection_id": collection_id, "model": model, "most": MOST_QUERIES}
    values |= {"feedback": feedback, "learned": PREFIX}
    return fetch_rows(connection, _QUERIES, values)


def search_judged(
    connection: Connection,
    collection: str,
    queries: list[dict[str, Any]],
    advance: Callable[[int], None],
) -> Judged:
    """Search the queries as users do; one whose search goes on without an arm is left out."""
    fetch_value(connection, _PURPOSE)
    searches, ranking = [], {}
    for query in queries:
        values = {"collection": collection, "depth": DEPTH, "options": json.dumps(_OPTIONS)}
        trace = fetch_value(connection, _SEARCH, values | query)
        advance(1)
        page = next(stage for stage in trace["stages"] if stage["name"] == "page")
        told = page["details"]["relevance"]
        if "cosine" not in told:
            continue
        rows = trace["results"]
        ranking = {name: trace["settings"][name]["value"] for name in RANKED_BY}
        searches.append(
            JudgedSearch(
                query["query"],
                Signals(**{name: told[name] for name in Signals._fields}),
                [row["score"] for row in rows],
                [row["source_key"] in query["relevant"] for row in rows],
            )
        )
    return Judged(searches, ranking)
