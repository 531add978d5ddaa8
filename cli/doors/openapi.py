"""The description of the HTTP interface, made of the schemas that it is checked with."""

import re
from importlib.metadata import version
from typing import Any

from pgblend.cli.doors import schemas as request_schemas
from pgblend.cli.doors.operations import ENDPOINTS, Endpoint, printed, with_notes
from pgblend.cli.doors.problems import MEDIA_TYPE, SCHEMA
from pgblend.cli.doors.schemas import Schema
from pgblend.cli.models.gateway_options import CallLimits

DOCUMENT_PATH = "/v1/documents/{document_id}"
_PROBLEM: dict[str, Any] = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/problem"}}}
_TOKEN: list[dict[str, list[str]]] = [{"token": []}]


def openapi() -> dict[str, Any]:
    """Return the OpenAPI 3.1 document."""
    schemas: dict[str, Schema] = {"problem": SCHEMA}
    paths = {each.path: {"post": _operation(each, schemas)} for each in ENDPOINTS}
    paths[DOCUMENT_PATH] = {"get": _document(schemas)}
    paths["/v1/chat/completions"] = {"post": _chat(schemas)}
    paths["/v1/models"] = {"get": _plain("models", "List collections as models", _TOKEN)}
    paths["/v1/models/{name}"] = {"get": _model()}
    paths["/health"] = {"get": _plain("health", "Whether the database answers", [])}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "pgblend",
            "version": version("pgblend"),
            "description": "Hybrid search inside PostgreSQL, as the role of the caller's token.",
        },
        "security": _TOKEN,
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint, schemas: dict[str, Schema]) -> dict[str, Any]:
    name = endpoint.path.rpartition("/")[2]
    request = _named(f"{name}-request", endpoint.request, schemas)
    answer = _named(name, endpoint.response(), schemas)
    return {
        "operationId": name,
        "summary": endpoint.summary,
        "description": f"Scope: {endpoint.scope}.",
        "requestBody": {"required": True, "content": {"application/json": {"schema": request}}},
        "responses": {**_responses("application/json", answer), **_too_large(_PROBLEM)},
    }


def _document(schemas: dict[str, Schema]) -> dict[str, Any]:
    answer = _named("document", with_notes(printed("document-show")), schemas)
    number = {"type": "integer", "minimum": 1, "maximum": 2**63 - 1}
    lines = {"type": "string", "pattern": "^[0-9]{1,9}(-[0-9]{1,9})?$"}
    return {
        "operationId": "document",
        "summary": "Show a document and its chunks",
        "description": "Scope: search.",
        "parameters": [
            {"name": "document_id", "in": "path", "required": True, "schema": number},
            {"name": "lines", "in": "query", "schema": lines, "description": "Such as 12-40."},
        ],
        "responses": _responses("application/json", answer),
    }


def _chat(schemas: dict[str, Schema]) -> dict[str, Any]:
    request = _named("chat-request", request_schemas.CHAT, schemas)
    return {
        "operationId": "chat",
        "summary": "Answer the last message as /v1/ask does, in the shape of OpenAI's API",
        "description": "Scope: ask. Errors have the shape of OpenAI's API too.",
        "requestBody": {"required": True, "content": {"application/json": {"schema": request}}},
        "responses": {
            "200": {
                "description": "The answer; with stream, server-sent events.",
                "content": {"application/json": {}, "text/event-stream": {}},
            },
            "default": {"description": "An error", "content": {"application/json": {}}},
            **_too_large({"application/json": {}}),
        },
    }


def _model() -> dict[str, Any]:
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    return {**_plain("model", "Show a collection as a model", _TOKEN), "parameters": [name]}


def _plain(name: str, summary: str, security: list[dict[str, list[str]]]) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "security": security,
        "responses": {
            "200": {"description": "The answer", "content": {"application/json": {}}},
            "default": {
                "description": "A problem",
                "content": {"application/json": {}, MEDIA_TYPE: {}},
            },
        },
    }


def _responses(media_type: str, answer: Schema) -> dict[str, Any]:
    return {
        "200": {"description": "The answer", "content": {media_type: {"schema": answer}}},
        "default": {"description": "A problem", "content": _PROBLEM},
    }


def _too_large(content: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to a body that fits its schema, or not, but has too many bytes."""
    limit = f"The body has more bytes than --body-bytes, {CallLimits().body_bytes} by default"
    return {"413": {"description": limit, "content": content}}


def _named(name: str, schema: Schema, schemas: dict[str, Schema]) -> Schema:
    """Put a schema and its definitions among the components, and return what refers to it."""
    definitions = schema.get("$defs", {})
    for key, definition in definitions.items():
        schemas[f"{name}-{key}"] = _moved(definition, name)
    own = {key: value for key, value in schema.items() if key not in ("$schema", "$defs")}
    schemas[name] = _moved(own, name)
    return {"$ref": f"#/components/schemas/{name}"}


def _moved(value: Any, name: str) -> Any:
    """Return a schema whose references point to where its definitions are now."""
    if isinstance(value, dict):
        return {key: _moved(each, name) for key, each in value.items()}
    if isinstance(value, list):
        return [_moved(each, name) for each in value]
    if isinstance(value, str):
        return re.sub(r"^#/\$defs/", f"#/components/schemas/{name}-", value)
    return value
