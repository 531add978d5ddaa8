"""An mbox: a document for each mail thread. Only an index of the mails is kept in memory."""

import email
import email.policy
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from pgblend.cli.documents.conversation import Conversation, sample_text
from pgblend.cli.documents.discovery import open_file
from pgblend.cli.documents.document import Contents, Document, LeftOut, Message, ParseError
from pgblend.cli.documents.parse_mail import (
    MailParts,
    header,
    mail_parts,
    mail_time,
    read_mail,
    to_message,
)

Open = Callable[[], BinaryIO]

_LONGEST_HEADERS = 1 << 20
# How a folder of UW-IMAP and Pine begins.
_NO_MAIL = "FOLDER INTERNAL DATA"
_STATUS, _DELETED = "X-Mozilla-Status", 8
MAX_MAIL_BYTES = 64 << 20
_ID_DIGITS = 32
_ANSWER = re.compile(r"^\s*((re|aw|sv|antw|fw|fwd|wg)(\[\d+\])?:\s*)+", re.IGNORECASE)
_ID = re.compile(r"<[^<>\s]+>")
_HAS_FILE = re.compile(
    rb"filename|name\*?=|^begin [0-7]{3} |message/rfc822|pkcs7-mime|ms-tnef|text/calendar",
    re.I | re.M,
)
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """Where a mail stands in the file, and what links it to others."""

    start: int
    end: int
    message_id: str
    references: tuple[str, ...]
    subject: str
    time: str
    from_line: str


def parse_mbox(path: Path, roots: Sequence[Path] | None = None) -> Iterator[Conversation]:
    """Yield the threads of a file (see open_file) in the order of their first mails."""
    opened = partial(open_file, path, roots)
    entries = list(_index(opened))
    if not entries and next(_bounds(opened), None) is None:
        raise ParseError('no mbox: no line begins with "From "')
    for thread in _threads(entries):
        yield _conversation(opened, sorted(thread, key=lambda entry: (entry.time, entry.start)))


def _index(opened: Open) -> Iterator[Entry]:
    with opened() as stream:
        for from_line, start, end in _bounds(opened):
            stream.seek(start)
            data = stream.read(min(end - start, _LONGEST_HEADERS))
            head = re.split(rb"\r?\n\r?\n", data, maxsplit=1)[0]
            mail = email.message_from_bytes(head, policy=email.policy.default)
            mail.set_unixfrom(from_line)
            subject = header(mail, "Subject")
            if subject.endswith(_NO_MAIL) or _is_deleted(header(mail, _STATUS)):
                continue
            references = _ID.findall(f"{header(mail, 'References')} {header(mail, 'In-Reply-To')}")
            yield Entry(
                start,
                end,
                header(mail, "Message-ID"),
                tuple(references),
                subject,
                mail_time(mail),
                from_line,
            )


def _is_deleted(status: str) -> bool:
    """Whether Thunderbird shows a mail no more; it stays in the file until that is compacted."""
    return bool(re.fullmatch("[0-9a-fA-F]{4}", status)) and bool(int(status, 16) & _DELETED)


def _bounds(opened: Open) -> Iterator[tuple[str, int, int]]:
    """Yield the "From " line of each mail, where it begins after that, and where it ends."""
    start, from_line = None, ""
    position = 0
    after_blank = True
    with opened() as stream:
        while line := stream.readline(_LONGEST_HEADERS):
            if after_blank and line.startswith(b"From "):
                if start is not None:
                    yield from_line, start, position
                start, from_line = position + len(line), line.decode("ascii", "replace").strip()
            position += len(line)
            after_blank = line in (b"\n", b"\r\n")
    if start is not None:
        yield from_line, start, position


def _threads(entries: list[Entry]) -> list[list[Entry]]:
    """Join mails by what they answer; without such a header, an answer by its subject."""
    parents: dict[str, str] = {}

    def root(name: str) -> str:
        while (above := parents.setdefault(name, name)) != name:
            parents[name] = parents.get(above, above)
            name = above
        return name

    names = [entry.message_id or f"at {entry.start}" for entry in entries]
    subjects: dict[str, str] = {}
    for name, entry in zip(names, entries, strict=True):
        for reference in entry.references:
            parents[root(reference)] = root(name)
        subject = _ANSWER.sub("", entry.subject).casefold()
        if not entry.references and _ANSWER.match(entry.subject) and subject in subjects:
            parents[root(name)] = root(subjects[subject])
        subjects.setdefault(subject, name)
    threads: dict[str, list[Entry]] = {}
    for name, entry in zip(names, entries, strict=True):
        threads.setdefault(root(name), []).append(entry)
    return list(threads.values())


def _conversation(opened: Open, thread: list[Entry]) -> Conversation:
    first = min(thread, key=lambda entry: entry.start)
    digest = hashlib.sha256()
    with opened() as stream:
        for entry in thread:
            stream.seek(entry.start)
            digest.update(stream.read(entry.end - entry.start))
    name = first.message_id or f"at {first.start}"
    return Conversation(
        name,
        first.message_id or digest.hexdigest()[:_ID_DIGITS],
        digest.hexdigest(),
        sum(entry.end - entry.start for entry in thread),
        lambda: _read(opened, thread),
        lambda: _contents(opened, thread),
    )


def _mails(opened: Open, thread: list[Entry]) -> Iterator[tuple[Entry, bytes | None]]:
    """Yield the mails of a thread; of one that is too large no bytes."""
    with opened() as stream:
        for entry in thread:
            if entry.end - entry.start > MAX_MAIL_BYTES:
                yield entry, None
                continue
            stream.seek(entry.start)
            yield entry, _QUOTED_FROM.sub(rb"\1", stream.read(entry.end - entry.start))


def _contents(opened: Open, thread: list[Entry]) -> Contents:
    """Return the files of a thread's mails; few mails have any, so most are not parsed."""
    parts = MailParts()
    for _, data in _mails(opened, thread):
        if data and _HAS_FILE.search(data):
            with suppress(ParseError):
                for each in mail_parts(read_mail(data)).attached:
                    parts.attach(each.name, each.data)
    subject = _ANSWER.sub("", thread[0].subject)
    about = {"mail": subject, "date": thread[0].time}
    return Contents({key: value for key, value in about.items() if value}, parts.attached)


def _read(opened: Open, thread: list[Entry]) -> Document:
    messages: list[Message] = []
    left_out: list[LeftOut] = []
    for entry, data in _mails(opened, thread):
        name = f"mail {entry.message_id or entry.start}"
        if data is None:
            reason = f"it is larger than {MAX_MAIL_BYTES >> 20} MB"
            left_out.append(LeftOut(name, reason, "save its files by themselves"))
            continue
        try:
            mail = read_mail(data)
        except ParseError as error:
            left_out.append(LeftOut(name, str(error), "save it as a file of its own"))
            continue
        mail.set_unixfrom(entry.from_line)
        message_id = entry.message_id or hashlib.sha256(data).hexdigest()[:_ID_DIGITS]
        parts = mail_parts(mail)
        left_out += parts.left_out
        messages.append(to_message(mail, parts, message_id, thread[0].message_id or "thread"))
    subject = _ANSWER.sub("", thread[0].subject)
    return Document(
        title=subject,
        text=sample_text(messages),
        metadata={"date": thread[0].time} if thread[0].time else {},
        messages=tuple(messages),
        left_out=tuple(left_out),
    )
