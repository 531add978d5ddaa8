"""From files to candidates: what could be stored, with its hash, before anything is chunked."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path, PurePath
from typing import Any

from pgblend.cli.base.extras import how_to_install, missing
from pgblend.cli.documents.conversation import Conversation
from pgblend.cli.documents.dates import named_date
from pgblend.cli.documents.decode import decode
from pgblend.cli.documents.discovery import SourceFile, open_file, real_paths
from pgblend.cli.documents.document import (
    MOST_DEPTH,
    ZIP,
    Attached,
    Contents,
    Document,
    LeftOut,
    Link,
    ParseError,
    UnsupportedFormatError,
    contents,
    storable_text,
)
from pgblend.cli.documents.formats import (
    EXPORT_TYPES,
    FIRST_VERSION,
    LINEAR,
    MBOX,
    PREFIXES,
    SLACK,
    Reader,
    media_type_of,
    parse_file,
    reader_of,
)
from pgblend.cli.documents.html_pictures import digest_of_files
from pgblend.cli.documents.ingest_report import SourceProblem, told
from pgblend.cli.documents.json_records import (
    RawRecord,
    bounded_lines,
    lines_of,
    load_json,
    record_document,
    record_key,
    record_readers,
    records_of,
)
from pgblend.cli.documents.media_types import (
    HTML,
    IMAGE,
    JSON,
    JSONL,
    SNIFFED_BYTES,
)
from pgblend.cli.documents.parse_linear import find_issues, is_issue, parse_linear
from pgblend.cli.documents.parse_settings import FieldMap
from pgblend.cli.documents.parse_slack import is_export_archive, open_export, parse_slack

# A file is parsed in memory; JSONL alone is read line by line.
MAX_FILE_BYTES = 256 << 20
_RECORDS = Reader(
    "JSON", tuple((version, "") for version in range(FIRST_VERSION + 3, FIRST_VERSION - 1, -1))
)


@dataclass(frozen=True)
class Candidate:
    """One document to be: `content_hash` tells whether it changed, `parse` reads it.

    One that `grows` gets the messages that it lacks; the others are replaced. What earlier versions
    read of the same bytes has one of `earlier_hashes`. `file` is the path that the key is made of.
    It is "" where a record or conversation names itself, whichever export it is in. `readers` may
    read the document; None: nobody says who.
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
    file: str = ""
    readers: tuple[str, ...] | None = None


@dataclass(frozen=True)
class _Whole:
    """Where a document comes from: a file, or what is so many files deep within it.

    `about` are metadata of the mail or archive around it, and `name` is its own there.
    `modified_at` is the time that an archive has of it, or of what it is in.
    """

    file: SourceFile
    key: str
    label: str
    name: str = ""
    about: dict[str, Any] = field(default_factory=dict)
    depth: int = 0
    modified_at: datetime | None = None

    def within(self, file: Attached, about: dict[str, Any]) -> "_Whole":
        """Return the place of a file within this one."""
        key, label = f"{self.key}#{file.name}", f"{self.label}#{file.name}"
        modified_at = file.modified_at or self.modified_at
        return _Whole(self.file, key, label, file.name, about, self.depth + 1, modified_at)


class Sources:
    """Reads files one after another; problems are handed to `on_problem`.

    With `roots` (see open_file) only what is below them.
    """

    def __init__(
        self,
        fields: FieldMap,
        fingerprint: str,
        on_problem: Callable[[SourceProblem], None],
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
                self._on_problem(SourceProblem(kind, file.label, str(error)))
            except ParseError as error:
                self._on_problem(SourceProblem("failed", file.label, str(error)))
            except OSError as error:
                reason = error.strerror or str(error)
                self._on_problem(SourceProblem("failed", file.label, f"cannot be read: {reason}"))

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
            raise UnsupportedFormatError("unsupported format: a pipe, socket or device, no file")
        with open_file(path, self._roots) as stream:
            media_type = media_type_of(path, stream.read(SNIFFED_BYTES))
            stream.seek(0)
            self._check_pictures(media_type)
            if media_type == JSONL:
                yield from self._records(file, lines_of(bounded_lines(stream)))
                return
            if media_type == MBOX:
                from pgblend.cli.documents.parse_mbox import parse_mbox  # mail takes its time

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
        if media_type == ZIP:
            yield from self._members(_Whole(file, file.source_key, file.label), data)
            return
        whole = [data]
        del data  # parsed, the bytes of a large file are let go
        yield from self._documents(_Whole(file, file.source_key, file.label), whole, media_type)

    def _documents(self, of: _Whole, held: list[bytes], media_type: str) -> Iterator[Candidate]:
        """Yield a file's document, and those of the files that are attached to it.

        The bytes are taken out of `held` when they are parsed.
        """
        within = _contents(media_type, held[0]) if of.depth < MOST_DEPTH else Contents()
        files, left_out = self._readable(within.files)
        (folder,) = real_paths([of.file.path.parent]) if not of.depth else (None,)
        uri = storable_text(of.file.path.as_uri())
        size, digest = len(held[0]), hashlib.sha256(held[0]).hexdigest()
        how = self._pictures_of(media_type, held[0], folder)
        if of.about:
            how += json.dumps(of.about, sort_keys=True)
        # The text's own date, once it is read, comes before these.
        outer_date = named_date(PurePath(of.name or of.key).name) or of.modified_at
        if outer_date:
            how += outer_date.isoformat()
        own_readers = _own_readers(media_type, held[0])
        if own_readers is not None:
            how += json.dumps({"readers": own_readers})

        def parse() -> Document:
            document = parse_file(held.pop(), media_type, of.key, uri, folder)
            if of.depth and document.title == PurePath(of.key).name:
                document = replace(document, title=of.name)
            metadata = of.about | document.metadata
            return _tied(replace(document, metadata=metadata), of.key, files, left_out)

        yield Candidate(
            source_key=of.key,
            label=of.label,
            size=size,
            modified_at=outer_date or of.file.modified_at(),
            parse=parse,
            file=str(of.file.path),
            readers=of.file.readers if own_readers is None else own_readers,
            **self._hashes(reader_of(media_type), how, digest),
        )
        for each, kind in files:
            yield from self._attached(of.within(each, within.about), each, kind)

    def _attached(self, of: _Whole, file: Attached, media_type: str) -> Iterator[Candidate]:
        """Yield the documents of an attached file; one that is broken is reported."""
        try:
            if media_type == ZIP:
                yield from self._members(of, file.data)
            else:
                yield from self._documents(of, [file.data], media_type)
        except ParseError as error:
            self._on_problem(SourceProblem("failed", of.label, str(error)))

    def _members(self, of: _Whole, data: bytes) -> Iterator[Candidate]:
        """Yield the documents of an archive's files; those that are not read are reported."""
        left_out: list[LeftOut] = []
        within = contents(ZIP, data)
        for each in within.files:
            files, others = self._readable([each])
            left_out += others
            for file, kind in files:
                if of.depth < MOST_DEPTH:
                    about = {"archive": PurePath(of.key).name}
                    yield from self._attached(of.within(file, of.about | about), file, kind)
                else:
                    reason = f"it lies more than {MOST_DEPTH} archives deep"
                    left_out.append(LeftOut(file.name, reason, "unpack it"))
        for problem in told(of.label, [*left_out, *within.left_out]):
            self._on_problem(problem)

    def _readable(
        self, files: Iterable[Attached]
    ) -> tuple[list[tuple[Attached, str]], list[LeftOut]]:
        """Tell the formats of files within another one, and which cannot be read."""
        found: list[tuple[Attached, str]] = []
        left_out: list[LeftOut] = []
        for each in files:
            try:
                media_type = media_type_of(PurePath(each.name), each.data[:SNIFFED_BYTES])
                self._check_pictures(media_type)
            except UnsupportedFormatError as error:
                left_out.append(LeftOut(each.name, error.reason, error.mend))
                continue
            if media_type == MBOX:
                mend = "save it as a file of its own"
                left_out.append(LeftOut(each.name, "a mailbox within another file", mend))
            else:
                found.append((each, media_type))
        return found, left_out

    def _check_pictures(self, media_type: str) -> None:
        if media_type == IMAGE and not self._pictures:
            raise UnsupportedFormatError(
                "a picture, and nothing reads pictures",
                "name a model (pgblend config set vision_model NAME, with a gateway), or install "
                "tesseract"
                + (f", and {how_to_install('documents')}" if missing("documents") else ""),
            )

    def _pictures_of(self, media_type: str, data: bytes, folder: Path | None) -> str:
        """Say what else the text depends on: what reads a picture, the pictures of a page."""
        if media_type == IMAGE:
            return self._pictures
        has_files = media_type == HTML and self._pictures and folder
        return digest_of_files(data, folder) if has_files and folder else ""

    def _issues(self, file: SourceFile, entries: list[Any]) -> Iterator[dict[str, Any]]:
        """Yield the issues of a Linear export; an entry that is none is reported by its place."""
        for place, entry in enumerate(entries, 1):
            if is_issue(entry):
                yield entry
            else:
                reason = "no issue of Linear: expected an identifier such as ENG-12 and a title"
                self._on_problem(SourceProblem("failed", f"{file.label}:{place}", reason))

    def _records(self, file: SourceFile, records: Iterator[RawRecord]) -> Iterator[Candidate]:
        """Yield a candidate for each record; a broken one is reported by its place."""
        uri, how = storable_text(file.path.as_uri()), self._fields.fingerprint()
        for record in records:
            try:
                yield self._record(file, record, uri, how)
            except ParseError as error:
                self._on_problem(
                    SourceProblem("failed", f"{file.label}:{record.place}", str(error))
                )

    def _record(self, file: SourceFile, record: RawRecord, uri: str, how: str) -> Candidate:
        value = record.value()
        place = f"{file.source_key}#{record.place}"
        key = record_key(value, self._fields, place)
        readers = record_readers(value, self._fields)
        return Candidate(
            source_key=key,
            label=f"{file.label}:{record.place}",
            size=record.size(),
            modified_at=file.modified_at(),
            parse=lambda: record_document(value, self._fields, key, uri),
            file=str(file.path) if key == place else "",
            readers=file.readers if readers is None else readers,
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

            of = _Whole(file, key, f"{file.label}#{each.key}")
            within = each.contents()
            files, left_out = self._readable(within.files)

            def parse(
                each: Conversation = each,
                key: str = key,
                files: Sequence[tuple[Attached, str]] = files,
                left_out: Sequence[LeftOut] = left_out,
            ) -> Document:
                document = each.read()
                document = replace(
                    document,
                    source_key=key,
                    uri=document.uri or uri,
                    media_type=media_type,
                    metadata={"type": EXPORT_TYPES[media_type]} | document.metadata,
                )
                return _tied(document, key, files, left_out)

            yield Candidate(
                source_key=key,
                label=of.label,
                size=each.size,
                modified_at=file.modified_at(),
                parse=parse,
                grows=self._sync,
                file="" if self._sync else str(file.path),
                readers=file.readers,
                **self._hashes(reader_of(media_type), "", each.digest),
            )
            for attached, kind in files:
                yield from self._attached(of.within(attached, within.about), attached, kind)

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


def _contents(media_type: str, data: bytes) -> Contents:
    """Return the files within a file; what is broken says so when it is parsed."""
    try:
        return contents(media_type, data)
    except ParseError:
        return Contents()


def _own_readers(media_type: str, data: bytes) -> tuple[str, ...] | None:
    """Return whom a file's front matter names as its readers; None where it names nobody."""
    # A text in which every second byte is 0 has the word in it otherwise.
    is_candidate = b"readers" in data.lower() or b"\0" in data
    kind = reader_of(media_type).kind
    if kind not in ("MARKDOWN", "TEXT") or not is_candidate:
        return None
    from pgblend.cli.documents.front_matter import front_readers  # its library takes its time

    return front_readers(decode(data), is_plain=kind == "TEXT")


def _tied(
    document: Document,
    key: str,
    files: Sequence[tuple[Attached, str]],
    left_out: Sequence[LeftOut],
) -> Document:
    """Tie a mail to the documents of its files, and say which have none."""
    links = tuple(Link(0, f"{key}#{each.name}", "key", "attachment") for each, _ in files)
    return replace(
        document,
        links=(*document.links, *links),
        left_out=(*document.left_out, *left_out),
    )
