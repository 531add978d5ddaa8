"""Documents whose file has vanished."""

import os
from collections.abc import Sequence
from pathlib import Path

from pgblend.cli.database import Connection
from pgblend.cli.ingest.links import file_of, leads_out, real_paths

# Only what an earlier run found under one of the folders: other documents are none of its business.
_STORED = """
    SELECT d.id, d.uri
    FROM pgblend_data.document AS d
    WHERE d.collection_id = %s
        AND EXISTS (SELECT FROM unnest(%s::text[]) AS prefix WHERE starts_with(d.uri, prefix))
    ORDER BY d.id
"""


def prune(
    connection: Connection,
    collection_id: int,
    paths: Sequence[Path],
    dry_run: bool,
    follow_links: bool,
) -> int:
    """Delete the documents that came from under `paths` and whose file is gone; count them.

    Gone is also what a link out of `paths` leads to, unless `follow_links`.

    A record of a JSONL file goes when the file does, not when its line does.
    """
    folders = [Path(os.path.abspath(path)) for path in paths if path.is_dir()]
    prefixes = [folder.as_uri().rstrip("/") + "/" for folder in folders]
    rows = connection.execute(_STORED, [collection_id, prefixes]).fetchall()
    roots = real_paths(paths)

    def is_gone(file: Path) -> bool:
        return not file.exists() or (not follow_links and leads_out(file, roots))

    gone = [document_id for document_id, uri in rows if is_gone(file_of(uri))]
    if gone and not dry_run:
        with connection.transaction():
            connection.execute(
                "SELECT blend.delete_document(id) FROM unnest(%s::bigint[]) AS id", [gone]
            )
    return len(gone)
