"""What a search reads of the lexical index."""

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from pgblend.plpy.lexical.pending import session_pending
from pgblend.plpy.lexical.segment import unpack_segment


def find_rows(sorted_values: Any, values: Any) -> Any:
    """Return the places in `sorted_values` that hold one of `values`; the others are left out."""
    places = np.searchsorted(sorted_values, values)
    found = places < len(sorted_values)
    found[found] = sorted_values[places[found]] == values[found]
    return places[found]


def view_rows(view: dict[str, Any], chunk_ids: Any) -> Any:
    """Return the rows of the view that hold these chunks (sorted ids), ascending.

    Ids that the view does not have are left out. Each segment's ids are sorted, and most segments
    cover a range of their own, so each is only asked for the ids within its range.
    """
    parts = [np.empty(0, np.intp)]
    for start, end in view["bounds"]:
        ids = view["chunk_ids"][start:end]
        first, last = np.searchsorted(chunk_ids, (ids[0], ids[-1] + 1))
        if first < last:
            parts.append(start + find_rows(ids, chunk_ids[first:last]))
    return np.concatenate(parts)


def field_counts(packed: Any) -> Any:
    """Return the six counts of packed frequencies: title, headings, body, and those repeated.

    They are six bytes of a number, the first the highest of 48 bits.
    """
    return packed[:, None] >> np.arange(40, -1, -8) & 255


def lexical_view(segments: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Join the arrays of segments: row i of segment s becomes row offsets[s] + i.

    Segments lie by text search configuration, then id. The result has by segment `segment_ids`,
    `offsets`, `bounds` (first row, after the last), `code_offsets`, `code_counts`, `code_bytes` and
    `directories` (terms, and where the postings of each start); by row
    `chunk_ids`, `document_ids`, `chunk_indexes`, `lengths`, `own_lengths` and `alive`; `ranges` of
    rows by configuration; and `frequencies`: for each code the occurrences in title, headings and
    body, the chunk's own and those that repeat the chunk before, codes being of `code_type`.

    Segments never change but for deletions, so a session can keep views, and in them what it
    derived: `live` rows, `documents`, `postings` by term, `norms`, `impacts` by term, `sums`, zeros
    to add scores up in, and a `sieve` of terms.
    """
    ordered = sorted(segments, key=lambda segment: (segment["config"], segment["id"]))
    starts = np.cumsum([0, *(len(segment["lengths"]) for segment in ordered)])
    code_starts = np.cumsum([0, *(len(segment["code_book"]) for segment in ordered)])
    code_type = np.min_scalar_type(code_starts[-1])
    bounds = list(pairwise(starts.tolist()))
    ranges: dict[str, tuple[int, int]] = {}
    for segment, (start, end) in zip(ordered, bounds, strict=True):
        ranges[segment["config"]] = (ranges.get(segment["config"], (start, end))[0], end)

    def joined(name: str, kind: Any) -> Any:
        return np.concatenate([np.empty(0, kind), *(segment[name] for segment in ordered)])

    return {
        "segment_ids": [segment["id"] for segment in ordered],
        "offsets": starts[:-1],
        "bounds": bounds,
        "ranges": ranges,
        "code_offsets": code_starts[:-1].astype(code_type),
        "code_counts": np.diff(code_starts),
        "code_type": code_type,
        "code_bytes": [segment["code_bytes"] for segment in ordered],
        "directories": [(segment["terms"], segment["starts"]) for segment in ordered],
        "chunk_ids": joined("chunk_ids", np.int64),
        "document_ids": joined("document_ids", np.int64),
        "chunk_indexes": joined("chunk_indexes", np.int32),
        "lengths": joined("lengths", np.int32),
        "own_lengths": joined("own_lengths", np.int32),
        "alive": joined("alive", np.bool_),
        "frequencies": field_counts(joined("code_book", np.int64)),
        "live": None,
        "documents": None,
        "postings": {},
        "kept_postings": 0,
        "norms": None,
        "impacts": {},
        "sums": None,
        "sieve": None,
    }


def live_rows(view: dict[str, Any], tombstones: bytes | None) -> dict[str, Any]:
    """Return `alive`, a mask of rows, `n`, how many, `total_length` of them, and `tombstones`.

    `tombstones` holds the ids of chunks deleted since the last seal (big-endian int64); those that
    dead lists hide are not alive either. The view keeps the last result.
    """
    live: dict[str, Any] | None = view["live"]
    if live is None or live["tombstones"] != tombstones:
        alive = view["alive"]
        if tombstones:
            alive = alive.copy()
            alive[view_rows(view, np.sort(np.frombuffer(tombstones, ">i8").astype(np.int64)))] = (
                False
            )
        live = view["live"] = {
            "tombstones": tombstones,
            "alive": alive,
            "n": int(np.count_nonzero(alive)),
            "total_length": int(view["lengths"][alive].sum()),
        }
    return live


MOST_ROWS = 4_000_000


def session_view(
    collection_ids: Sequence[int],
    segment_ids: Sequence[int],
    versions: Sequence[str],
    cache: MutableMapping[Any, Any],
    fetch: Callable[[list[int]], Iterable[Mapping[str, Any]]],
    unpack: Callable[[Mapping[str, Any]], dict[str, Any]],
    join: Callable[[Sequence[dict[str, Any]]], dict[str, Any]],
) -> dict[str, Any]:
    """Return the view of these segments of the collections, from `cache` where it has it.

    `versions` change with a segment's dead list, and where an id is given anew.
    `fetch` reads stored segments by id, `unpack` makes arrays of one, `join` a view of several. The
    cache has one view for the same collections, and is emptied first when it holds more than four
    million rows (37 bytes each).
    """
    owner = tuple(collection_ids)
    key = tuple(zip(segment_ids, versions, strict=True))
    kept_key, kept = cache.get(owner, (None, None))
    if kept_key == key:
        view: dict[str, Any] = kept
        return view
    cache.pop(owner, None)
    if sum(len(other["lengths"]) for _, other in cache.values()) > MOST_ROWS:
        cache.clear()
    view = join([unpack(row) for row in (fetch(list(segment_ids)) if segment_ids else [])])
    cache[owner] = key, view
    return view


def report_damage(
    run: Callable[..., Sequence[Mapping[str, Any]]], source: str, id_: int, reason: str
) -> NoReturn:
    """Raise what names the collection and how to mend its index (pgblend._damaged_index).

    `source` is segment or pending, `id_` that of the segment or of the pending chunk. `run`
    executes (statement, types, *values).
    """
    run(
        "SELECT pgblend._damaged_index($1, $2, $3)", ["text", "bigint", "text"], source, id_, reason
    )
    raise ValueError(reason)


def open_index(
    run: Callable[..., Sequence[Mapping[str, Any]]],
    session: MutableMapping[str, Any],
    collection_ids: Sequence[int],
    reading: str | None,
) -> dict[str, Any]:
    """Return the `view` of the collections' segments, which rows are `live`, and what is `pending`.

    `run` executes (statement, types, *values), `session` keeps what was read. Callers with the same
    `reading`, which is made for one snapshot and told nobody else, get what the first of them read.
    Where something had to be read, the search's own Python is told: `warmed_up`. What is damaged
    ends in report_damage.
    """

    def read(routine: str, ids: list[int]) -> Sequence[Mapping[str, Any]]:
        session.get("pgblend_handed", {})["warmed_up"] = True
        return run(f"SELECT * FROM pgblend.{routine}($1)", ["bigint[]"], ids)

    def unpack(segment: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return unpack_segment(segment)
        except ValueError as error:
            report_damage(run, "segment", segment["id"], str(error))

    opened: dict[str, Any] | None = session.get("pgblend_opened")
    if opened is None or reading is None or opened["reading"] != reading:
        state = run("SELECT * FROM pgblend._lexical_state($1)", ["bigint[]"], collection_ids)[0]
        view = session_view(
            collection_ids,
            state["segment_ids"],
            state["versions"],
            session.setdefault("pgblend_kept_views", {}),
            partial(read, "_segment_arrays"),
            unpack,
            lexical_view,
        )
        pending = session_pending(
            state["pending"],
            session.setdefault("pgblend_pending", {}),
            partial(read, "_pending_chunks"),
            partial(report_damage, run, "pending"),
        )
        live = live_rows(view, state["tombstones"])
        opened = {"reading": reading, "view": view, "live": live, "pending": pending}
        session["pgblend_opened"] = opened
    return opened
