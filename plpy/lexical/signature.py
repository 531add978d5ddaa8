"""A segment's signature: a saved one is loaded only where this database wrote it."""

import hmac
from collections.abc import Sequence

from pgblend.plpy.base.session import Database, Row
from pgblend.plpy.lexical.chunk_rows import COLUMN_TYPES

_SIGNED = (*COLUMN_TYPES, "code_book", "terms", "document_frequencies")


def sign_segment(
    db: Database, collection_id: int, config: str, arrays: Sequence[bytes], blocks: Sequence[bytes]
) -> bytes:
    """Return the signature of what a segment of this database has, but for its dead rows.

    The arrays are in the order of the table's columns. The secret is the owner's alone.
    """
    (row,) = db.run("SELECT secret FROM pgblend_data.index_secret", [])
    signature = hmac.new(row["secret"], digestmod="sha256")
    for part in (b"%d" % collection_id, config.encode(), *arrays, *blocks):
        signature.update(b"%d " % len(part))
        signature.update(part)
    return signature.digest()


def check_signature(db: Database, collection_id: int, saved: Row, blocks: Sequence[bytes]) -> None:
    """Raise a ValueError where this database did not write a saved segment of a collection."""
    arrays = [saved[name] or b"" for name in _SIGNED]
    signature = sign_segment(db, collection_id, saved["text_search_config"] or "", arrays, blocks)
    if not hmac.compare_digest(signature, saved["signature"] or b""):
        raise ValueError("it is not as this database wrote it")
