"""Keep the pending chunks that a session has read."""

from collections.abc import Callable, Iterable, Mapping, MutableMapping
from itertools import groupby
from typing import Any

import numpy as np

from pgblend.plpy.unpack_pending import unpack_pending

KEY_BYTES = 12
RECORD_BYTES = 14
MOST_CHUNKS = 20_000


def session_pending(
    listed: bytes | None,
    kept: MutableMapping[str, Any],
    fetch: Callable[[list[int]], Iterable[Mapping[str, Any]]],
    damaged: Callable[[int, str], object],
) -> dict[str, Any] | None:
    """Return the pending chunks that `listed` names, None where there are none.

    `listed` has 12 bytes a chunk: its id (big-endian int64) and the transaction that added it,
    since an id may be given anew. `kept` remembers chunks, which never change, so that `fetch`
    reads new ones only: rows of `key`, as in `listed`, text_search_config, `head` (big-endian int64
    document, int32 index, length, own length and number of records) and `records`. `damaged` is
    called with a chunk and a reason, and does not return.

    The result is what unpack_pending returns, chunks of one configuration side by side, with
    `ranges`: (first, after the last) by configuration; and `places`, to remember terms' postings.
    """
    if not listed:
        return None
    if kept.get("listed") != listed:
        chunks = kept.setdefault("chunks", {})
        keys = [listed[at : at + KEY_BYTES] for at in range(0, len(listed), KEY_BYTES)]
        missing = [int.from_bytes(key[:8], "big") for key in keys if key not in chunks]
        if len(chunks) > len(keys) + MOST_CHUNKS:
            kept["chunks"] = chunks = {key: chunks[key] for key in keys if key in chunks}
        for row in fetch(missing) if missing else ():
            if len(row["records"]) % RECORD_BYTES:
                damaged(int.from_bytes(row["key"][:8], "big"), "its records are cut off")
            chunks[row["key"]] = row["text_search_config"], row["head"], row["records"]
        kept["pending"] = joined_chunks({key: chunks[key] for key in sorted(keys)})
        kept["listed"] = listed
    pending: dict[str, Any] = kept["pending"]
    return pending


def joined_chunks(chunks: Mapping[bytes, tuple[str, bytes, bytes]]) -> dict[str, Any]:
    """Make arrays of chunks by key."""
    order = sorted(chunks, key=lambda key: chunks[key][0])
    chosen = [chunks[key] for key in order]
    head = np.frombuffer(
        b"".join([head for _, head, _ in chosen]),
        [
            ("document", ">i8"),
            ("index", ">i4"),
            ("length", ">i4"),
            ("own", ">i4"),
            ("records", ">i4"),
        ],
    )
    pending = unpack_pending(
        {
            "chunk_ids": b"".join([key[:8] for key in order]),
            "document_ids": head["document"].tobytes(),
            "chunk_indexes": head["index"].tobytes(),
            "lengths": head["length"].tobytes(),
            "own_lengths": head["own"].tobytes(),
            "record_counts": head["records"].tobytes(),
            "records": b"".join([records for _, _, records in chosen]),
        }
    )
    assert pending is not None  # there are chunks
    pending["ranges"], start = {}, 0
    for config, group in groupby(config for config, _, _ in chosen):
        end = start + len(list(group))
        pending["ranges"][config] = (start, end)
        start = end
    return pending | {"places": {}}
