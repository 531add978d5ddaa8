"""Documents of a judged set into a collection, a batch and a transaction at a time."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pgblend.cli.database import Connection, translate
from pgblend.cli.errors import UserError

_KNOWN = """
    SELECT d.source_key, d.content_hash FROM pgblend_data.document AS d
    WHERE d.collection_id = %s AND d.source_key = ANY(%s)
"""
_STORE = """
    SELECT count(stored.document_id)
    FROM unnest(%s::jsonb[]) AS payload
    CROSS JOIN LATERAL blend.ingest_document(
        collection => %s,
        source_key => payload ->> 'source_key',
        content => '',
        title => payload ->> 'title',
        metadata => payload -> 'metadata',
        language => payload ->> 'language',
        chunks => payload -> 'chunks',
        content_hash => payload ->> 'content_hash'
    ) AS stored
"""


@dataclass(frozen=True)
class JudgedDocument:
    """A document ready to be stored; `place` says where it was read."""

    place: str
    payload: dict[str, Any]


def store_new(
    connection: Connection,
    collection: str,
    collection_id: int | None,
    batch: Sequence[JudgedDocument],
) -> int:
    """Store what is not there in the same form, all in one transaction; return how many.

    The first document that cannot be stored is an error that says where it was read.
    """
    keys = [document.payload["source_key"] for document in batch]
    known: dict[str, str] = dict(connection.execute(_KNOWN, [collection_id, keys]).fetchall())
    new = [
        document
        for document in batch
        if known.get(document.payload["source_key"]) != document.payload["content_hash"]
    ]
    if not new:
        return 0
    try:
        _store(connection, collection, new)
    except Exception as error:
        if translate(error) is None or connection.closed:
            raise
        for document in new:  # which one is it?
            try:
                _store(connection, collection, [document])
            except Exception as own:
                reason = translate(own)
                if reason is None:
                    raise
                raise UserError(f"{document.place}: {reason.message}", reason.hint) from own
    return len(new)


def _store(connection: Connection, collection: str, batch: Sequence[JudgedDocument]) -> None:
    payloads = [json.dumps(document.payload, ensure_ascii=False) for document in batch]
    connection.execute(_STORE, [payloads, collection])
