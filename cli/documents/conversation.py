"""What an export of messages is made of: conversations, each one document."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from pgblend.cli.documents.document import Contents, Document, Message, ParseError, storable_value

_SAMPLE = 4000


@dataclass(frozen=True)
class Conversation:
    """A channel, an issue or a mail thread: its key within the export, and what reads it.

    Its `identity` is the same in every export. `contents` are the files of its messages.
    """

    key: str
    identity: str
    digest: str
    size: int
    read: Callable[[], Document]
    contents: Callable[[], Contents] = Contents


def conversation(
    key: str,
    identity: str,
    title: str,
    uri: str,
    metadata: dict[str, Any],
    messages: list[Message],
) -> Conversation:
    """Make a conversation of messages that are in memory already."""
    document = Document(
        title=title,
        text=sample_text(messages),
        uri=uri,
        metadata=storable_value(metadata),
        messages=tuple(messages),
    )
    about = [title, metadata, [asdict(message) for message in messages]]
    data = json.dumps(about, sort_keys=True, default=str).encode()
    digest = hashlib.sha256(data).hexdigest()
    return Conversation(key, identity, digest, len(data), lambda: document)


def broken_conversation(key: str, identity: str, error: ParseError) -> Conversation:
    """Make a conversation that cannot be read; what is stored of it stays."""

    def fail() -> Document:
        raise error

    return Conversation(key, identity, f"broken: {error}", 0, fail)


def sample_text(messages: list[Message]) -> str:
    """Return enough of the messages to tell their language."""
    parts: list[str] = []
    length = 0
    for message in messages:
        parts.append(message.text)
        length += len(message.text)
        if length > _SAMPLE:
            break
    return "\n".join(parts)
