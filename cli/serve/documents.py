"""Documents by id, whole or a span of their lines, as `pgblend document show` shows them."""

from typing import Any, LiteralString

from pgblend.cli.search_models import Query
from pgblend.cli.serve.door import Caller, Door
from pgblend.cli.serve.problems import Problem

_MOST_ID = 2**63 - 1
_DIGITS = 40  # Python reads no number of thousands of them
_MOST_LINE = 2**31 - 1
_DOCUMENT: LiteralString = "SELECT * FROM blend.documents WHERE document_id = %(id)s::bigint"
# Chunks without lines, as those of tables and pages, are in every span.
_CHUNKS: LiteralString = """
    SELECT * FROM blend.chunks
    WHERE document_id = %(id)s::bigint
        AND (start_line IS NULL OR start_line <= %(last)s::integer)
        AND (start_line IS NULL OR coalesce(end_line, start_line) >= %(first)s::integer)
    ORDER BY chunk_index
"""


async def document(door: Door, caller: Caller, number: str, span: str | None) -> dict[str, Any]:
    """Return a document and its chunks, of a span ("12-40", or "12") those that touch it."""
    first, last = _lines(span)
    values: dict[str, object] = {"id": _id(number), "first": first, "last": last}
    rows, chunks = await door.run(caller, Query(_DOCUMENT, {"id": values["id"]}),
                                  Query(_CHUNKS, values))  # fmt: skip
    if not rows:
        detail = f"there is no document {values['id']} that the caller may read"
        raise Problem(404, "no-such-document", detail)
    return {"document": rows[0], "chunks": chunks, "degraded": []}


def _id(number: str) -> int:
    is_number = number.isascii() and number.isdigit() and len(number) < _DIGITS
    if not is_number or int(number) > _MOST_ID:
        detail = f"{number[:40]!r} is no document id"
        raise Problem(400, "invalid-request", detail, hint="take document_id of a row")
    return int(number)


def _lines(span: str | None) -> tuple[int, int]:
    if span is None:
        return 0, _MOST_LINE
    first, dash, last = span.partition("-")
    lines = [first, last if dash else first]
    if not all(line.isascii() and line.isdigit() and len(line) < 10 for line in lines):
        detail = f"lines is {span[:40]!r}: expected a line or a span, such as 12-40"
        raise Problem(400, "invalid-request", detail)
    start, end = map(int, lines)
    if start > end:
        detail = f"lines is {span!r}: expected the first line before the last"
        raise Problem(400, "invalid-request", detail)
    return start, end
