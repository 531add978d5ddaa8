"""BM25 of chunks."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pgblend.plpy.lexical.contenders import candidate_rows
from pgblend.plpy.lexical.documents import document_rows
from pgblend.plpy.lexical.index import find_rows, view_rows
from pgblend.plpy.lexical.pending import pending_postings
from pgblend.plpy.lexical.postings import joined_postings, part_of_postings, view_postings


def best_chunks(
    found: Sequence[tuple[dict[str, Any], Any, Any]], depth: int
) -> tuple[list[int], list[int], list[int], list[float]]:
    """Return chunk ids, document ids, chunk indexes and scores of the best `depth` rows.

    `found` has (source, rows, scores): a source has `chunk_ids`, `document_ids` and
    `chunk_indexes` by row. Best first; ties by (document id, chunk index).
    """
    scores = np.concatenate([np.empty(0), *(part for _, _, part in found)])
    chunk_ids, document_ids, chunk_indexes = (
        np.concatenate([np.empty(0, np.int64), *(source[name][rows] for source, rows, _ in found)])
        for name in ("chunk_ids", "document_ids", "chunk_indexes")
    )
    order = np.lexsort((chunk_indexes, document_ids, -scores))[:depth]
    return (
        chunk_ids[order].tolist(),
        document_ids[order].tolist(),
        chunk_indexes[order].tolist(),
        scores[order].tolist(),
    )


MOST_DRIFT = 0.01


def row_norms(
    view: dict[str, Any],
    live: dict[str, Any],
    k1: float,
    b: float,
    average_length: float,
    field_weights: Sequence[float],
) -> dict[str, Any]:
    """Return `norms`, k1 · (1 - b + b · length / average length) by row, infinite where not alive.

    In single precision, and for an `average_length` that may be up to a hundredth off: that of an
    earlier search, since it moves with every chunk. `drift` says by how much. Beside them, `tf` has
    for each code the occurrences weighted by field. The view keeps the result.
    """
    key = (k1, b, tuple(field_weights))
    kept: dict[str, Any] | None = view["norms"]
    if (
        kept is None
        or kept["key"] != key
        or kept["live"] is not live
        or abs(average_length / kept["average_length"] - 1) > MOST_DRIFT
    ):
        norms = view["lengths"].astype(np.float32)
        norms *= np.float32(k1 * b / average_length)
        norms += np.float32(k1 * (1 - b))
        norms[~live["alive"]] = np.inf
        kept = view["norms"] = {
            "key": key,
            "live": live,
            "average_length": average_length,
            "norms": norms,
            "tf": view["frequencies"] @ np.array([*field_weights] * 2, np.float64),
        }
        view["impacts"].clear()
    return kept | {"drift": abs(average_length / kept["average_length"] - 1)}


def exact_scores(
    postings: Mapping[str, Any],
    frequencies: Any,
    idf: Sequence[float],
    k1: float,
    norms: Any,
    rows: Any,
) -> Any:
    """Return Σ idf · tf · (k1 + 1) / (tf + norm) of each of `rows`, in double precision.

    Summed in the order of the terms. `postings` has `rows`, ascending within a term, `codes`, which
    are places in `frequencies`, and `starts` of the terms; `norms` are those of `rows`:
    k1 · (1 - b + b · length / average length).
    """
    starts = postings["starts"]
    scores = np.zeros(len(rows))
    if starts[-1] == 0:
        return scores
    places = np.empty((len(idf), len(rows)), np.intp)
    for term, start in enumerate(starts[:-1]):
        places[term] = postings["rows"][start : starts[term + 1]].searchsorted(rows)
    places += np.array(starts[:-1])[:, None]
    found = postings["rows"].take(places, mode="clip") == rows
    found &= places < np.array(starts[1:])[:, None]
    tf = frequencies[postings["codes"].take(places, mode="clip")] * found
    parts = np.array(idf)[:, None] * tf
    parts *= k1 + 1
    np.divide(parts, tf + norms, out=parts, where=tf > 0)
    for part in parts:
        scores += part
    return scores


PLACES = {"chunk_ids": 0, "document_ids": 1}
FIRST_PART = 100  # so many tell 1 in 100 from 1 in 10
READ_IN_TURN = 5  # documents, while one is checked by its key


def passing_best(
    best: Callable[[int, tuple[str, Any] | None], Sequence[Sequence[Any]]],
    checked: Mapping[str, Any],
    depth: int,
    n: int,
) -> Sequence[Sequence[Any]]:
    """Return the first `depth` of `best` that pass, as its columns: chunk ids, document ids….

    `best` returns the columns of a number of chunks, in order, of those alone whose column of a
    name has one of some ids where it is given both. `checked` is what candidate_filter returns.

    Candidates are checked a part at a time: about as many as the share that passed calls for. To
    check all that are needed, depth / share, takes longer than to look up all that pass, share · n
    of n chunks, where few pass and an index finds them or not too many documents are read for it:
    then these are looked up, once, and scored alone.
    """
    column = PLACES[checked["column"]]
    kept: list[tuple[Any, ...]] = []
    allowed, looked_up = None, False
    done, part = 0, max(depth, FIRST_PART)
    wanted = 4 * part
    found = best(wanted, allowed)
    while True:
        rows = [values[done : done + part] for values in found]
        passed = set(checked["passing"](rows[column]).tolist())
        kept += [row for row in zip(*rows, strict=True) if row[column] in passed]
        done += len(rows[0])
        missing = depth - len(kept)
        complete = len(found[0]) < wanted
        if missing <= 0 or (complete and done == len(found[0])):
            return [[row[place] for row in kept[:depth]] for place in range(len(found))]
        share = max(len(kept), 0.5) / done
        part = int(1.25 * missing / share) + 1
        needed = min(part, len(found[0]) - done) if complete else part
        read = checked["documents_read"] / READ_IN_TURN
        if not looked_up and max(share * n, read) < needed:
            looked_up = True
            ids = checked["look_up"](int(2 * (depth * n) ** 0.5))
            if ids is not None:
                kept, done, part, wanted = [], 0, depth, depth
                allowed = checked["column"], ids
                found = best(wanted, allowed)
        elif done + part > len(found[0]) and not complete:
            wanted = max(4 * wanted, done + part)
            found = best(wanted, allowed)


def score_index(
    opened: Mapping[str, Any],
    config: str,
    terms: Sequence[int],
    idf: Sequence[float],
    formula: Mapping[str, Any],
    depth: int,
    checked: Mapping[str, Any] | None,
    run: Callable[..., Sequence[Mapping[str, Any]]],
    check: Callable[[], None],
) -> Sequence[Sequence[Any]]:
    """Return chunk ids, document ids, chunk indexes and scores of the best `depth` chunks.

    score = Σ idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / average length)), summed in the
    order of the terms; `formula` has k1, b, average_length and field_weights, which make tf of the
    occurrences in title, headings and body. `opened` is what open_index returns. Only chunks that
    pass what candidate_filter returned, `checked`, count, all where it is None. `run` executes
    (statement, types, *values), `check` is called between steps.
    """
    arguments = (config, terms, idf, formula)

    def best(count: int, allowed: tuple[str, Any] | None) -> Sequence[Sequence[Any]]:
        found = []
        if config in opened["view"]["ranges"]:
            found.append(best_sealed(opened, *arguments, count, allowed, run, check))
        if opened["pending"] is not None and config in opened["pending"]["ranges"]:
            found.append(all_pending(opened["pending"], *arguments, allowed))
        check()
        return best_chunks(found, count)

    if checked is None:
        return best(depth, None)
    return passing_best(best, checked, depth, opened["live"]["n"])


def best_sealed(
    opened: Mapping[str, Any],
    config: str,
    terms: Sequence[int],
    idf: Sequence[float],
    formula: Mapping[str, Any],
    depth: int,
    allowed: tuple[str, Any] | None,
    run: Callable[..., Sequence[Mapping[str, Any]]],
    check: Callable[[], None],
) -> tuple[dict[str, Any], Any, Any]:
    """Return the view, and rows and scores of its best chunks, more than `depth` with ties."""
    view = opened["view"]
    postings = view_postings(view, terms, run)
    check()
    if not terms:
        return view, np.empty(0, np.intp), np.empty(0)
    norms = row_norms(view, opened["live"], **formula)
    joined = joined_postings(terms, postings, view["impacts"], norms["norms"], norms["tf"])
    start, end = view["ranges"][config]
    if allowed is not None or end - start < len(view["lengths"]):
        wanted = None if allowed is None else allowed_rows(view, *allowed)
        joined = part_of_postings(joined, start, end, wanted)
    sums = view["sums"] if view["sums"] is not None else np.zeros(len(view["lengths"]), np.float32)
    view["sums"] = None  # lost where a step fails before they are zeros again
    k1 = formula["k1"]
    weights = [value * (k1 + 1) for value in idf]
    rows = candidate_rows(joined, weights, sums[: end - start], depth, norms["drift"], check)
    view["sums"] = sums
    exact = exact_norms(view["lengths"][start + rows], formula)
    return view, start + rows, exact_scores(joined, norms["tf"], idf, k1, exact, rows)


def allowed_rows(view: dict[str, Any], column: str, ids: Any) -> Any:
    """Return the rows that have one of some sorted ids in a column: of chunks, or of documents."""
    if column == "chunk_ids":
        return view_rows(view, ids)
    documents, places = document_rows(view, None)
    passing = np.zeros(len(documents), np.bool_)
    passing[find_rows(documents, ids)] = True
    return np.flatnonzero(passing[places])


def exact_norms(lengths: Any, formula: Mapping[str, Any]) -> Any:
    """Return k1 · (1 - b + b · length / average length)."""
    k1, b = formula["k1"], formula["b"]
    return k1 * (1 - b + b * lengths / formula["average_length"])


def all_pending(
    pending: dict[str, Any],
    config: str,
    terms: Sequence[int],
    idf: Sequence[float],
    formula: Mapping[str, Any],
    allowed: tuple[str, Any] | None,
) -> tuple[dict[str, Any], Any, Any]:
    """Return the pending chunks, and rows and scores of those that have any of the terms."""
    postings = pending_postings(pending, terms, *pending["ranges"][config])
    frequencies = postings["fields"] @ np.array([*formula["field_weights"]] * 2, np.float64)
    rows = np.unique(postings["rows"][frequencies > 0])
    if allowed is not None:
        column, ids = allowed
        rows = rows[np.isin(pending[column][rows], ids)]
    norms = exact_norms(pending["lengths"][rows], formula)
    return pending, rows, exact_scores(postings, frequencies, idf, formula["k1"], norms, rows)
