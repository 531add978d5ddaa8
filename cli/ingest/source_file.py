"""A file on its way into a collection."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

USERS_FILE, CHANNELS_FILE = "users.json", "channels.json"


@dataclass(frozen=True)
class SourceFile:
    """A file to read; `explicit` when it was named itself, not found in a folder."""

    path: Path
    source_key: str
    explicit: bool
    size: int
    modified: float

    def modified_at(self) -> datetime:
        """Return when the file was changed last, in UTC."""
        return datetime.fromtimestamp(self.modified, UTC)


def is_slack_export(names: Collection[str]) -> bool:
    """Whether files of these names, side by side, are a Slack export."""
    return USERS_FILE in names and CHANNELS_FILE in names
