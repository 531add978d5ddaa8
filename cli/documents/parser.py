"""The process that reads and splits files for a run: `python -m pgblend.cli.documents.parser`.

Parsers see whatever somebody put into a folder. So they run here, with limits of time and memory,
and without a connection to the database. The run sends files. It gets the hash of each document,
says which of them it wants, and gets their chunks.
"""

import os
import re
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import IO, Any

from pgblend.cli.base.child_process import read_frame, write_frame
from pgblend.cli.base.errors import UserError
from pgblend.cli.documents.batch import (
    Incoming,
    Stored,
    chunks_payload,
    document_payload,
    write_position,
)
from pgblend.cli.documents.dates import own_date
from pgblend.cli.documents.decode import DoubtfulEncoding
from pgblend.cli.documents.discovery import SourceFile
from pgblend.cli.documents.document import Document, ParseError
from pgblend.cli.documents.ingest_report import SourceProblem, told
from pgblend.cli.documents.language import language_finder
from pgblend.cli.documents.parse_settings import ChunkSettings, FieldMap, Limits
from pgblend.cli.documents.read_pictures import MAX_PICTURES, PICTURES_UNREAD, PictureReader
from pgblend.cli.documents.sources import Candidate, Sources

_BATCH_DOCUMENTS = 256
_BATCH_BYTES = 1 << 20
# A large document goes over in parts, so that nobody holds all of its chunks.
_PART_CHUNKS = 1000
_ANSWER_BYTES = 1 << 16
_GROUP_CHARACTERS = 4_000_000
# How Python writes an object that a library puts into its message: an address of memory.
_OBJECT = re.compile(r"'?<[^<>]* at 0x[0-9A-Fa-f]+>'?")
_NO_TIME = "it was not read: the run's time for reading is over (--time-budget)"


class _Further:
    """Reads the further parts of a document once, and keeps what they say beside their text."""

    def __init__(
        self, parts: Iterable[Document], with_pictures: Callable[[Document], Document]
    ) -> None:
        self._parts = parts
        self._with_pictures = with_pictures
        self._beside: list[Document] = []

    def __iter__(self) -> Iterator[Document]:
        for part in map(self._with_pictures, self._parts):
            self._beside.append(
                Document(
                    metadata=part.metadata,
                    pictures=part.pictures,
                    left_out=part.left_out,
                    warnings=part.warnings,
                )
            )
            yield part

    def added_to(self, first: Document) -> Document:
        """Return the first part with what was left out, or could not be read, of all."""
        every = [first, *self._beside]
        metadata = {key: value for each in reversed(every) for key, value in each.metadata.items()}
        if unread := sum(each.metadata.get(PICTURES_UNREAD, 0) for each in every):
            metadata[PICTURES_UNREAD] = unread
        return replace(
            first,
            metadata=metadata,
            pictures=tuple(each for part in every for each in part.pictures),
            left_out=tuple(dict.fromkeys(each for part in every for each in part.left_out)),
            warnings=tuple(dict.fromkeys(each for part in every for each in part.warnings)),
        )


class ParserWorker:
    """Serves one run until its input ends."""

    def __init__(
        self, requests: IO[bytes], answers: IO[bytes], note: int, config: dict[str, Any]
    ) -> None:
        self._requests = requests
        self._answers = answers
        self._note = note
        self._limits = Limits(**config["limits"])
        self._settings = ChunkSettings(**config["chunk_settings"])
        self._language_of = language_finder(config["language"], set(config["text_configurations"]))
        self._sources = Sources(
            FieldMap(config["fields"]),
            config["fingerprint"],
            self._problem,
            config["sync"],
            config["pictures"],
            None if config["roots"] is None else list(map(Path, config["roots"])),
        )
        self._dry_run = bool(config["dry_run"])
        self._pictures = PictureReader(config["pictures"], self._ask)
        self._skip: set[str] = set()
        self._processor_seconds = 0
        self._began = self._run_seconds = 0.0

    def serve(self) -> None:
        """Answer every request: {"files": …, "skip": …}, or {"wanted": …} within one."""
        while request := read_frame(self._requests):
            self._skip = set(request["skip"])
            self._began = time.process_time()
            self._run_seconds = float(request["seconds"])
            self._read([_source_file(file) for file in request["files"]])

    def _read(self, files: list[SourceFile]) -> None:
        batch: list[tuple[int, Candidate]] = []
        size = 0
        for place, file in enumerate(files):
            self._begin(place, file.label, file.size)
            for candidate in self._guarded(file):
                batch.append((place, candidate))
                size += candidate.size
                if len(batch) >= _BATCH_DOCUMENTS or size >= _BATCH_BYTES:
                    self._deliver(batch, place, size)
                    batch, size = [], 0
                    self._begin(place, file.label, file.size)
        self._deliver(batch, len(files), size)
        self._send({"done": True, "seconds": time.process_time() - self._began})

    def _guarded(self, file: SourceFile) -> Iterator[Candidate]:
        """Yield a file's candidates; whatever a library raises is a problem of the file."""
        try:
            self._check_budget()
            yield from self._sources.candidates([file])
        except (MemoryError, RecursionError, Exception) as error:
            self._problem(SourceProblem("failed", file.label, self._explain(error)))

    def _deliver(self, batch: list[tuple[int, Candidate]], completed: int, size: int) -> None:
        """Offer a batch, send what is wanted of it, and say how many files are through."""
        if batch:
            offers = [
                [
                    *(item.source_key, item.label, item.content_hash, item.grows),
                    *(item.kind, item.earlier_hashes, item.file, item.readers),
                ]
                for _, item in batch
            ]
            self._send({"offers": offers})
            answer = read_frame(self._requests)
            if answer is None:  # the run is gone
                sys.exit(1)
            wanted = [
                Incoming(index, place, candidate, Stored(*stored) if stored else None)
                for index, stored in answer["wanted"]
                for place, candidate in [batch[index]]
                if candidate.label not in self._skip
            ]
            for group in self._parsed(wanted):
                told = [each for each in group if self._succeeds(self._tell_language, each)]
                for each in told:
                    self._succeeds(self._split, each)
        self._send({"completed": completed, "bytes": size})

    def _parsed(self, wanted: list[Incoming]) -> Iterator[list[Incoming]]:
        """Parse documents, and yield them in groups whose texts may be in memory together."""
        group: list[Incoming] = []
        characters = 0
        for each in wanted:
            if self._succeeds(self._parse, each):
                group.append(each)
                characters += len(each.document.text)
            if characters >= _GROUP_CHARACTERS:
                yield group
                group, characters = [], 0
        yield group

    def _succeeds(self, stage: Callable[[Incoming], None], wanted: Incoming) -> bool:
        """Take a document through a stage; one that fails is dropped, and reported.

        All documents of a group go through a stage before the next one. Its code and its model stay
        in the processor's caches.
        """
        candidate = wanted.candidate
        self._begin(wanted.place, candidate.label, candidate.size)
        try:
            stage(wanted)
        except (MemoryError, RecursionError, Exception) as error:
            self._send({"dropped": wanted.index})
            self._problem(SourceProblem("failed", candidate.label, self._explain(error)))
            return False
        return True

    def _check_budget(self) -> None:
        """Raise where the run's time for reading is over."""
        if time.process_time() - self._began >= self._run_seconds:
            raise ParseError(_NO_TIME)

    def _parse(self, wanted: Incoming) -> None:
        self._check_budget()
        document = self._with_pictures(_parse_candidate(wanted.candidate))
        wanted.date = own_date(document)
        wanted.document = wanted.stored.without_known(document) if wanted.stored else document

    def _with_pictures(self, document: Document) -> Document:
        """Return a document with the texts of its pictures; a dry run asks no model."""
        return document if self._dry_run else self._pictures.add_texts(document)

    def _tell_language(self, wanted: Incoming) -> None:
        wanted.language = self._language_of(wanted.document.text)

    def _split(self, wanted: Incoming) -> None:
        """Split a document, and send it, or what is new of it, in parts.

        The first goes last, since metadata tell of all parts.
        """
        from pgblend.cli.documents.chunking import iterate_chunks  # not for what did not change

        document, wanted.document = wanted.document, Document()  # let go once it is sent
        further = _Further(document.further, self._with_pictures)
        chunks = iterate_chunks(replace(document, further=further), self._settings)
        first = list(islice(chunks, _PART_CHUNKS))
        count, tokens = len(first), _tokens_of(first)
        for part, some in enumerate(iter(lambda: list(islice(chunks, _PART_CHUNKS)), []), 1):
            count += len(some)
            tokens += _tokens_of(some)
            if not self._dry_run:
                payload = chunks_payload(some, wanted.index)
                self._send({"index": wanted.index, "part": part}, payload, flush=False)
        document = further.added_to(document)
        message: dict[str, Any] = {"index": wanted.index, "part": 0}
        message |= {"chunks": count, "tokens": tokens, "sample": None}
        message["pictures"] = min(len(document.pictures), MAX_PICTURES)
        if self._dry_run and first:
            message["sample"] = [first[0]["content"], first[0]["token_count"]]
        payload = b""
        if not self._dry_run:
            payload = document_payload(wanted, document, first)
        self._send(message, payload, flush=False)
        is_silent = count or wanted.stored or (self._dry_run and document.pictures)
        without_text = () if is_silent else ("there is no text in it",)
        left_out = told(wanted.candidate.label, document.left_out)
        for problem in left_out:
            self._problem(problem)
        for warning in document.warnings or (() if left_out else without_text):
            self._problem(SourceProblem("warning", wanted.candidate.label, warning))

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """Ask the run something in the middle of a document."""
        self._send(question)
        answer = read_frame(self._requests)
        if answer is None:  # the run is gone
            sys.exit(1)
        return answer

    def _begin(self, place: int, label: str, size: int) -> None:
        """Say what is read from now on, and give it its processor time."""
        seconds = self._limits.seconds_for(size)
        write_position(self._note, place, label, seconds)
        limit = int(time.process_time() + seconds) + 1
        if limit != self._processor_seconds:
            self._processor_seconds = limit
            _limit(resource.RLIMIT_CPU, limit)

    def _explain(self, error: BaseException) -> str:
        if isinstance(error, ParseError):
            return str(error)
        if isinstance(error, UserError | OSError):
            raise error
        if isinstance(error, MemoryError):
            return f"reading it takes more than {self._limits.memory_bytes >> 20:,} MB of memory"
        if isinstance(error, RecursionError):
            return "its parts nest too deep to be read"
        text = " ".join(str(error).split())[:200]
        return f"its parser failed: {type(error).__name__}{': ' if text else ''}{text}"

    def _problem(self, problem: SourceProblem) -> None:
        message = " ".join(_OBJECT.sub("what was read", problem.message).split())
        self._send({"problem": [problem.kind, problem.source, message, problem.hint]})

    def _send(self, message: dict[str, Any], payload: bytes = b"", *, flush: bool = True) -> None:
        write_frame(self._answers, message, payload, flush)


def _tokens_of(chunks: list[dict[str, Any]]) -> int:
    return sum(chunk["token_count"] for chunk in chunks)


def _parse_candidate(candidate: Candidate) -> Document:
    """Parse, and note that an encoding is not sure: once, however many parts were decoded."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DoubtfulEncoding)
        document = candidate.parse()
    doubts = dict.fromkeys(
        str(each.message) for each in caught if issubclass(each.category, DoubtfulEncoding)
    )
    return replace(document, warnings=(*document.warnings, *doubts))


def _source_file(values: list[Any]) -> SourceFile:
    path, key, explicit, size, modified, readers = values
    names = None if readers is None else tuple(readers)
    return SourceFile(Path(path), key, explicit, size, modified, names)


def _limit(kind: int, value: int) -> None:
    """Set a soft limit, within what the system allows; not every system knows every limit."""
    hard = resource.getrlimit(kind)[1]
    soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(kind, (soft, hard))


def main() -> None:
    """Read the configuration, take on the limits, and serve."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb", _ANSWER_BYTES)
    os.dup2(2, 1)  # what a library prints must not get between the frames
    config = read_frame(requests)
    if config is None:
        return
    _limit(resource.RLIMIT_AS, config["limits"]["memory_bytes"])
    _limit(resource.RLIMIT_CORE, 0)
    warnings.simplefilter("ignore", DoubtfulEncoding)  # where a file is only looked at
    try:
        ParserWorker(requests, answers, int(sys.argv[1]), config).serve()
    except BrokenPipeError:  # the run is gone
        os._exit(1)


if __name__ == "__main__":
    main()
