"""Documents between parser and database: in memory while they are small, else in a file."""

import tempfile
from collections.abc import Collection, Iterator, Sequence

_MEMORY_BYTES = 8 << 20


class Batch:
    """The prepared documents of one batch, by their place in `labels` and source `keys`."""

    def __init__(self, labels: list[str], keys: Sequence[str] = ()) -> None:
        self.labels, self.keys = labels, keys
        self.chunks: dict[int, int] = {}
        self.tokens = self.pictures = 0
        self.samples: list[tuple[str, int]] = []
        self._parts: list[tuple[int, int, int]] = []
        self._spool = tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES)  # noqa: SIM115

    def add(self, place: int, part: int, payload: bytes) -> None:
        """Add a part of a document, as rows for COPY."""
        self._parts.append((place, part, self._spool.write(payload)))

    def finish(self, place: int, chunks: int, tokens: int) -> None:
        """Say that a document is complete."""
        self.chunks[place] = chunks
        self.tokens += tokens

    def sample(self, pictures: int, chunk: tuple[str, int] | None) -> None:
        """Count the pictures of a document that is not stored, and keep a chunk with its tokens."""
        self.pictures += pictures
        self.samples += [chunk] if chunk else []

    def drop(self, place: int) -> None:
        """Give up a document of which parts are there."""
        self.chunks.pop(place, None)

    def parts(self, only: Collection[int] | None = None) -> Iterator[tuple[int, int, bytes]]:
        """Yield (place, part, payload) of the complete documents, or of some of them."""
        self._spool.seek(0)
        for place, part, size in self._parts:
            payload = self._spool.read(size)
            if place in self.chunks and (only is None or place in only):
                yield place, part, payload

    def close(self) -> None:
        """Give back the memory or the file."""
        self._spool.close()
