"""What callers may send, as JSON Schemas: they check each body, and OpenAPI shows them."""

from typing import Any

Schema = dict[str, Any]
DEFAULT_ROWS = 10
DEFAULT_CONTEXT_ROWS = 20
MOST_MESSAGES = 20  # of a chat before a question
MOST_SAID = 4000  # characters of a message
_MOST_ROWS = 10_000
_MOST_DIMENSIONS = 16_000
_MOST_ID = 2**63 - 1

_SEARCH: dict[str, Schema] = {
    "query": {"type": "string", "description": "A question, or words."},
    "limit": {
        "type": "integer",
        "minimum": 1,
        "maximum": _MOST_ROWS,
        "default": DEFAULT_ROWS,
        "description": "Most rows of the answer.",
    },
    "collections": {
        "type": ["array", "null"],
        "items": {"type": "string"},
        "maxItems": 1000,
        "description": "Names of those to search; null: all that the caller may read.",
    },
    "filter": {
        "type": ["object", "null"],
        "description": 'Only rows that pass: {"author": "knuth", "year": {"gte": 1974}}. Keys are '
        "of metadata, or $title, $date, $source_key and others.",
    },
    "profile": {"type": ["string", "null"], "description": "Named set of search options."},
    "options": {
        "type": "object",
        "default": {},
        "description": "Search options, as those of blend.hybrid_search. Often useful: mode (fast,"
        " default, thorough), per_document, since and until (dates), language.",
    },
    "history": {
        "type": "array",
        "maxItems": MOST_MESSAGES,
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["role", "content"],
            "properties": {
                "role": {"enum": ["user", "assistant"]},
                "content": {"type": "string", "maxLength": MOST_SAID},
            },
        },
        "description": "The chat before the query, the oldest message first: where a model expands"
        " queries, it learns from it what the query refers to.",
    },
    "query_embedding": {
        "type": ["array", "null"],
        "items": {"type": "number"},
        "minItems": 1,
        "maxItems": _MOST_DIMENSIONS,
        "description": "The query's vector, where the caller has it.",
    },
}


def closed_object(required: list[str], properties: dict[str, Schema]) -> Schema:
    """Return the schema of an object that has these properties and no others."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required,
        "properties": properties,
    }


SEARCH = closed_object(["query"], _SEARCH)
ROWS = closed_object(
    ["query"],
    _SEARCH
    | {
        "purpose": {
            "enum": ["search", "typed"],
            "default": "search",
            "description": "typed: the query is the beginning of what somebody types. It asks no"
            " model but the one of vectors, and views of the log do not count it.",
        },
        "facts": {
            "type": "boolean",
            "default": False,
            "description": "Whether the answer has facts as well, those of blend.last_search().",
        },
    },
)
_CONTEXT_LIMIT = _SEARCH["limit"] | {"default": DEFAULT_CONTEXT_ROWS}
CONTEXT = closed_object(["query"], _SEARCH | {"limit": _CONTEXT_LIMIT})
ASK = closed_object(
    ["query"],
    _SEARCH
    | {
        "answer": {
            "type": ["boolean", "null"],
            "description": "Whether to ask the answer model; null: where one is set.",
        }
    },
)
FACETS = closed_object(
    ["query", "keys"],
    _SEARCH
    | {
        "keys": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "maxItems": 100,
            "description": "Keys of metadata, or $collection, $language, $date and others.",
        },
        "buckets": {
            "type": "object",
            "default": {},
            "description": "How values of a key are put together: day, week, month, quarter or"
            ' year of dates, or rising bounds: {"price": [10, 20]}.',
        },
    },
)
DIAGNOSE = closed_object(
    ["query", "document"],
    _SEARCH | {"document": {"type": "string", "description": "Its id, source key or URI."}},
)
FEEDBACK = closed_object(
    ["search_id", "chunk_id", "grade"],
    {
        "search_id": {
            "type": "string",
            "pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
            "description": "details.search_id of a row.",
        },
        "chunk_id": {"type": "integer", "minimum": 1, "maximum": _MOST_ID},
        "grade": {
            "type": ["integer", "null"],
            "minimum": -1000,
            "maximum": 1000,
            "description": "Above 0: relevant; null takes it back.",
        },
    },
)
CLICK = closed_object(
    ["search_id", "chunk_id"],
    {name: FEEDBACK["properties"][name] for name in ("search_id", "chunk_id")},
)
# What chat clients send beside counts for nothing: the model, its settings and prompt are ask's.
CHAT: Schema = {
    "type": "object",
    "required": ["model", "messages"],
    "properties": {
        "model": {
            "type": "string",
            "description": "pgblend/COLLECTION, or pgblend for all that the caller may read.",
        },
        "messages": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1000,
            "items": {
                "type": "object",
                "required": ["role"],
                "properties": {
                    "role": {"type": "string"},
                    "content": {"type": ["string", "array", "null"], "items": {"type": "object"}},
                },
            },
            "description": "The last one of role user is the question.",
        },
        "stream": {"type": ["boolean", "null"]},
        "stream_options": {"type": ["object", "null"]},
        "max_tokens": {"type": ["integer", "null"], "minimum": 1},
        "max_completion_tokens": {"type": ["integer", "null"], "minimum": 1},
    },
}
