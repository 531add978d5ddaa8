"""BM25 of the chunks of one text search configuration."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pgblend.plpy.best_chunks import best_chunks
from pgblend.plpy.candidate_rows import candidate_rows
from pgblend.plpy.document_rows import document_rows
from pgblend.plpy.exact_scores import exact_scores
from pgblend.plpy.find_rows import find_rows
from pgblend.plpy.joined_postings import joined_postings
from pgblend.plpy.part_of_postings import part_of_postings
from pgblend.plpy.passing_best import passing_best
from pgblend.plpy.pending_postings import pending_postings
from pgblend.plpy.row_norms import row_norms
from pgblend.plpy.view_postings import view_postings
from pgblend.plpy.view_rows import view_rows


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
