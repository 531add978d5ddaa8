"""Files to documents in the database: parsing processes and writers at work side by side."""

import os
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from pgblend.cli.base.errors import UserError
from pgblend.cli.documents.batch import Batch, unread_hash
from pgblend.cli.documents.discovery import TAKEN, USE_ROOT, SourceFile, other_file
from pgblend.cli.documents.document_writer import Known, StoreOutcome, Stores
from pgblend.cli.documents.ingest_report import Report, SourceProblem
from pgblend.cli.documents.parse_settings import ParserConfig
from pgblend.cli.documents.parser_process import (
    Budget,
    Handlers,
    Lane,
    Offer,
    Task,
    Wanted,
    make_tasks,
)

# Starting a parsing process takes a quarter of a second: another one for so many bytes.
_BYTES_PER_PROCESS = 4_000_000
_STEP_SECONDS = 0.2
_LOOKED_UP_FILES = 1000


class Destination(NamedTuple):
    """Where documents go: `reader` looks up what is stored there, `writers` store more."""

    collection: str
    collection_id: int | None
    reader: Stores
    writers: Sequence[Stores]


class Pipeline:
    """Lanes read; each writer of the destination stores one batch at a time.

    A later writer gets its first batch when those before it are all at work.
    """

    def __init__(
        self,
        destination: Destination,
        config: ParserConfig,
        report: Report,
        advance: Callable[[int], None],
        describe: Callable[[str], dict[str, Any]],
    ) -> None:
        self._describe = describe
        self._reader = destination.reader
        self._writers: queue.LifoQueue[Stores] = queue.LifoQueue()
        for writer in reversed(destination.writers):
            self._writers.put(writer)
        self._writer_count = len(destination.writers)
        self._collection = destination.collection
        self._collection_id = destination.collection_id
        self._config = config
        self._report = report
        self._advance = advance
        self._lanes: list[Lane] = []
        self._lock = threading.Lock()
        self._new: set[str] = set()
        self._growing: set[str] = set()
        self._failure: BaseException | None = None
        self._stopped = threading.Event()

    def run(self, files: Sequence[SourceFile]) -> None:
        """Store all documents that changed; without writers only count them.

        Interrupted, it still finishes the batches that are being stored.
        """
        budget = Budget(self._config.limits.seconds_of_run([file.size for file in files]))
        tasks = deque(make_tasks(files))
        handlers = Handlers(
            self._choose,
            self._forget,
            self._hand_over,
            self._add_problem,
            self._advance_by,
            self._describe,
        )
        config = self._config.as_json()
        self._lanes = [Lane(config, handlers, budget) for _ in range(process_count(files))]
        with ThreadPoolExecutor(max_workers=max(self._writer_count, 1)) as self._executor:
            threads = [
                threading.Thread(target=self._work, args=[lane, tasks], daemon=True)
                for lane in self._lanes
            ]
            try:
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            except BaseException:
                self._stop()
                for thread in threads:
                    thread.join()
                raise
        if self._failure is not None:
            raise self._failure

    def without_stored(self, files: Sequence[SourceFile]) -> list[SourceFile]:
        """Leave out, unread, the files whose document has the file's time; count them."""
        rest: list[SourceFile] = []
        for start in range(0, len(files), _LOOKED_UP_FILES):
            some = files[start : start + _LOOKED_UP_FILES]
            sources = [(file.source_key, file.modified_at()) for file in some]
            stored = self._reader.stored_places(
                self._collection_id, sources, bool(self._config.pictures)
            )
            for place, file in enumerate(some):
                if place in stored:
                    self._report.count("unchanged")
                    self._advance(file.size)
                else:
                    rest.append(file)
        return rest

    def _work(self, lane: Lane, tasks: deque[Task]) -> None:
        """Run tasks until there are none, in a thread of the lane's own."""
        try:
            while not self._stopped.is_set():
                try:
                    task = tasks.popleft()
                except IndexError:
                    break
                lane.run(task)
        except BaseException as error:
            self._fail(error)
        finally:
            lane.close()

    def _stop(self) -> None:
        self._stopped.set()
        for lane in self._lanes:
            lane.stop()

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self._failure = self._failure or error
        self._stop()

    def _choose(self, offers: Sequence[Offer]) -> list[Wanted]:
        """Return what is new or changed; of what grows, also the messages that are stored."""
        found = self._reader.look_up(
            self._collection_id, [(offer.source_key, offer.label) for offer in offers]
        )
        wanted: list[Wanted] = []
        growing = [
            offer.source_key
            for offer, known in zip(offers, found, strict=True)
            if offer.grows and known.content_hash not in (None, offer.content_hash)
        ]
        messages = self._reader.stored_messages(self._collection_id, growing) if growing else {}
        unchanged: list[tuple[Offer, Known]] = []
        with self._lock:
            for place, (offer, known) in enumerate(zip(offers, found, strict=True)):
                if known.owner == "other":
                    message = f"another source of this run has the key {offer.source_key!r} already"
                    self._report.add(SourceProblem("failed", offer.label, message))
                elif known.owner == "self":
                    continue  # stored before its file's parser died
                elif known.content_hash in self._hashes_now(offer):
                    unchanged.append((offer, known))
                elif offer.file and (other := other_file(known.uri, Path(offer.file))):
                    message = TAKEN.format(other, offer.file, offer.source_key)
                    self._report.add(SourceProblem("failed", offer.label, message, USE_ROOT))
                else:
                    stored = messages.get(offer.source_key)
                    wanted.append((place, stored))
                    if stored:
                        self._growing.add(offer.label)
                    if known.content_hash is None:
                        self._new.add(offer.label)
                    elif not stored and known.content_hash in offer.earlier_hashes:
                        self._report.read_again(offer.kind)
        self._place(unchanged)
        return wanted

    def _place(self, unchanged: Sequence[tuple[Offer, Known]]) -> None:
        """Give documents whose text did not change the readers that their sources name now."""
        named = [
            (offer, known, offer.readers) for offer, known in unchanged if offer.readers is not None
        ]
        placed: Sequence[int | UserError | None] = [known.compartment for _, known, _ in named]
        if named and self._writer_count:
            documents = [(offer.source_key, readers) for offer, _, readers in named]
            placed = self._reader.place(self._collection_id, documents)
        with self._lock:
            for _ in range(len(unchanged) - len(named)):
                self._report.count("unchanged")
            for (offer, known, _), place in zip(named, placed, strict=True):
                if isinstance(place, UserError):
                    problem = SourceProblem("failed", offer.label, place.message, place.hint or "")
                    self._report.add(problem)
                else:
                    is_same = place == known.compartment
                    self._report.count("unchanged" if is_same else "updated")

    def _hashes_now(self, offer: Offer) -> set[str]:
        """Return the hashes of a document that needs no reading: nothing can read its pictures."""
        unread = set() if self._config.pictures else {unread_hash(offer.content_hash)}
        return unread | {offer.content_hash}

    def check_keys(self, files: Sequence[SourceFile]) -> None:
        """Refuse files that would take the place of others, which are still where they were."""
        for start in range(0, len(files), _LOOKED_UP_FILES):
            some = {file.source_key: file.path for file in files[start : start + _LOOKED_UP_FILES]}
            for key, uri in self._reader.stored_uris(self._collection_id, [*some]).items():
                if other := other_file(uri, some[key]):
                    raise UserError(TAKEN.format(other, some[key], key), hint=USE_ROOT)

    def _forget(self, offers: Sequence[Offer]) -> None:
        self._reader.forget([offer.source_key for offer in offers])

    def _hand_over(self, batch: Batch) -> None:
        """Give a batch to a free writer, and wait for one."""
        with self._lock:
            self._report.tokens += batch.tokens
            self._report.pictures += batch.pictures
            self._report.add_samples(batch.samples)
        if not self._writer_count or not batch.chunks:
            self._count_only(batch)
            return
        while not self._stopped.is_set():
            try:
                writer = self._writers.get(timeout=_STEP_SECONDS)
            except queue.Empty:
                continue
            self._executor.submit(self._store, writer, batch)
            return

    def _count_only(self, batch: Batch) -> None:
        with self._lock:
            for place, chunks in batch.chunks.items():
                label = batch.labels[place]
                status = "added" if label in self._new else "replaced"
                if label in self._growing:
                    status = "appended" if chunks else "unchanged"
                self._report.count(status, chunks)
                self._new.discard(label)
        batch.close()

    def _store(self, writer: Stores, batch: Batch) -> None:
        try:
            outcomes = writer.store(self._collection_id, self._collection, batch)
            with self._lock:
                for outcome in outcomes:
                    self._new.discard(outcome.label)
                    if outcome.error:
                        self._report.add(_refused(outcome))
                    else:
                        self._report.count(outcome.status, outcome.chunks)
        except BaseException as error:
            self._fail(error)
        finally:
            batch.close()
            self._writers.put(writer)

    def _add_problem(self, problem: SourceProblem) -> None:
        with self._lock:
            self._report.add(problem)

    def _advance_by(self, size: int) -> None:
        with self._lock:
            self._advance(size)


def _refused(outcome: StoreOutcome) -> SourceProblem:
    return SourceProblem("failed", outcome.label, outcome.error, outcome.hint)


def process_count(files: Sequence[SourceFile]) -> int:
    """Return how many parsing processes are worth their start: one a core at most."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    size = sum(file.size for file in files)
    return max(1, min(cores or 1, len(files), 1 + size // _BYTES_PER_PROCESS))
