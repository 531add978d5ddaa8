"""Documents whose file has vanished."""

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

from pgblend.cli.database import Connection

# Only what an earlier run found under one of the folders: other documents are none of its business.
_STORED = """
    SELECT d.id, d.uri
    FROM pgblend_data.document AS d
    WHERE d.collection_id = %s
        AND EXISTS (SELECT FROM unnest(%s::text[]) AS prefix WHERE starts_with(d.uri, prefix))
    ORDER BY d.id
"""


def prune(connection: Connection, collection_id: int, paths: Sequence[Path], dry_run: bool) -> int:
    """Delete the documents that came from under `paths` and whose file is gone; count them.

    A record of a JSONL file goes when the file does, not when its line does.
    """
    folders = [Path(os.path.abspath(path)) for path in paths if path.is_dir()]
    prefixes = [folder.as_uri().rstrip("/") + "/" for folder in folders]
    rows = connection.execute(_STORED, [collection_id, prefixes]).fetchall()
    gone = [document_id for document_id, uri in rows if not _file_of(uri).exists()]
    if gone and not dry_run:
        with connection.transaction():
            connection.execute(
                "SELECT blend.delete_document(id) FROM unnest(%s::bigint[]) AS id", [gone]
            )
    return len(gone)


def _file_of(uri: str) -> Path:
    return Path(os.fsdecode(unquote_to_bytes(urlsplit(uri).path)))
