"""The endpoints that take JSON and give JSON: path, scope, and the schemas of both."""

import json
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from pgblend.cli.serve import operations, request_schemas
from pgblend.cli.serve.operations import Operation
from pgblend.cli.serve.request_schemas import Schema

_NOTES: dict[str, Schema] = {
    "degraded": {
        "type": "array",
        "items": {"type": "string"},
        "description": "What the answer went without: stage, colon, reason.",
    },
    "warnings": {"type": "array", "items": {"type": "string"}},
}
_CLICK: Schema = {"type": "object", "additionalProperties": False, "required": [], "properties": {}}
_FEEDBACK: Schema = {
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
    Endpoint("/v1/search", operations.search, "search", request_schemas.ROWS, "search-results"),
    Endpoint("/v1/context", operations.context, "search", request_schemas.CONTEXT, "context"),
    Endpoint("/v1/ask", operations.ask, "ask", request_schemas.ASK, "ask"),
    Endpoint("/v1/facets", operations.facets, "search", request_schemas.FACETS, "facets"),
    Endpoint("/v1/explain", operations.explain, "search", request_schemas.SEARCH, "search-explain"),
    Endpoint("/v1/diagnose", operations.diagnose, "search", request_schemas.DIAGNOSE, "diagnose"),
    Endpoint(
        "/v1/feedback", operations.feedback, "feedback", request_schemas.FEEDBACK, "", _FEEDBACK
    ),
    Endpoint("/v1/click", operations.click, "search", request_schemas.CLICK, "", _CLICK),
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
