"""Chunks a second by stage: `python tests/benchmarks/bench_ingest.py DATABASE_URL PATH…`.

Reading, splitting and writing out are processor time of one process, so that other work on the
machine does not count; storing is processor time of the server's process, which must be on this
machine. Makes a collection and removes it.
"""

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import figures
from timing import backend_ms

from pgblend.cli.base.database import Connection, connect
from pgblend.cli.documents.batch import Batch, Incoming, document_payload
from pgblend.cli.documents.chunking import split_document
from pgblend.cli.documents.discovery import discover
from pgblend.cli.documents.document import ParseError
from pgblend.cli.documents.document_writer import store, text_configurations
from pgblend.cli.documents.language import language_finder
from pgblend.cli.documents.parse_settings import ChunkSettings, FieldMap
from pgblend.cli.documents.sources import Sources

COLLECTION = "bench_ingest"
BATCH = 200


def main() -> None:
    """Run the stages one after another and print a line for each."""
    url, *paths = sys.argv[1:]
    with connect(url) as connection:
        language_of = language_finder("auto", text_configurations(connection))
        language_of("x" * 100)  # loads the model
        payloads, chunk_count, seconds = payloads_of([Path(path) for path in paths], language_of)
        seconds["store and index"] = _store(connection, payloads)
    case = f"{len(payloads):,} documents, {chunk_count:,} chunks"
    figures.write(
        "ingest",
        [
            {"case": case, "system": stage, "chunks_a_second": chunk_count / max(spent, 1e-9)}
            for stage, spent in seconds.items()
        ],
    )


def payloads_of(
    paths: Sequence[Path], language_of: Callable[[str], str] = lambda _: "english"
) -> tuple[list[bytes], int, dict[str, float]]:
    """Return what would be stored of files, its number of chunks, and seconds by stage."""
    files, _ = discover(paths)
    sources = Sources(FieldMap(), "bench", lambda _: None)
    seconds = dict.fromkeys(("read and hash", "parse", "split", "language", "write out"), 0.0)

    def timed(stage: str, work: Callable[[], Any]) -> Any:
        start = time.process_time()
        try:
            return work()
        finally:
            seconds[stage] += time.process_time() - start

    candidates = iter(sources.candidates(files))
    payloads: list[bytes] = []
    chunk_count = 0
    while candidate := timed("read and hash", partial(next, candidates, None)):
        try:
            document = timed("parse", candidate.parse)
        except ParseError:
            continue
        chunks = timed("split", partial(split_document, document, ChunkSettings()))
        language = timed("language", partial(language_of, document.text))
        place = len(payloads) % BATCH
        incoming = Incoming(place, 0, candidate, None, language=language)
        write = partial(document_payload, incoming, document, chunks)
        payloads.append(timed("write out", write))
        chunk_count += len(chunks)
    return payloads, chunk_count, seconds


def batch_of(payloads: Sequence[bytes]) -> Batch:
    """Return documents as the batch that `store` takes."""
    batch = Batch([str(place) for place in range(len(payloads))])
    for place, payload in enumerate(payloads):
        batch.add(place, 0, payload)
        batch.finish(place, 0, 0)
    return batch


def _store(connection: Connection, payloads: list[bytes]) -> float:
    """Store everything through one connection; return the processor time that it took."""
    connection.execute("SELECT blend.add_collection(%s)", [COLLECTION])
    start = backend_ms(connection)
    try:
        for first in range(0, len(payloads), BATCH):
            store(connection, COLLECTION, batch_of(payloads[first : first + BATCH]))
        return (backend_ms(connection) - start) / 1000
    finally:
        connection.execute("SELECT blend.remove_collection(%s)", [COLLECTION])


if __name__ == "__main__":
    main()
