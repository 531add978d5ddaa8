"""Files to documents in the database: batches, one transaction each."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from pgblend.cli.database import Connection
from pgblend.cli.ingest.chunking import ChunkSettings, split_document
from pgblend.cli.ingest.document import ParseError
from pgblend.cli.ingest.report import Problem, Report
from pgblend.cli.ingest.sources import Candidate
from pgblend.cli.ingest.store import Outcome, Prepared, look_up, prepare, store

_BATCH_DOCUMENTS = 200
_BATCH_BYTES = 512 << 10


class Pipeline:
    """Reads and splits a batch while those before it are being stored.

    `reader` looks up what is stored; each of the `writers` stores one batch at a time.
    """

    def __init__(
        self,
        reader: Connection,
        writers: Sequence[Connection],
        collection: str,
        collection_id: int | None,
        settings: ChunkSettings,
        language_of: Callable[[str], str | None],
        report: Report,
        advance: Callable[[int], None],
    ) -> None:
        self._reader = reader
        self._writers = writers
        self._pending: deque[Future[list[Outcome]]] = deque()
        self._collection = collection
        self._collection_id = collection_id
        self._settings = settings
        self._language_of = language_of
        self._report = report
        self._advance = advance

    def run(self, candidates: Iterable[Candidate]) -> None:
        """Store all candidates that changed; without writers only count them.

        Interrupted, it still finishes the batches that are being stored.
        """
        free = deque(self._writers)
        with ThreadPoolExecutor(max_workers=max(len(self._writers), 1)) as executor:
            try:
                for batch in _batches(candidates):
                    prepared = self._prepare(batch)
                    if prepared and self._writers:
                        while len(self._pending) >= len(self._writers):
                            self._finish_one()
                        # Batches are finished in order, so the first writer is the free one.
                        writer = free.popleft()
                        free.append(writer)
                        self._pending.append(
                            executor.submit(store, writer, self._collection, prepared)
                        )
                    self._advance(sum(candidate.size for candidate in batch))
            finally:
                while self._pending:
                    self._finish_one()

    def _prepare(self, batch: list[Candidate]) -> list[Prepared]:
        """Parse and split the candidates that changed."""
        keys = [candidate.source_key for candidate in batch]
        hashes, seen = look_up(self._reader, self._collection_id, keys)
        prepared = []
        for candidate in batch:
            key = candidate.source_key
            if key in seen:
                self._fail(candidate, f"another source of this run has the key {key!r} already")
                continue
            seen.add(key)
            if hashes[key] == candidate.content_hash:
                self._report.count("unchanged")
                continue
            document = self._prepare_one(candidate, is_new=hashes[key] is None)
            if document:
                prepared.append(document)
        return prepared

    def _prepare_one(self, candidate: Candidate, is_new: bool) -> Prepared | None:
        try:
            document = candidate.parse()
        except ParseError as error:
            self._fail(candidate, str(error))
            return None
        chunks = split_document(document, self._settings)
        for warning in document.warnings:
            self._report.add(Problem("warning", candidate.label, warning))
        if not chunks and not document.warnings:
            self._report.add(Problem("warning", candidate.label, "there is no text in it"))
        self._report.tokens += sum(chunk["token_count"] for chunk in chunks)
        if not self._writers:
            self._report.count("added" if is_new else "replaced", len(chunks))
        return prepare(candidate, document, chunks, self._language_of(document.text))

    def _finish_one(self) -> None:
        """Wait for the oldest batch and count what became of it."""
        outcomes = self._pending[0].result()  # stays pending when Ctrl-C ends the wait
        self._pending.popleft()
        for outcome in outcomes:
            if outcome.error:
                self._report.add(Problem("failed", outcome.label, outcome.error))
            else:
                self._report.count(outcome.status, outcome.chunks)

    def _fail(self, candidate: Candidate, message: str) -> None:
        self._report.add(Problem("failed", candidate.label, message))


def _batches(candidates: Iterable[Candidate]) -> Iterator[list[Candidate]]:
    """Group candidates, so that neither documents nor bytes of a batch grow without bound."""
    batch: list[Candidate] = []
    size = 0
    for candidate in candidates:
        batch.append(candidate)
        size += candidate.size
        if len(batch) >= _BATCH_DOCUMENTS or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
