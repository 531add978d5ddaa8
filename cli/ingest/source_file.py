"""A file on its way into a collection."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SourceFile:
    """A file to read; `explicit` when it was named itself, not found in a folder."""

    path: Path
    source_key: str
    explicit: bool
    size: int
    modified: float
