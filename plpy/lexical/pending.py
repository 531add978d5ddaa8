"""Pending chunks: read, kept in a session, and their postings."""

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from itertools import accumulate, groupby
from typing import Any

import numpy as np


def unpack_pending(columns: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return pending chunks as a source of postings, None where there are none.

    `columns` has, each as bytes with big-endian entries in the order of chunk ids: chunk_ids and
    document_ids (int64), chunk_indexes, lengths, own_lengths and record_counts (int32), and records
    (14 bytes a lexeme, see pack_lexemes). The result has arrays of these names, `alive` (all true)
    and for each posting `terms`, `ordinals`, `counts` (six: by field, of its own and repeated) and
    `frequencies` (the same six in one number, the first in the highest byte of 48 bits).
    """
    if columns["chunk_ids"] is None:
        return None
    record = np.dtype(
        {
            "names": ["term", "counts", "last_8"],
            "formats": [">i8", ("u1", 6), ">i8"],
            "offsets": [0, 8, 6],
        }
    )
    records = np.frombuffer(columns["records"] or b"", record)
    counts = np.frombuffer(columns["record_counts"], ">i4")
    return {
        "chunk_ids": np.frombuffer(columns["chunk_ids"], ">i8").astype(np.int64),
        "document_ids": np.frombuffer(columns["document_ids"], ">i8").astype(np.int64),
        "chunk_indexes": np.frombuffer(columns["chunk_indexes"], ">i4").astype(np.int32),
        "lengths": np.frombuffer(columns["lengths"], ">i4").astype(np.int32),
        "own_lengths": np.frombuffer(columns["own_lengths"], ">i4").astype(np.int32),
        "alive": np.ones(len(counts), np.bool_),
        "terms": records["term"].astype(np.int64),
        "ordinals": np.repeat(np.arange(len(counts)), counts),
        "counts": records["counts"],
        "frequencies": records["last_8"].astype(np.int64) & (1 << 48) - 1,
    }


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


def pending_postings(
    pending: dict[str, Any], terms: Sequence[int], start: int, end: int
) -> dict[str, Any]:
    """Return the postings of the terms among the chunks start to end, one term after the other.

    The result has `rows`, ascending within a term, `codes`, `starts` of the terms with the end of
    the last at its end, and `fields`: for each code the occurrences in title, headings and body,
    the chunk's own and repeated ones.
    """
    kept = pending["places"]
    places = []
    for term in terms:
        if term not in kept:
            kept[term] = np.flatnonzero(pending["terms"] == term)
        here = kept[term]
        if start > 0 or end < len(pending["lengths"]):
            rows = pending["ordinals"][here]
            here = here[(rows >= start) & (rows < end)]
        places.append(here)
    joined = np.concatenate([np.empty(0, np.intp), *places])
    return {
        "rows": pending["ordinals"][joined],
        "codes": np.arange(len(joined)),
        "starts": [*accumulate(map(len, places), initial=0)],
        "fields": pending["counts"][joined],
    }
