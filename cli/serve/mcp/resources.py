"""Documents as resources of the protocol: listed by pages, read as `open` reads them."""

import asyncio
from typing import LiteralString
from urllib.parse import unquote

import mcp_types as types

from pgblend.cli.output import one_line
from pgblend.cli.search_models import Query
from pgblend.cli.serve.documents import document
from pgblend.cli.serve.door import Caller, Door
from pgblend.cli.serve.mcp import writing
from pgblend.cli.serve.mcp.place import place_of
from pgblend.cli.serve.mcp.quoting import write
from pgblend.cli.serve.problems import Problem

_PREFIX = "pgblend://documents/"
_MOST_TOKENS = 20_000  # of a resource, which takes no argument for it
_PAGE = 100
_LONGEST_TITLE = 100
_LIST: LiteralString = """
    SELECT document_id, collection, source_key, title FROM blend.documents
    WHERE document_id > %(after)s::bigint ORDER BY document_id LIMIT %(most)s::integer
"""
TEMPLATE = types.ResourceTemplate(
    name="document",
    title="A document",
    uri_template=_PREFIX + "{id}",
    description="A document, or a place in it: 42, 42:12-40 (lines) or 42:c17 (from that chunk "
    f"on). At most {_MOST_TOKENS} tokens; the text says what was cut.",
    mime_type="text/plain",
)


async def listed(door: Door, caller: Caller, cursor: str | None) -> types.ListResourcesResult:
    """Return a page of documents; the cursor is the last one's number.

    Titles are documents' own words, too: one line of them, and no longer than a picker shows.
    """
    if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise Problem(400, "invalid-request", "the cursor is none that resources/list gave")
    parameters: dict[str, object] = {"after": int(cursor or 0), "most": _PAGE + 1}
    (rows,) = await door.run(caller, Query(_LIST, parameters))
    page = [
        types.Resource(
            uri=f"{_PREFIX}{row['document_id']}",
            name=_short(f"{row['collection']}/{row['source_key']}"),
            title=_short(row["title"] or row["source_key"]),
            mime_type="text/plain",
        )
        for row in rows[:_PAGE]
    ]
    more = str(rows[_PAGE - 1]["document_id"]) if len(rows) > _PAGE else None
    return types.ListResourcesResult(resources=page, next_cursor=more)


async def read(door: Door, caller: Caller, uri: str) -> types.ReadResourceResult:
    """Return a document, or a place in it."""
    if not uri.startswith(_PREFIX):
        hint = f"resources are {TEMPLATE.uri_template}"
        raise Problem(404, "no-such-document", f"there is no resource {uri[:80]!r}", hint=hint)
    place = place_of(unquote(uri.removeprefix(_PREFIX)))
    found = await document(door, caller, str(place.document_id), place.lines)
    written = await asyncio.to_thread(write, writing.document(found, place), _MOST_TOKENS)
    text = types.TextResourceContents(uri=uri, mime_type="text/plain", text=written.text)
    notes = {"pgblend/degraded": found["degraded"], "pgblend/cut": written.cut}
    return types.ReadResourceResult(contents=[text], _meta=notes)


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST_TITLE else f"{line[:_LONGEST_TITLE]}…"
