"""Endpoints and their searches: a checked body goes in, what the CLI prints comes out."""

import json
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, LiteralString

from pgblend.cli.doors import schemas
from pgblend.cli.doors.answers import ask_parameters, last_event
from pgblend.cli.doors.door import Caller, Door
from pgblend.cli.doors.outside_program import DEGRADED, FACTS, TYPED
from pgblend.cli.doors.problems import Problem
from pgblend.cli.doors.schemas import DEFAULT_CONTEXT_ROWS, Schema, search_request
from pgblend.cli.search import statements
from pgblend.cli.search.asked_models import ModelsAsked, RowsAsked, with_model_times

# Documents by id, whole or a span of their lines, as `pgblend document show` shows them.

_MOST_ID = 2**63 - 1
_DIGITS = 40  # Python reads no number of thousands of them
_MOST_LINE = 2**31 - 1
_DOCUMENT: LiteralString = "SELECT * FROM blend.documents WHERE document_id = %(id)s::bigint"
# Chunks without lines, as those of tables and pages, are in every span.
_CHUNKS: LiteralString = """
    SELECT * FROM blend.chunks
    WHERE document_id = %(id)s::bigint
        AND (start_line IS NULL OR start_line <= %(last)s::integer)
        AND (start_line IS NULL OR coalesce(end_line, start_line) >= %(first)s::integer)
    ORDER BY chunk_index
"""


async def document(door: Door, caller: Caller, number: str, span: str | None) -> dict[str, Any]:
    """Return a document and its chunks, of a span ("12-40", or "12") those that touch it."""
    first, last = _lines(span)
    values: dict[str, object] = {"id": _id(number), "first": first, "last": last}
    rows, chunks = await door.run(caller, RowsAsked(_DOCUMENT, {"id": values["id"]}),
                                  RowsAsked(_CHUNKS, values))  # fmt: skip
    if not rows:
        detail = f"there is no document {values['id']} that the caller may read"
        raise Problem(404, "no-such-document", detail)
    return {"document": rows[0], "chunks": chunks, "degraded": []}


def _id(number: str) -> int:
    is_number = number.isascii() and number.isdigit() and len(number) < _DIGITS
    if not is_number or int(number) > _MOST_ID:
        detail = f"{number[:40]!r} is no document id"
        raise Problem(400, "invalid-request", detail, hint="take document_id of a row")
    return int(number)


def _lines(span: str | None) -> tuple[int, int]:
    if span is None:
        return 0, _MOST_LINE
    first, dash, last = span.partition("-")
    lines = [first, last if dash else first]
    if not all(line.isascii() and line.isdigit() and len(line) < 10 for line in lines):
        detail = f"lines is {span[:40]!r}: expected a line or a span, such as 12-40"
        raise Problem(400, "invalid-request", detail)
    start, end = map(int, lines)
    if start > end:
        detail = f"lines is {span!r}: expected the first line before the last"
        raise Problem(400, "invalid-request", detail)
    return start, end


# JSON that stands in an answer as the database wrote it, so that nobody reads it on its way.

_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str, separators=(",", ":"))


class Written(str):
    """The text of a JSON value."""

    __slots__ = ()


def written_answer(answer: dict[str, Any]) -> bytes:
    """Return an answer as JSON, as the command line writes it; values may be Written."""
    members = (f"{_json(name)}:{_json(value)}" for name, value in answer.items())
    return f"{{{','.join(members)}}}".encode("utf-8", "replace")


def _json(value: Any) -> str:
    return value if isinstance(value, Written) else _ENCODER.encode(value)


Body = dict[str, Any]
Operation = Callable[[Door, Caller, Body], Coroutine[Any, Any, Body]]
_FACET_COLUMNS = ("key", "value", "count", "document_count", "count_estimate")
MODEL_STAGES = ("expand", "rerank")
_TYPED = RowsAsked(TYPED, {})
_FACTS, _DEGRADED = RowsAsked(FACTS, {}), RowsAsked(DEGRADED, {})
_FEEDBACK: LiteralString = """
    SELECT blend.feedback(
        %(search_id)s::uuid, %(chunk_id)s::bigint, %(grade)s::integer) AS judged_query
"""
_CLICK: LiteralString = "SELECT blend.click(%(search_id)s::uuid, %(chunk_id)s::bigint)"
_COLLECTIONS = RowsAsked(
    "SELECT name, documents, chunks, text_search_config FROM blend.collections ORDER BY name", {}
)
# Of some documents: metadata of all would be read for minutes.
_KEYS = RowsAsked(
    """
    SELECT c.name, k.key, k.example
    FROM pgblend_data.collection AS c
    CROSS JOIN LATERAL (
        SELECT e.key, (array_agg(left(e.value #>> '{}', 40) ORDER BY d.id))[1] AS example
        FROM (
            SELECT o.id, o.metadata FROM pgblend_data.document AS o
            WHERE o.collection_id = ANY(pgblend._compartments(c.id)) AND o.metadata <> '{}'
            LIMIT 200
        ) AS d
        CROSS JOIN LATERAL jsonb_each(d.metadata) AS e (key, value)
        WHERE e.value <> 'null'
        GROUP BY e.key
        ORDER BY count(*) DESC, e.key
        LIMIT 20
    ) AS k
    WHERE c.parent_id IS NULL
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
    query, asked = await _question(door, caller, given, statements.WRITTEN_ROWS, stages)
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
        statements.CONTEXT,
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
        statements.FACETS,
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
    query, asked = await _question(door, caller, given, statements.EXPLAIN)
    ((row,),) = await door.run(caller, query)
    found = with_model_times(row["search_explain"], asked.times_ms)
    return found | {"degraded": [*asked.degraded, *found["degraded"]]}


async def diagnose(door: Door, caller: Caller, given: Body) -> Body:
    """Say why a document is or is not found, as `pgblend diagnose` does."""
    (row,), degraded = await _searched(
        door, caller, given, statements.DIAGNOSE, document=given["document"]
    )
    found: Body = row["search_diagnose"]
    return found | {"degraded": degraded}


async def feedback(door: Door, caller: Caller, given: Body) -> Body:
    """Note how well a passage answered a search."""
    ((row,),) = await door.run(caller, RowsAsked(_FEEDBACK, given))
    return {"judged_query": row["judged_query"], "degraded": []}


async def click(door: Door, caller: Caller, given: Body) -> Body:
    """Note that a passage of a search was opened."""
    await door.run(caller, RowsAsked(_CLICK, given))
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
    ((row,),) = await door.run(caller, RowsAsked(_REMEMBER, {"title": None, **given}))
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
) -> tuple[RowsAsked, ModelsAsked]:
    """Return the statement with what models say for it, and what they were asked."""
    profile = given.get("profile")
    asked = await door.ask_models(caller, search_request(given), profile, stages)
    parameters = asked.request.parameters() | {"profile": profile} | more
    return RowsAsked(statement, parameters), asked


# The endpoints that take JSON and give JSON: path, scope, and the schemas of both.

_NOTES: dict[str, Schema] = {
    "degraded": {
        "type": "array",
        "items": {"type": "string"},
        "description": "What the answer went without: stage, colon, reason.",
    },
    "warnings": {"type": "array", "items": {"type": "string"}},
}
_CLICK_ANSWER: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": [],
    "properties": {},
}
_FEEDBACK_ANSWER: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["judged_query"],
    "properties": {"judged_query": {"type": "integer", "description": "Id of the judged query."}},
}


@dataclass(frozen=True)
class Endpoint:
    """One path, and what it does."""

    path: str
    operation: Operation
    scope: str
    request: Schema
    answers: str  # name of the schema of what the command line prints; or "", then it is `own`
    own: Schema = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """The first sentence of what it does."""
        return (self.operation.__doc__ or "").partition(".")[0]

    def response(self) -> Schema:
        """Return the schema of its answers."""
        return with_notes(printed(self.answers) if self.answers else self.own)


ENDPOINTS = (
    Endpoint("/v1/search", search, "search", schemas.ROWS, "search-results"),
    Endpoint("/v1/context", context, "search", schemas.CONTEXT, "context"),
    Endpoint("/v1/ask", ask, "ask", schemas.ASK, "ask"),
    Endpoint("/v1/facets", facets, "search", schemas.FACETS, "facets"),
    Endpoint("/v1/explain", explain, "search", schemas.SEARCH, "search-explain"),
    Endpoint("/v1/diagnose", diagnose, "search", schemas.DIAGNOSE, "diagnose"),
    Endpoint("/v1/feedback", feedback, "feedback", schemas.FEEDBACK, "", _FEEDBACK_ANSWER),
    Endpoint("/v1/click", click, "search", schemas.CLICK, "", _CLICK_ANSWER),
)


@cache
def printed(name: str) -> Schema:
    """Return the schema of what the command line prints with --json."""
    path = files("pgblend.cli.schemas") / f"{name}.schema.json"
    schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return schema


def with_notes(schema: Schema) -> Schema:
    """Return the schema of an answer that says what it went without."""
    return {
        **schema,
        "required": [*dict.fromkeys([*schema["required"], *_NOTES])],
        "properties": {**_NOTES, **schema["properties"]},
    }
