"""A small library in a database whose gateway and models all answer."""

import json
from collections.abc import Mapping
from typing import Any

from support.database import Database, add_documents, add_space, embed_waiting
from support.model_provider import GatewayProcess, ModelProvider

DOCUMENTS = [
    ("deploy", "", "deploy the service to production with care"),
    ("rollout", "", "a rollout of the release goes live in stages"),
    ("care", "", "handle glass with care"),
    ("wine", "", "production of wine in the valley"),
    ("sea", "", "ships sail the sea"),
    ("question", "", "how do I deploy to production"),
]
QUERY = "how do I deploy to production"
EXPANSION: dict[str, Any] = {
    "lexicalQueries": ["rollout release"],
    "vectorQueries": ["go live in stages"],
    "hyde": "A release is deployed to production in stages with care.",
    "notes": "",
}
# The words alone would find the answer, and skip the expansion.
WEAK = {"strong_signal": {"score": 1, "gap": 1}}


def fill(db: Database) -> None:
    """Store the documents with their vectors."""
    db.rows("SELECT add_collection('c')")
    add_documents(db, "c", DOCUMENTS)
    add_space(db)
    embed_waiting(db)


def use_models(db: Database, gateway: GatewayProcess, provider: ModelProvider) -> None:
    """Set the gateway and a model for each task; the chat model gives EXPANSION."""
    for name, value in {
        "gateway_url": gateway.url,
        "expansion_model": provider.chat_model,
        "rerank_model": provider.rerank_model,
    }.items():
        db.rows("SELECT set_setting(%s, to_jsonb(%s::text))", name, value)
    provider.reply = lambda _: json.dumps(EXPANSION)
    db.rows("SELECT expand_query('x', timeout_ms => 600000)")  # a first one takes long
    db.rows("SELECT embed_text('{x}', timeout_ms => 600000)")
    db.rows("SELECT rerank_passages('x', '{x}', timeout_ms => 600000)")
    provider.reset()
    provider.reply = lambda _: json.dumps(EXPANSION)


def search(db: Database, columns: str, options: Mapping[str, Any], **more: Any) -> list[Any]:
    """Run hybrid_search for QUERY."""
    query = more.pop("query", QUERY)
    named = "".join(f", {name} => %s" for name in more)
    return db.rows(
        f"SELECT {columns} FROM hybrid_search(%s, options => %s{named})",
        query,
        json.dumps(options),
        *more.values(),
    )
