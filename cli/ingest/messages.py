"""Chunks of messages: those of one context, in order, as many as fit."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from pgblend.cli.ingest.document import Message
from pgblend.cli.ingest.token_ends import token_ends
from pgblend.cli.tokens import count_tokens
from pgblend.plpy.lexical.split import split_text

_GAP = "\n\n"
_GAP_TOKENS = 2


def group_messages(
    messages: Sequence[Message], chunk_size: int, overlap: int, min_size: int
) -> list[dict[str, Any]]:
    """Return chunks as blend.ingest_document takes them; messages keep their order.

    Consecutive messages of one context share a chunk up to `chunk_size` tokens. One that is larger
    has chunks of its own, with overlap. A chunk's metadata name its authors, and of each message
    id, author, time and url; what the messages' own metadata say is collected.
    """
    chunks: list[dict[str, Any]] = []
    group: list[Message] = []
    texts: list[str] = []
    tokens = 0

    def close() -> None:
        nonlocal tokens
        if group:
            chunks.append(_chunk(_GAP.join(texts), group))
            group.clear()
            texts.clear()
            tokens = 0

    for message in messages:
        text = message_text(message)
        if not text:
            continue
        count = count_tokens(text)
        fits = tokens + _GAP_TOKENS + count <= chunk_size
        if group and (message.context != group[-1].context or not fits):
            close()
        if count > chunk_size:
            chunks.extend(_split(message, text, chunk_size, overlap, min_size))
            continue
        group.append(message)
        texts.append(text)
        tokens += count + (_GAP_TOKENS if tokens else 0)
    close()
    return chunks


def message_text(message: Message) -> str:
    """Write a message after its author and time; empty where it says nothing."""
    text = message.text.strip()
    if not text:
        return ""
    time = message.time[:16].replace("T", " ")
    about = f"{message.author} ({time})".strip() if time else message.author
    return f"{about}: {text}" if about else text


def _split(
    message: Message, text: str, chunk_size: int, overlap: int, min_size: int
) -> Iterator[dict[str, Any]]:
    """Split a message that is too large for one chunk."""
    ends = token_ends(text)
    for part in split_text(text, count_tokens, chunk_size, overlap, min_size, ends):
        chunk = _chunk(part["content"], [message])
        yield chunk | {"own_start": part["own_start"], "token_count": part["token_count"]}


def _chunk(content: str, group: Sequence[Message]) -> dict[str, Any]:
    metadata = _collected(group)
    authors = list(dict.fromkeys(message.author for message in group if message.author))
    times = [message.time for message in group if message.time]
    metadata["authors"] = authors
    if times:
        metadata["date"] = min(times)
    metadata["messages"] = [
        {
            key: value
            for key, value in (
                ("id", message.id),
                ("author", message.author),
                ("time", message.time),
                ("url", message.url),
            )
            if value
        }
        for message in group
    ]
    return {"content": content, "token_count": count_tokens(content), "metadata": metadata}


def _collected(group: Sequence[Message]) -> dict[str, Any]:
    """Merge the messages' metadata: one value stays itself, several become a list."""
    found: dict[str, dict[str, Any]] = {}
    lists = set()
    for message in group:
        for key, value in message.metadata.items():
            if isinstance(value, list):
                lists.add(key)
            for item in value if isinstance(value, list) else [value]:
                found.setdefault(key, {})[json.dumps(item)] = item
    return {
        key: items if key in lists or len(items) > 1 else items[0]
        for key, items in ((key, list(values.values())) for key, values in found.items())
    }
