"""Files within files: what is attached to a mail, or lies in an archive."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

EMAIL, OUTLOOK, ZIP = "message/rfc822", "application/vnd.ms-outlook", "application/zip"
# Mails within mails, archives within archives: deeper ones are named, not read.
MOST_DEPTH = 5
_READERS = {EMAIL: "parse_mail", OUTLOOK: "parse_outlook", ZIP: "archive"}


@dataclass(frozen=True)
class Attached:
    """A file within another one: its name, which no other there has, and its bytes."""

    name: str
    data: bytes


@dataclass(frozen=True)
class Contents:
    """The files within a mail or an archive, and what their metadata say of it."""

    about: dict[str, Any] = field(default_factory=dict)
    files: Iterable[Attached] = ()


def contents(media_type: str, data: bytes) -> Contents:
    """Return what is within a file; ParseError where it cannot be read."""
    module = _READERS.get(media_type)
    if module is None:
        return Contents()
    read: Callable[[bytes], Contents] = import_module(f"pgblend.cli.ingest.{module}").contents
    return read(data)
