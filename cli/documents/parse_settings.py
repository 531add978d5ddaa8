"""What a run asks of its parsing processes: sizes, fields, limits."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

_RUN_SECONDS = 3600.0
_RUN_SECONDS_A_FILE = 0.5
# Part of a document -> the fields that are tried when the map names none.
DEFAULT_FIELDS = {
    "text": ("text", "content", "body"),
    "title": ("title", "name"),
    "id": ("id", "_id"),
    "uri": ("uri", "url"),
    "readers": (),  # a field of this name may be anything
}


@dataclass(frozen=True)
class ChunkSettings:
    """Sizes in tokens, as the collection has them."""

    chunk_size: int = 400
    overlap: int = 80
    min_size: int = 40


@dataclass(frozen=True)
class FieldMap:
    """Which fields of a record are its text, title, id, URI and readers; the rest is metadata."""

    names: Mapping[str, str] = field(default_factory=dict)

    def find(self, part: str, record: Mapping[str, Any]) -> str | None:
        """Return the name of the field that holds this part; None where the record has none."""
        if part in self.names:
            return self.names[part]
        return next((name for name in DEFAULT_FIELDS[part] if name in record), None)

    def fingerprint(self) -> str:
        """Return a text that differs when the map does."""
        return json.dumps(dict(self.names), sort_keys=True)


@dataclass(frozen=True)
class Limits:
    """`seconds` are of the processor, and more for large files; memory is address space."""

    memory_bytes: int = 3 << 30
    seconds: float = 60
    seconds_per_megabyte: float = 4
    run_seconds: float | None = None  # of all files together; None: as many as they may want

    def seconds_for(self, size: int) -> float:
        """Return the seconds for a file of so many bytes."""
        return self.seconds + self.seconds_per_megabyte * size / 1_000_000

    def seconds_of_run(self, sizes: Sequence[int]) -> float:
        """Return the seconds for all files of a run: a folder of slow ones holds no core for days.

        An honest document takes a hundredth of what one may take.
        """
        if self.run_seconds is not None:
            return self.run_seconds
        by_size = self.seconds_per_megabyte * sum(sizes) / 1_000_000
        return _RUN_SECONDS + _RUN_SECONDS_A_FILE * len(sizes) + by_size


@dataclass(frozen=True)
class ParserConfig:
    """What parsing processes need to know; what decides about their results is hashed.

    `pictures` says how these are read, as PictureReader takes it; `roots` below which folders all
    files are, None where links are followed (see open_file).
    """

    chunk_settings: ChunkSettings
    language: str
    text_configurations: Sequence[str]
    fields: dict[str, str] = field(default_factory=dict)
    dry_run: bool = False
    sync: bool = False
    limits: Limits = field(default_factory=Limits)
    pictures: str = ""
    roots: Sequence[str] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it as a parsing process reads it."""
        return asdict(self) | {"fingerprint": f"{self.chunk_settings!r} {self.language}"}
