"""The documents of a database as JSON lines, whatever revision it is at."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from psycopg.rows import dict_row

from pgblend.cli.base.database import Connection, check_migrated, connect, fetch_value
from pgblend.cli.base.errors import UserError

_HAS_DOCUMENTS = """
    SELECT count(*) = 3 FROM pg_catalog.pg_class
    WHERE relnamespace = pg_catalog.to_regnamespace('pgblend_data')
        AND relname IN ('collection', 'document', 'chunk')
"""
# A column that older tables have not is read as one of a JSON object. What passages are read with
# (a table's caption and header) stands once, before the first of them.
_DOCUMENTS = """
    SELECT l.name AS collection, d.source_key, d.title, d.uri, d.metadata, (
        SELECT string_agg(concat_ws(
            E'\\n', CASE WHEN p.context IS DISTINCT FROM p.before THEN p.context END, p.text
        ), E'\\n' ORDER BY p.chunk_index)
        FROM (
            SELECT c.chunk_index, substr(c.content, c.own_start + 1) AS text,
                to_jsonb(c) ->> 'context' AS context,
                lag(to_jsonb(c) ->> 'context') OVER (ORDER BY c.chunk_index) AS before
            FROM pgblend_data.chunk AS c WHERE c.document_id = d.id) AS p) AS text
    FROM pgblend_data.document AS d
    INNER JOIN pgblend_data.collection AS l ON l.id = d.collection_id
    ORDER BY l.name, d.source_key
"""
_OWN_FIELDS = ("id", "title", "uri", "text")


def dump(database_url: str, folder: Path) -> dict[Path, int]:
    """Write a file a collection, of a JSON object a document; return how many each has.

    All are of one moment, and nothing in the database is changed.
    """
    counts: dict[Path, int] = {}
    with connect(database_url, check=False) as connection, connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        check_migrated(fetch_value(connection, _HAS_DOCUMENTS))
        for row in _rows(connection):
            path = folder / f"{quote(row['collection'], safe='')}.jsonl"
            try:
                if path not in counts:
                    folder.mkdir(parents=True, exist_ok=True)
                    path.touch(exist_ok=False)
                with path.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps(_record(row), ensure_ascii=False) + "\n")
            except OSError as error:
                raise UserError(
                    f"cannot write {path}: {error.strerror}",
                    hint="name a folder that is new, or empty and yours",
                ) from error
            counts[path] = counts.get(path, 0) + 1
    return counts


def _rows(connection: Connection) -> Iterator[dict[str, Any]]:
    with connection.cursor(name="dump", row_factory=dict_row) as cursor:
        cursor.execute(_DOCUMENTS)
        yield from cursor


def _record(row: dict[str, Any]) -> dict[str, Any]:
    """Return what `pgblend ingest` reads; metadata of the names of its fields get others."""
    metadata = {
        f"metadata_{name}" if name in _OWN_FIELDS else name: value
        for name, value in row["metadata"].items()
    }
    own = {"id": row["source_key"], "title": row["title"], "text": row["text"] or ""}
    return own | ({"uri": row["uri"]} if row["uri"] else {}) | metadata
