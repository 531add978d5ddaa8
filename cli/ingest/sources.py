"""From files to candidates: what could be stored, with its hash, before anything is chunked."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from pgblend.cli.extras import how_to_install, missing
from pgblend.cli.ingest.conversation import Conversation
from pgblend.cli.ingest.decode import decode
from pgblend.cli.ingest.document import Document, ParseError, UnsupportedFormatError, storable_text
from pgblend.cli.ingest.formats import (
    EXPORT_TYPES,
    FIRST_VERSION,
    HTML,
    IMAGE,
    JSON,
    JSONL,
    LINEAR,
    MBOX,
    PREFIXES,
    SLACK,
    SNIFFED_BYTES,
    Reader,
    media_type_of,
    parse_file,
    reader_of,
)
from pgblend.cli.ingest.html_pictures import digest_of_files
from pgblend.cli.ingest.links import open_file, real_paths
from pgblend.cli.ingest.parse_linear import find_issues, is_issue, parse_linear
from pgblend.cli.ingest.parse_slack import is_export_archive, open_export, parse_slack
from pgblend.cli.ingest.records import (
    RawRecord,
    bounded_lines,
    lines_of,
    load_json,
    record_document,
    record_key,
    records_of,
)
from pgblend.cli.ingest.report import Problem
from pgblend.cli.ingest.settings import FieldMap
from pgblend.cli.ingest.source_file import SourceFile

# A file is parsed in memory; JSONL alone is read line by line.
MAX_FILE_BYTES = 256 << 20
_RECORDS = Reader("JSON", ((FIRST_VERSION, ""),))


@dataclass(frozen=True)
class Candidate:
    """One document to be: `content_hash` tells whether it changed, `parse` reads it.

    One that `grows` gets the messages that it lacks; the others are replaced. What earlier versions
    read of the same bytes has one of `earlier_hashes`.
    """

    source_key: str
    label: str
    content_hash: str
    size: int
    modified_at: datetime
    parse: Callable[[], Document]
    grows: bool = False
    kind: str = ""
    earlier_hashes: tuple[str, ...] = ()


class Sources:
    """Reads files one after another; problems are handed to `on_problem`.

    With `roots` (see open_file) only what is below them.
    """

    def __init__(
        self,
        fields: FieldMap,
        fingerprint: str,
        on_problem: Callable[[Problem], None],
        sync: bool = False,
        pictures: str = "",
        roots: Sequence[Path] | None = None,
    ) -> None:
        self._pictures = pictures
        self._roots = roots
        self._sync = sync
        self._fields = fields
        self._fingerprint = fingerprint
        self._on_problem = on_problem

    def candidates(self, files: Iterable[SourceFile]) -> Iterator[Candidate]:
        """Yield the documents of all files; what cannot be read is reported and left out."""
        for file in files:
            try:
                yield from self._candidates_of(file)
            except UnsupportedFormatError as error:
                kind = "failed" if file.explicit else "skipped"
                self._on_problem(Problem(kind, file.label, str(error)))
            except ParseError as error:
                self._on_problem(Problem("failed", file.label, str(error)))
            except OSError as error:
                reason = error.strerror or str(error)
                self._on_problem(Problem("failed", file.label, f"cannot be read: {reason}"))

    def _candidates_of(self, file: SourceFile) -> Iterator[Candidate]:
        # The folder with its links followed: that of the file, and of the pictures beside it.
        (folder,) = real_paths([file.path.parent])
        path = folder / file.path.name
        if path.is_dir() or (
            path.suffix.lower() == ".zip" and is_export_archive(path, self._roots)
        ):
            with open_export(path, self._roots) as export:
                yield from self._conversations(file, SLACK, parse_slack(export))
            return
        if not path.is_file():
            raise UnsupportedFormatError("unsupported format: not a regular file")
        with open_file(path, self._roots) as stream:
            media_type = media_type_of(path, stream.read(SNIFFED_BYTES))
            stream.seek(0)
            if media_type == IMAGE and not self._pictures:
                raise UnsupportedFormatError(
                    "a picture, and nothing reads pictures: name a model (pgblend config set "
                    "vision_model NAME, with a gateway), or install tesseract"
                    + (f"; and {how_to_install('documents')}" if missing("documents") else "")
                )
            if media_type == JSONL:
                yield from self._records(file, lines_of(bounded_lines(stream)))
                return
            if media_type == MBOX:
                from pgblend.cli.ingest.parse_mbox import parse_mbox  # mail takes its time

                yield from self._conversations(file, MBOX, parse_mbox(path, self._roots))
                return
            if file.size > MAX_FILE_BYTES:
                raise ParseError(f"larger than {MAX_FILE_BYTES >> 20} MB: split it, or use JSONL")
            data = stream.read()
        if media_type == JSON:
            value = load_json(decode(data))
            entries = find_issues(value)
            if entries is not None:
                issues = parse_linear(self._issues(file, entries))
                yield from self._conversations(file, LINEAR, issues)
                return
            records = records_of(value)
            if records is not None:
                yield from self._records(file, iter(records))
                return
        uri = storable_text(file.path.as_uri())
        size, digest = len(data), hashlib.sha256(data).hexdigest()
        how = self._pictures_of(media_type, data, folder)
        held = [data]
        del data  # parsed, the bytes of a large file are let go
        yield Candidate(
            source_key=file.source_key,
            label=file.label,
            size=size,
            modified_at=file.modified_at(),
            parse=lambda: parse_file(held.pop(), media_type, file.source_key, uri, folder),
            **self._hashes(reader_of(media_type), how, digest),
        )

    def _pictures_of(self, media_type: str, data: bytes, folder: Path) -> str:
        """Say what else the text depends on: what reads a picture, the pictures of a page."""
        if media_type == IMAGE:
            return self._pictures
        return digest_of_files(data, folder) if media_type == HTML and self._pictures else ""

    def _issues(self, file: SourceFile, entries: list[Any]) -> Iterator[dict[str, Any]]:
        """Yield the issues of a Linear export; an entry that is none is reported by its place."""
        for place, entry in enumerate(entries, 1):
            if is_issue(entry):
                yield entry
            else:
                reason = "no issue of Linear: expected an identifier such as ENG-12 and a title"
                self._on_problem(Problem("failed", f"{file.label}:{place}", reason))

    def _records(self, file: SourceFile, records: Iterator[RawRecord]) -> Iterator[Candidate]:
        """Yield a candidate for each record; a broken one is reported by its place."""
        uri, how = storable_text(file.path.as_uri()), self._fields.fingerprint()
        for record in records:
            try:
                yield self._record(file, record, uri, how)
            except ParseError as error:
                self._on_problem(Problem("failed", f"{file.label}:{record.place}", str(error)))

    def _record(self, file: SourceFile, record: RawRecord, uri: str, how: str) -> Candidate:
        value = record.value()
        key = record_key(value, self._fields, f"{file.source_key}#{record.place}")
        return Candidate(
            source_key=key,
            label=f"{file.label}:{record.place}",
            size=record.size(),
            modified_at=file.modified_at(),
            parse=lambda: record_document(value, self._fields, key, uri),
            **self._hashes(_RECORDS, how, record.digest()),
        )

    def _conversations(
        self, file: SourceFile, media_type: str, conversations: Iterable[Conversation]
    ) -> Iterator[Candidate]:
        """Yield a candidate for each channel, issue or thread of an export."""
        uri = storable_text(file.path.as_uri())
        for each in conversations:
            # A later export has another file name, and goes on with the same conversations.
            key = storable_text(
                f"{PREFIXES[media_type]}:{each.identity}"
                if self._sync
                else f"{file.source_key}#{each.key}"
            )

            def parse(each: Conversation = each, key: str = key) -> Document:
                document = each.read()
                return replace(
                    document,
                    source_key=key,
                    uri=document.uri or uri,
                    media_type=media_type,
                    metadata={"type": EXPORT_TYPES[media_type]} | document.metadata,
                )

            yield Candidate(
                source_key=key,
                label=f"{file.label}#{each.key}",
                size=each.size,
                modified_at=file.modified_at(),
                parse=parse,
                grows=self._sync,
                **self._hashes(reader_of(media_type), "", each.digest),
            )

    def _hashes(self, reader: Reader, how: str, digest: str) -> dict[str, Any]:
        """Hash the bytes together with everything that decides what becomes of them.

        That is what reads them as well: it had other versions before, and thus other hashes.
        """
        now, *before = [
            hashlib.sha256(
                json.dumps([f"{version} {self._fingerprint}", name + how, digest]).encode()
            ).hexdigest()
            for version, name in reader.versions
        ]
        return {"content_hash": now, "kind": reader.kind, "earlier_hashes": tuple(before)}
