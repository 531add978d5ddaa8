"""What stands at the top of a text about it: YAML, TOML, JSON, Pandoc's lines, plain headers."""

import json
import re
import tomllib
from typing import Any

import yaml

from pgblend.cli.documents.dates import is_date_key, stated_dates
from pgblend.cli.documents.document import LeftOut, ParseError, storable_value
from pgblend.cli.documents.json_records import json_number
from pgblend.cli.documents.readers import reader_names

_YAML = re.compile(
    r"\A\n*---[ \t]*(?:ya?ml)?[ \t]*\n(?P<body>.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL
)
_FENCED = r"\A\n*(?P<mark>{}|---(?=[ \t]*{}[ \t]*\n))[^\n]*\n(?P<body>.*?)^(?P=mark)[ \t]*(?:\n|\Z)"
_TOML = re.compile(_FENCED.format(r"\+\+\+", "toml"), re.DOTALL | re.MULTILINE)
_JSON_FENCED = re.compile(_FENCED.format(";;;", "json"), re.DOTALL | re.MULTILINE)
_PANDOC = re.compile(r"\A%[ \t]*([^\n]*)\n(?:%[ \t]*([^\n]*)\n)?(?:%[ \t]*([^\n]*)\n)?")
_KEY = re.compile(r"^([^\W\d_][\w -]{0,40}?)[ \t]*:(?:[ \t]+(.*))?$")
# Plain headers, as MultiMarkdown and Pelican have them, begin with one of these.
_FIRST_KEYS = frozenset(("title", "author", "date", "slug", "category", "tags", "subtitle", "lang"))
# Says who may read the document, and is none of its metadata.
READERS = "readers"
_READERS_LINE = re.compile(r"^[\s\"']*readers[\"']?\s*[:=]", re.IGNORECASE | re.MULTILINE)
_MEND = "mend it, and its keys become metadata as they are meant"


def split_front_matter(
    source: str, is_plain: bool = False
) -> tuple[dict[str, Any], str, tuple[LeftOut, ...]]:
    """Return metadata, the text with blank lines in their place, and what cannot be read of them.

    What only looks like front matter stays text. In plain text it is so between fences alone, and
    with a field that says what the text is. People put lines around what is urgent, too.
    """
    for pattern, read in ((_YAML, _yaml), (_TOML, _toml), (_JSON_FENCED, _json)):
        if match := pattern.match(source):
            body = match["body"] or ""
            try:
                metadata = read(body)
            except (yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
                metadata = _lines(body)
                if not metadata or (is_plain and not _is_about(metadata)):
                    return {}, source, ()
                reason = f"not valid: {' '.join(str(error).split())[:150]}"
                left_out = (LeftOut("its front matter", reason, _MEND),)
                return _taken(metadata, source, match.end(), left_out)
            if metadata is None or (is_plain and not _is_about(metadata)):
                return {}, source, ()
            return _taken(metadata, source, match.end())
    if is_plain:
        return {}, source, ()
    if source.startswith("{"):
        return _leading_json(source)
    if source.startswith("%"):
        return _pandoc(source)
    return _plain_headers(source)


def _is_about(metadata: dict[str, Any]) -> bool:
    """Whether a field names a text's title, date, author, readers or the like."""
    names = {str(key).lower() for key in metadata}
    return not names.isdisjoint({*_FIRST_KEYS, READERS}) or any(map(is_date_key, names))


def front_readers(source: str, is_plain: bool = False) -> tuple[str, ...] | None:
    """Return whom front matter names as readers, in a list or with commas; None for nobody.

    ParseError where that cannot be read: a document is not for all because of a slip.
    """
    metadata, text, left_out = split_front_matter(source, is_plain)
    found = [value for key, value in metadata.items() if str(key).lower() == READERS]
    if not found and (metadata or text == source) and not left_out:
        head = next((m for p in (_YAML, _TOML, _JSON_FENCED) if (m := p.match(source))), None)
        if metadata or head is None or not _READERS_LINE.search(head[0]):
            return None
    if len(found) != 1 or left_out:
        raise ParseError(f"its front matter cannot be read, and has {READERS!r}: mend it")
    return reader_names(found[0], f"{READERS!r} in its front matter")


def _taken(
    metadata: dict[str, Any], source: str, end: int, left_out: tuple[LeftOut, ...] = ()
) -> tuple[dict[str, Any], str, tuple[LeftOut, ...]]:
    blank_lines = "\n" * source.count("\n", 0, end)
    return storable_value(metadata), blank_lines + source[end:], left_out


def _yaml(body: str) -> dict[str, Any] | None:
    found = yaml.safe_load(body)
    if found is None and not body.strip():
        return {}
    return found if isinstance(found, dict) else None


def _toml(body: str) -> dict[str, Any]:
    return tomllib.loads(body)


_DECODER = json.JSONDecoder(parse_int=json_number, parse_float=json_number)


def _json(body: str) -> dict[str, Any] | None:
    found = _DECODER.decode(body)
    return found if isinstance(found, dict) else None


def _lines(body: str) -> dict[str, Any]:
    """Read what a line says of itself, where the whole is not valid."""
    lines = [line for line in body.split("\n") if line.strip() and not line.startswith("#")]
    found = {
        match[1]: (match[2] or "").strip("\"' ") for line in lines if (match := _KEY.match(line))
    }
    is_plausible = bool(lines) and _KEY.match(lines[0]) and 2 * len(found) >= len(lines)
    return found if is_plausible else {}


def _leading_json(source: str) -> tuple[dict[str, Any], str, tuple[LeftOut, ...]]:
    try:
        metadata, end = _DECODER.raw_decode(source)
    except (ValueError, RecursionError):
        return {}, source, ()
    rest = source[end:].lstrip(" \t")
    if not isinstance(metadata, dict) or not rest.startswith("\n") or not rest.strip():
        return {}, source, ()
    return _taken(metadata, source, end)


def _pandoc(source: str) -> tuple[dict[str, Any], str, tuple[LeftOut, ...]]:
    match = _PANDOC.match(source)
    if not match or source.startswith("%%"):
        return {}, source, ()
    found = dict(zip(("title", "author", "date"), match.groups(), strict=True))
    return _taken({key: value for key, value in found.items() if value}, source, match.end())


def _plain_headers(source: str) -> tuple[dict[str, Any], str, tuple[LeftOut, ...]]:
    head, gap, _ = source.partition("\n\n")
    lines = head.split("\n")
    first = _KEY.match(lines[0])
    if not gap or not first or first[1].lower() not in _FIRST_KEYS or len(lines) < 2:
        return {}, source, ()
    found: dict[str, str] = {}
    key = ""
    for line in lines:
        if match := _KEY.match(line):
            key = match[1].lower()
            found[key] = (match[2] or "").strip()
        elif line[:1] in " \t" and key:
            found[key] = f"{found[key]} {line.strip()}".strip()
        else:
            return {}, source, ()
    return _taken(found, source, len(head) + 1)


def told_metadata(metadata: dict[str, Any], text: str) -> tuple[str, dict[str, Any]]:
    """Return the title that front matter states, or "", and what else it and the text's head tell.

    A title may be a year or a date. Who may read is none of the metadata.
    """
    told = {key: value for key, value in metadata.items() if str(key).lower() != READERS}
    title = told.pop("title", None)
    is_title = isinstance(title, str | int | float) and not isinstance(title, bool)
    return " ".join(str(title).split()) if is_title else "", stated_dates(text) | told
