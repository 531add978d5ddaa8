"""Entities and relations that a chat model finds in passages."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pgblend.cli.database import Connection, fetch_rows, fetch_value
from pgblend.cli.ingest.gateway_client import GatewayClient, GatewayUnavailableError
from pgblend.plpy.models.answer import storable

_BATCH = 20
_LONGEST_TEXT = 12_000
_MOST_FAILURES = 5
_PROMPT = (
    "You find entities in a passage: people, organisations, places, works, events, products and "
    "concepts that have a name, and the relations between them that the passage states. Use names "
    "as they stand there, in full. Types are one lower-case English word: person, organisation, "
    "place, work, event, product, concept. A relation's type is a short verb in lower case, such "
    "as directed, born_in, part_of. Say nothing that the passage does not."
)
_TEXT = {"type": "string"}


def _objects(**properties: Any) -> dict[str, Any]:
    return {
        "type": "array",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": list(properties),
            "properties": properties,
        },
    }


_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["entities", "relations"],
    "properties": {
        "entities": _objects(name=_TEXT, type=_TEXT, description=_TEXT),
        "relations": _objects(source=_TEXT, target=_TEXT, type=_TEXT),
    },
}
_FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "entities", "strict": True, "schema": _SCHEMA},
}
# Each text once.
_TEXTS = """
    SELECT DISTINCT ON (c.content_hash) c.content_hash, d.title, c.content
    FROM pgblend_data.chunk AS c
    JOIN pgblend_data.document AS d ON d.id = c.document_id
    WHERE c.collection_id = %(collection_id)s
        AND btrim(c.content) <> ''
        AND c.content_hash <> ALL (%(failed)s::text[])
        AND NOT EXISTS (
            SELECT FROM pgblend_data.entity_extraction AS x
            WHERE x.collection_id = c.collection_id AND x.content_hash = c.content_hash
                AND x.version = %(version)s)
    ORDER BY c.content_hash, c.id
    LIMIT %(limit)s
"""
# One that is there already stays: another session asked too.
_STORE = """
    INSERT INTO pgblend_data.entity_extraction (collection_id, content_hash, version, result)
    VALUES (%(collection_id)s, %(content_hash)s, %(version)s, %(result)s::jsonb)
    ON CONFLICT DO NOTHING
"""
_LINK = "SELECT pgblend._link_entities(%(collection_id)s::bigint, %(version)s::text)"


@dataclass
class Extraction:
    """What became of it: texts that the model was asked about, passages joined, failures."""

    asked: int = 0
    joined: int = 0
    failures: list[str] = field(default_factory=list)


def extract_entities(
    connection: Connection,
    client: GatewayClient,
    collection_id: int,
    model: str,
    advance: Callable[[int], None] = lambda _: None,
) -> Extraction:
    """Ask the model about every text of a collection that it was not asked about yet.

    Answers are kept by the text's hash and the version of model and prompt, so that only new text
    costs anything. A text with which the model fails is told, and asked about again in the next
    run; after five in a row the rest is left. GatewayUnavailableError where the gateway is gone.
    """
    done = Extraction()
    version = f"{model} {hashlib.sha256((_PROMPT + json.dumps(_SCHEMA)).encode()).hexdigest()[:12]}"
    parameters: dict[str, Any] = {"collection_id": collection_id, "version": version}
    failed: list[str] = []
    in_a_row = 0
    while in_a_row < _MOST_FAILURES:
        asked = parameters | {"limit": _BATCH, "failed": failed}
        texts = fetch_rows(connection, _TEXTS, asked)
        if not texts:
            break
        for text in texts:
            try:
                result = _ask(client, model, text["title"], text["content"])
            except GatewayUnavailableError as error:
                if not error.may_be_the_text:
                    raise
                problem: str | None = error.reason
            except ValueError as error:
                problem = str(error)
            else:
                problem = None
                stored = {"content_hash": text["content_hash"], "result": json.dumps(result)}
                connection.execute(_STORE, parameters | stored)
                done.asked += 1
                in_a_row = 0
            advance(1)
            if problem is not None:
                done.failures.append(problem)
                failed.append(text["content_hash"])
                in_a_row += 1
                if in_a_row == _MOST_FAILURES:
                    break
    done.joined = fetch_value(connection, _LINK, parameters)
    return done


def _ask(client: GatewayClient, model: str, title: str, content: str) -> dict[str, Any]:
    """Return what the model finds; ValueError where its answer is none."""
    text = f"{title}\n\n{content}"[:_LONGEST_TEXT]
    messages = [{"role": "system", "content": _PROMPT}, {"role": "user", "content": text}]
    return checked_answer(client.chat(model, messages, _FORMAT, "pgblend:entity"))


def checked_answer(answer: str) -> dict[str, Any]:
    """Return a model's answer held to the schema; ValueError says what is wrong with it."""
    text = answer.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
    try:
        found = storable(json.loads(text))
    except ValueError:
        raise ValueError("the model's answer is not JSON") from None
    if not isinstance(found, dict):
        raise ValueError("the model's answer is no JSON object")
    result: dict[str, Any] = {}
    for name, required in (("entities", ("name", "type")), ("relations", _RELATION)):
        items = found.get(name, [])
        if not isinstance(items, list) or not all(
            isinstance(item, dict) and all(isinstance(item.get(key), str) for key in required)
            for item in items
        ):
            raise ValueError(f"{name!r} in the model's answer are not objects with {required}")
        kept = (*required, *(("description",) if name == "entities" else ()))
        result[name] = [
            {key: item[key] for key in kept if isinstance(item.get(key), str)} for item in items
        ]
    return result


_RELATION = ("source", "target", "type")
