"""What stands at the top of a Markdown file about it: YAML, TOML, JSON, Pandoc's, plain headers."""

import json
import re
import tomllib
from typing import Any

import yaml

from pgblend.cli.ingest.document import LeftOut, storable_value

_YAML = re.compile(r"\A---[ \t]*\n(.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_TOML = re.compile(r"\A\+\+\+[^\n]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_JSON_FENCED = re.compile(r"\A;;;[^\n]*\n(.*?)^;;;[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_PANDOC = re.compile(r"\A%[ \t]*([^\n]*)\n(?:%[ \t]*([^\n]*)\n)?(?:%[ \t]*([^\n]*)\n)?")
_KEY = re.compile(r"^([A-Za-z][\w -]{0,40}?)[ \t]*:(?:[ \t]+(.*))?$")
# Plain headers, as MultiMarkdown and Pelican have them, begin with one of these.
_FIRST_KEYS = frozenset(("title", "author", "date", "slug", "category", "tags", "subtitle", "lang"))
_MEND = "mend it, and its keys become metadata as they are meant"


def split_front_matter(source: str) -> tuple[dict[str, Any], str, tuple[LeftOut, ...]]:
    """Return metadata, the text with blank lines in their place, and what cannot be read of them.

    What only looks like front matter stays text.
    """
    for pattern, read in ((_YAML, _yaml), (_TOML, _toml), (_JSON_FENCED, _json)):
        if match := pattern.match(source):
            body = match.group(1) or ""
            try:
                metadata = read(body)
            except (yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
                metadata = _lines(body)
                if not metadata:
                    return {}, source, ()
                reason = f"not valid: {' '.join(str(error).split())[:150]}"
                left_out = (LeftOut("its front matter", reason, _MEND),)
                return _taken(metadata, source, match.end(), left_out)
            if metadata is not None:
                return _taken(metadata, source, match.end())
            return {}, source, ()
    if source.startswith("{"):
        return _leading_json(source)
    if source.startswith("%"):
        return _pandoc(source)
    return _plain_headers(source)


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


def _json(body: str) -> dict[str, Any] | None:
    found = json.loads(body)
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
        metadata, end = json.JSONDecoder().raw_decode(source)
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
