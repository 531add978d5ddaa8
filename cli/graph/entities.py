"""Entities and relations that a chat model finds in passages."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pgblend.cli.base.database import Connection, fetch_rows, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.places import databases_with_documents
from pgblend.cli.embed.embedding_client import GatewayClient, GatewayUnavailableError
from pgblend.cli.embed.spaces import get_setting
from pgblend.plpy.models.outcome import storable

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
# Of a text that another database has too.
_KNOWN = """
    SELECT x.content_hash, x.result::text AS result FROM pgblend_data.entity_extraction AS x
    WHERE x.collection_id = %(collection_id)s AND x.version = %(version)s
        AND x.content_hash = ANY (%(content_hashes)s::text[])
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
    databases: Sequence[Connection],
    client: GatewayClient,
    collection_id: int,
    model: str,
) -> Extraction:
    """Ask the model about every text of a collection that it was not asked about yet.

    `databases` have the passages. Answers are kept by the
    text's hash and the version of model and prompt. So only new text costs anything. A text with
    which the model fails is told, and asked about again in the next run. After five in a row the
    rest is left. GatewayUnavailableError where the gateway is gone.
    """
    done = Extraction()
    version = f"{model} {hashlib.sha256((_PROMPT + json.dumps(_SCHEMA)).encode()).hexdigest()[:12]}"
    parameters: dict[str, Any] = {"collection_id": collection_id, "version": version}
    asking = _Asking(client, model, parameters, done)
    for database in databases:
        asking.ask_about(database, [other for other in databases if other is not database])
    done.joined = fetch_value(connection, _LINK, parameters)
    return done


@dataclass
class _Asking:
    """Asks about texts, and keeps what the model failed with."""

    client: GatewayClient
    model: str
    parameters: Mapping[str, Any]
    done: Extraction
    failed: list[str] = field(default_factory=list)
    in_a_row: int = 0

    def ask_about(self, store: Connection, others: Sequence[Connection]) -> None:
        """Have answers about all texts of a store; those that others have are taken from there."""
        while self.in_a_row < _MOST_FAILURES:
            asked = {**self.parameters, "limit": _BATCH, "failed": self.failed}
            texts = fetch_rows(store, _TEXTS, asked)
            if not texts:
                return
            known = self._known([text["content_hash"] for text in texts], others)
            for text in texts:
                content_hash = text["content_hash"]
                result = known.get(content_hash) or self._answer(text)
                if result is not None:
                    stored = {"content_hash": content_hash, "result": result}
                    store.execute(_STORE, {**self.parameters, **stored})
                elif self.in_a_row == _MOST_FAILURES:
                    return

    def _known(self, hashes: Sequence[str], others: Sequence[Connection]) -> dict[str, str]:
        asked = {**self.parameters, "content_hashes": hashes}
        rows = (row for other in others for row in fetch_rows(other, _KNOWN, asked))
        return {row["content_hash"]: row["result"] for row in rows}

    def _answer(self, text: Mapping[str, Any]) -> str | None:
        """Return what the model finds, as JSON; None where it fails."""
        try:
            result = _ask(self.client, self.model, text["title"], text["content"])
        except GatewayUnavailableError as error:
            if not error.may_be_the_text:
                raise
            problem = error.reason
        except ValueError as error:
            problem = str(error)
        else:
            self.done.asked += 1
            self.in_a_row = 0
            return json.dumps(result)
        self.done.failures.append(problem)
        self.failed.append(text["content_hash"])
        self.in_a_row += 1
        return None


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
    except (ValueError, RecursionError):
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


# The step that finds entities, as the command and an ingest run it.

_COLLECTION = "SELECT (pgblend._writable_collection(%(name)s::text)).id"


def run_entities(connection: Connection, collection: str) -> Extraction:
    """Find entities in a collection by the settings' gateway and model; UserError without them."""
    collection_id = fetch_value(connection, _COLLECTION, {"name": collection})
    url, model = (get_setting(connection, name) for name in ("gateway_url", "entity_model"))
    if not url:
        raise UserError(
            "no model gateway is set",
            hint="start one (`pgblend gateway`), name it (`pgblend config set gateway_url …`)",
        )
    if not model:
        raise UserError(
            "no model is set that finds entities",
            hint="name one: pgblend config set entity_model provider/model",
        )
    try:
        with GatewayClient(url) as client, databases_with_documents(connection) as databases:
            return extract_entities(connection, databases, client, collection_id, model)
    except GatewayUnavailableError as error:
        raise UserError(error.reason, hint=error.hint) from error
