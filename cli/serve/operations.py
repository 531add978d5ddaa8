"""The searches behind the endpoints: each takes a checked body and returns what the CLI prints."""

import json
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, LiteralString

from pgblend.cli import search_statements
from pgblend.cli.search_models import ModelsAsked, Query, with_model_times
from pgblend.cli.serve.answers import ask_parameters, last_event
from pgblend.cli.serve.body import search_request
from pgblend.cli.serve.door import Caller, Door
from pgblend.cli.serve.request_schemas import DEFAULT_CONTEXT_ROWS
from pgblend.cli.serve.written import Written

Body = dict[str, Any]
Operation = Callable[[Door, Caller, Body], Coroutine[Any, Any, Body]]
_FACET_COLUMNS = ("key", "value", "count", "document_count", "count_estimate")
MODEL_STAGES = ("expand", "rerank")
_TYPED = Query("SELECT set_config('pgblend.purpose', 'typed', true)", {})
_FACTS = Query("SELECT blend.last_search() AS facts", {})
_DEGRADED = Query("SELECT blend.last_search() -> 'degraded' AS degraded", {})
_FEEDBACK: LiteralString = """
    SELECT blend.feedback(
        %(search_id)s::uuid, %(chunk_id)s::bigint, %(grade)s::integer) AS judged_query
"""
_CLICK: LiteralString = "SELECT blend.click(%(search_id)s::uuid, %(chunk_id)s::bigint)"
_COLLECTIONS = Query(
    "SELECT name, documents, chunks, text_search_config FROM blend.collections ORDER BY name", {}
)
# Of some documents: metadata of all would be read for minutes.
_KEYS = Query(
    """
    SELECT c.name, k.key, k.example
    FROM pgblend_data.collection AS c
    CROSS JOIN LATERAL (
        SELECT e.key, (array_agg(left(e.value #>> '{}', 40) ORDER BY d.id))[1] AS example
        FROM (
            SELECT o.id, o.metadata FROM pgblend_data.document AS o
            WHERE o.collection_id = c.id AND o.metadata <> '{}'
            LIMIT 200
        ) AS d
        CROSS JOIN LATERAL jsonb_each(d.metadata) AS e (key, value)
        WHERE e.value <> 'null'
        GROUP BY e.key
        ORDER BY count(*) DESC, e.key
        LIMIT 20
    ) AS k
    """,
    {},
)
# The key is the text's own, so that the same text is stored once and nothing is replaced.
_REMEMBER: LiteralString = """
    SELECT s.document_id, s.status, s.chunk_count
    FROM blend.ingest_document(
        collection => %(collection)s::text,
        source_key => 'remembered/' || left(encode(sha256(convert_to(
            concat(%(title)s::text, E'\\n', %(text)s::text), 'UTF8')), 'hex'), 32),
        content => %(text)s::text, title => %(title)s::text,
        metadata => jsonb_build_object('remembered_by', current_user)) AS s
"""


async def search(door: Door, caller: Caller, given: Body) -> Body:
    """Search, as `pgblend query` does."""
    is_typed = given.get("purpose") == "typed"
    stages = () if is_typed else MODEL_STAGES
    if is_typed:
        given = given | {"options": given.get("options", {}) | {"expand": "off", "rerank": "off"}}
    query, asked = await _question(door, caller, given, search_statements.WRITTEN_ROWS, stages)
    before, after = [_TYPED] * is_typed, [_FACTS] * given.get("facts", False)
    answers = await door.run(caller, *before, query, *after)
    (row,) = answers[len(before)]
    degraded = [*asked.degraded, *(row["degraded"] or [])]
    found = {"query": given["query"], "results": Written(row["rows"]), "degraded": degraded}
    return found | {"facts": answers[-1][0]["facts"] or {}} if after else found


async def context(door: Door, caller: Caller, given: Body) -> Body:
    """Gather passages within a budget of tokens, as `pgblend context` does."""
    (row,), degraded = await _searched(
        door,
        caller,
        {"limit": DEFAULT_CONTEXT_ROWS} | given,
        search_statements.CONTEXT,
        output_format="json",
    )
    found: Body = row["get_context"]
    return found | {"degraded": degraded}


async def ask(door: Door, caller: Caller, given: Body) -> Body:
    """Answer a question from passages, as `pgblend ask` does."""
    return await last_event(door, caller, ask_parameters(given))


async def facets(door: Door, caller: Caller, given: Body) -> Body:
    """Count values over all candidates of a search, as `pgblend facets` does."""
    rows, degraded = await _searched(
        door,
        caller,
        given,
        search_statements.FACETS,
        stages=(),
        keys=given["keys"],
        buckets=json.dumps(given.get("buckets", {})),
    )
    return {
        "query": given["query"],
        "pool_size": rows[0]["pool_size"] if rows else 0,
        "facets": [{column: row[column] for column in _FACET_COLUMNS} for row in rows],
        "degraded": degraded,
    }


async def explain(door: Door, caller: Caller, given: Body) -> Body:
    """Say how a search came to its results, as `pgblend query --explain --json` does."""
    query, asked = await _question(door, caller, given, search_statements.EXPLAIN)
    ((row,),) = await door.run(caller, query)
    found = with_model_times(row["search_explain"], asked.times_ms)
    return found | {"degraded": [*asked.degraded, *found["degraded"]]}


async def diagnose(door: Door, caller: Caller, given: Body) -> Body:
    """Say why a document is or is not found, as `pgblend diagnose` does."""
    (row,), degraded = await _searched(
        door, caller, given, search_statements.DIAGNOSE, document=given["document"]
    )
    found: Body = row["search_diagnose"]
    return found | {"degraded": degraded}


async def feedback(door: Door, caller: Caller, given: Body) -> Body:
    """Note how well a passage answered a search."""
    ((row,),) = await door.run(caller, Query(_FEEDBACK, given))
    return {"judged_query": row["judged_query"], "degraded": []}


async def click(door: Door, caller: Caller, given: Body) -> Body:
    """Note that a passage of a search was opened."""
    await door.run(caller, Query(_CLICK, given))
    return {"degraded": []}


async def collections(door: Door, caller: Caller) -> Body:
    """List the collections that the caller may read."""
    (rows,) = await door.run(caller, _COLLECTIONS)
    return {"collections": rows, "degraded": []}


async def collections_with_keys(door: Door, caller: Caller) -> Body:
    """List them, each with keys of its documents' metadata and an example's value."""
    rows, keys = await door.run(caller, _COLLECTIONS, _KEYS)
    found = [
        row | {"keys": {k["key"]: k["example"] for k in keys if k["name"] == row["name"]}}
        for row in rows
    ]
    return {"collections": found, "degraded": []}


async def remember(door: Door, caller: Caller, given: Body) -> Body:
    """Store a text as a document of its own; the same text again changes nothing."""
    ((row,),) = await door.run(caller, Query(_REMEMBER, {"title": None, **given}))
    return row | {"degraded": []}


async def _searched(
    door: Door,
    caller: Caller,
    given: Body,
    statement: LiteralString,
    *,
    stages: Sequence[str] = MODEL_STAGES,
    **more: object,
) -> tuple[list[Body], list[str]]:
    """Ask the models, then search; return the rows and what the search went without."""
    query, asked = await _question(door, caller, given, statement, stages, **more)
    rows, (last,) = await door.run(caller, query, _DEGRADED)
    return rows, [*asked.degraded, *(last["degraded"] or [])]


async def _question(
    door: Door,
    caller: Caller,
    given: Body,
    statement: LiteralString,
    stages: Sequence[str] = MODEL_STAGES,
    **more: object,
) -> tuple[Query, ModelsAsked]:
    """Return the statement with what models say for it, and what they were asked."""
    profile = given.get("profile")
    asked = await door.ask_models(caller, search_request(given), profile, stages)
    parameters = asked.request.parameters() | {"profile": profile} | more
    return Query(statement, parameters), asked
