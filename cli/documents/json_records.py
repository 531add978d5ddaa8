"""JSON Lines and JSON arrays: one document per record, by a map of field names."""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import TextIOWrapper
from typing import IO, Any

from pgblend.cli.documents.decode import decode, unicode_encoding
from pgblend.cli.documents.document import Document, ParseError, storable_text, storable_value
from pgblend.cli.documents.find_links import find_links
from pgblend.cli.documents.parse_settings import DEFAULT_FIELDS, FieldMap
from pgblend.cli.documents.readers import Readers, reader_names

# A line longer than this is no record: it would fill the memory.
MAX_LINE_BYTES = 64 << 20
_SNIFFED_BYTES = 8192


@dataclass(frozen=True)
class RawRecord:
    """One record before it is parsed; `place` is its line or its number, from 1."""

    place: int
    data: bytes | dict[str, Any]

    def digest(self) -> str:
        """Return the sha256 of the record's bytes."""
        data = self.data
        if not isinstance(data, bytes):
            data = json.dumps(data, sort_keys=True).encode()
        return hashlib.sha256(data).hexdigest()

    def size(self) -> int:
        """Return about how many bytes the record takes."""
        return len(self.data) if isinstance(self.data, bytes) else len(str(self.data))

    def value(self) -> dict[str, Any]:
        """Return the record; ParseError when it is not a JSON object."""
        if isinstance(self.data, dict):
            return self.data
        if len(self.data) > MAX_LINE_BYTES:
            raise ParseError(f"a line longer than {MAX_LINE_BYTES >> 20} MB")
        record = load_json(decode(self.data))
        if not isinstance(record, dict):
            raise ParseError(f"expected a JSON object, found {json_type(record)}")
        return record


def bounded_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """Read line by line; of a line that is too long only its beginning, one byte too many.

    Lines of UTF-16 and UTF-32, as PowerShell writes them, come in UTF-8.
    """
    encoding = unicode_encoding(stream.read(_SNIFFED_BYTES))
    stream.seek(0)
    if encoding and encoding != "utf-8-sig":
        yield from _lines_in_utf8(stream, encoding)
        return
    while line := stream.readline(MAX_LINE_BYTES + 1):
        yield line
        while len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
            line = stream.readline(MAX_LINE_BYTES + 1)


def _lines_in_utf8(stream: IO[bytes], encoding: str) -> Iterator[bytes]:
    text = TextIOWrapper(stream, encoding, newline="\n")
    try:
        while line := text.readline(MAX_LINE_BYTES + 1):
            yield line.encode()
            while len(line) > MAX_LINE_BYTES and not line.endswith("\n"):
                line = text.readline(MAX_LINE_BYTES + 1)
    except UnicodeDecodeError:
        raise ParseError(f"it begins as {encoding}, but is broken: save it as UTF-8") from None
    finally:
        text.detach()


def lines_of(stream: Iterable[bytes]) -> Iterator[RawRecord]:
    """Number the lines of a JSONL file that are not blank, reading one at a time."""
    for number, line in enumerate(stream, start=1):
        data = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else line.strip()
        if data:
            yield RawRecord(number, data)


def records_of(value: Any) -> list[RawRecord] | None:
    """Return the records of a JSON value that is an array of objects; None for any other."""
    if not isinstance(value, list) or not value:
        return None
    if not all(isinstance(item, dict) for item in value):
        return None
    return [RawRecord(number, item) for number, item in enumerate(value, start=1)]


def record_key(record: Mapping[str, Any], fields: FieldMap, fallback: str) -> str:
    """Return the source key of a record: its id, else `fallback`."""
    name = fields.find("id", record)
    value = get_field(record, name) if name else None
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        return fallback
    return storable_text(str(value))


def record_readers(record: Mapping[str, Any], fields: FieldMap) -> Readers | None:
    """Return whom the field of readers names, None where no field is one; ParseError for nobody."""
    name = fields.find("readers", record)
    return None if name is None else reader_names(get_field(record, name), f"its field {name!r}")


def record_document(
    record: Mapping[str, Any], fields: FieldMap, source_key: str, uri: str
) -> Document:
    """Make a document of a record; without a text field, all of its fields are its text."""
    names = {part: fields.find(part, record) for part in DEFAULT_FIELDS}
    text_field = names["text"]
    if text_field is None:
        told = [(key, value) for key, value in record.items() if key != names["readers"]]
        text = "\n".join(f"{key}: {plain_value(value)}" for key, value in told)
    else:
        text = _text_of(record, text_field)
    title = get_field(record, names["title"]) if names["title"] else None
    own_uri = get_field(record, names["uri"]) if names["uri"] else None
    used = set(names.values())
    text = storable_text(text).replace("\r\n", "\n").replace("\r", "\n")
    return Document(
        source_key=source_key,
        title=storable_text(str(title)) if title is not None else "",
        text=text,
        links=find_links(text),
        uri=storable_text(own_uri) if isinstance(own_uri, str) and own_uri else uri,
        media_type="application/json",
        metadata=storable_value({k: v for k, v in record.items() if k not in used}),
    )


def get_field(record: Mapping[str, Any], name: str) -> Any:
    """Return a field by its name, or by a path with dots through nested objects."""
    if name in record:
        return record[name]
    value: Any = record
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def load_json(text: str) -> Any:
    """Parse JSON; ParseError with the place of the first error."""
    text = _as_meant(text)
    try:
        return json.loads(text, parse_int=json_number, parse_float=json_number)
    except json.JSONDecodeError as error:
        raise ParseError(
            f"not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        ) from None
    except RecursionError:
        raise ParseError("not readable JSON: nested too deep") from None


_ESCAPED_BYTES = re.compile(r"(?:\\u00[89a-fA-F][0-9a-fA-F])+")


def _as_meant(text: str) -> str:
    """Return JSON whose escapes are the bytes of UTF-8, as Facebook exports it, with its letters.

    That is so where all escapes beyond ASCII make UTF-8.
    """
    if not text.isascii() or "\\u00" not in text or re.search(r"\\u(?!00)", text):
        return text
    try:
        return _ESCAPED_BYTES.sub(
            lambda run: bytes.fromhex(run[0].replace("\\u00", "")).decode(), text
        )
    except UnicodeDecodeError:
        return text


def json_number(text: str) -> int | float | str:
    """Return a number as JSON writes it; as its text, where it is longer than Python reads."""
    try:
        value = int(text) if text.lstrip("-").isdigit() else float(text)
    except ValueError:  # more than 4,300 digits
        return text
    return value if abs(value) < math.inf else text


def json_type(value: Any) -> str:
    """Name the JSON type of a value."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), "a number")


def plain_value(value: Any) -> str:
    """Write a value for reading: text as it is, the rest as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text_of(record: Mapping[str, Any], name: str) -> str:
    value = get_field(record, name)
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n\n".join(value)
    found = "there is no such field" if value is None else f"it is {json_type(value)}"
    raise ParseError(
        f"field {name!r} holds no text: {found} (fields: {', '.join(map(str, record))}); "
        "name the field with --map text=FIELD"
    )
