"""From a document to its chunks, each with the headings that it stands under."""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

from pgblend.cli.ingest.document import Document, Heading
from pgblend.cli.ingest.token_ends import token_ends
from pgblend.cli.tokens import count_tokens
from pgblend.plpy.split_text import split_text


@dataclass(frozen=True)
class ChunkSettings:
    """Sizes in tokens, as the collection has them."""

    chunk_size: int = 400
    overlap: int = 80
    min_size: int = 40


def split_document(document: Document, settings: ChunkSettings) -> list[dict[str, Any]]:
    """Split a document into chunks, as pgblend.ingest_document takes them."""
    chunks = split_text(
        document.text,
        count_tokens,
        settings.chunk_size,
        settings.overlap,
        settings.min_size,
        token_ends,
    )
    if document.headings:
        offsets = [heading.offset for heading in document.headings]
        paths = _heading_paths(document.headings, document.title)
        for chunk in chunks:
            own_start = chunk["start_offset"] + chunk["own_start"]
            index = bisect_right(offsets, own_start) - 1
            if index >= 0 and paths[index]:
                chunk["heading"] = paths[index]
    return chunks


def _heading_paths(headings: tuple[Heading, ...], title: str) -> list[str]:
    """Write each heading after those above it: "Install > Debian". The title is not repeated."""
    paths = []
    above: list[Heading] = []
    for heading in headings:
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(heading)
        texts = [item.text for item in above]
        paths.append(" > ".join(texts[1:] if texts[0] == title else texts))
    return paths
