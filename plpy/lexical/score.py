"""BM25 of chunks."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from pgblend.plpy.base.ports import Formula, Operand
from pgblend.plpy.base.session import Database
from pgblend.plpy.lexical.candidate_filter import CandidateFilter
from pgblend.plpy.lexical.chunk_rows import ChunkRows, Floats, Integers, Pair, find_rows
from pgblend.plpy.lexical.documents import document_places
from pgblend.plpy.lexical.index import IndexView, Live, Norms, OpenIndex, view_rows
from pgblend.plpy.lexical.pending import Pending, pending_postings
from pgblend.plpy.lexical.postings import (
    Postings,
    part_of_postings,
    view_postings,
    weighed_postings,
)
from pgblend.plpy.lexical.records import term_ids
from pgblend.plpy.lexical.segment import SealedRows

# The rows that may be among the best, by sums in single precision.

MANY = 8
PROBE_SHARE = 16
SMALL_TERM = 4096
FEW_BLOCKS, MANY_BLOCKS = 512, 4096
ROUNDING = 1e-5


def candidate_rows(
    postings: Sequence[Postings],
    weights: Sequence[float],
    sums: Floats,
    depth: int,
    drift: float,
    check: Callable[[], None],
) -> Integers:
    """Return the rows, ascending, whose sum of weight · impact may be among the `depth` largest.

    The impacts of `postings`, those of the terms, may be a share of `drift` off; `weights` are the
    terms'. Ties and rounding are included, rows with a sum of 0 are not. `sums` is an array of
    zeros, one a row, and has zeros again afterwards. `check` is called between steps.
    """
    slack = 1 - ROUNDING - 2 * drift
    if sum(len(of_term.rows) for of_term in postings) * MANY < len(sums):
        return gathered(postings, weights, sums, depth, slack)
    rows = added_up(postings, weights, sums, depth, slack, check)
    places = largest(sums if rows is None else sums[rows], depth, slack)
    sums.fill(0)
    check()
    return places if rows is None else rows[places]


def gathered(
    postings: Sequence[Postings],
    weights: Sequence[float],
    sums: Floats,
    depth: int,
    slack: float,
) -> Integers:
    """Add up at the rows that occur: nothing here takes time by row of the view."""
    of_terms = [of_term.rows.astype(np.intp, copy=False) for of_term in postings]
    for rows, of_term, weight in zip(of_terms, postings, weights, strict=True):
        add(sums, rows, of_term.impacts * np.float32(weight))
    reached = []
    for rows in of_terms:  # a row's sum is taken once, with the first of its terms
        reached.append(sums.take(rows, mode="clip"))
        sums[rows] = 0
    places = largest(np.concatenate(reached), depth, slack)
    return np.sort(np.concatenate(of_terms)[places])


def largest(values: Floats, count: int, slack: float) -> Integers:
    """Return the places of the values that reach a share of `slack` of the `count` largest.

    Ascending; values of 0 are left out.
    """
    threshold = np.float32(kth_of_blocks(values, count) * slack)
    places = np.flatnonzero(values >= threshold if threshold > 0 else values > 0)
    if len(places) > count:
        reached = values[places]
        cut = np.partition(reached, len(reached) - count)[len(reached) - count]
        places = places[reached >= cut * np.float32(slack)]
    return places


def kth_of_blocks(values: Floats, k: int) -> float:
    """Return a lower bound of the k-th largest value: the k-th largest of the maxima of blocks.

    Of B blocks, block i has the places i, i + B, i + 2 · B and so on. Neighbours, which are often
    alike, are never in the same one.
    """
    blocks = FEW_BLOCKS if k * 4 <= FEW_BLOCKS else MANY_BLOCKS
    height = len(values) // blocks
    if k > blocks or height < 2:
        return 0.0
    maxima = values[: height * blocks].reshape(height, blocks).max(axis=0)
    return float(np.partition(maxima, blocks - k)[blocks - k])


def added_up(
    postings: Sequence[Postings],
    weights: Sequence[float],
    sums: Floats,
    depth: int,
    slack: float,
    check: Callable[[], None],
) -> Integers | None:
    """Add up in `sums`, rarest terms first; return the rows that count, None for all.

    At some place no row without one of the first terms can reach the best `depth`. From there
    common ones are only looked up for the rows that still can.
    """
    candidates: Integers | None = None
    by_count = sorted(range(len(weights)), key=lambda term: len(postings[term].rows))
    for place, term in enumerate(by_count):
        rows, _, impacts = postings[term]
        later = sum(weights[other] for other in by_count[place:])
        if (
            candidates is None
            and len(rows) > max(SMALL_TERM, len(sums) // PROBE_SHARE)
            and later < sum(weights[other] for other in by_count[:place])
        ):
            check()
            candidates = contenders(sums, depth, slack, later, len(rows))
        weight = np.float32(weights[term])
        if candidates is None:
            add(sums, rows.astype(np.intp, copy=False), impacts * weight)
        elif len(rows):
            places = rows.searchsorted(candidates.astype(rows.dtype, copy=False))
            found = rows.take(places, mode="clip") == candidates
            sums[candidates[found]] += impacts[places[found]] * weight
    return candidates


def add(sums: Floats, rows: Integers, values: Floats) -> None:
    """Add values, which it changes, at different rows: faster than `sums[rows] += values`."""
    values += sums.take(rows, mode="clip")
    sums[rows] = values


def contenders(sums: Floats, depth: int, slack: float, bound: float, count: int) -> Integers | None:
    """Return the rows that can be among the best `depth` when at most `bound` is added to each.

    None where rows with a sum of 0 could be among them. None, too, where they are so many that to
    look them up takes longer than to add `count` postings.
    """
    threshold = kth_of_blocks(sums, depth) * slack - bound
    if threshold <= 0:
        return None
    rows = np.flatnonzero(sums >= np.float32(threshold))
    return rows if len(rows) * PROBE_SHARE < count else None


Hit = tuple[int, int, int, float]  # chunk id, document id, chunk index, score
AnyRows = ChunkRows | SealedRows
Scored = tuple[AnyRows, Integers, Floats]  # rows of some chunks, and their scores
Allowed = tuple[str, Integers]  # chunk_ids or document_ids, and which of them
Phrase = Sequence[Sequence[str]]  # the lexemes of each form in which it may stand


def best_hits(found: Sequence[Scored], depth: int) -> list[Hit]:
    """Return the best `depth` rows, best first; ties by (document id, chunk index)."""
    hits: list[Hit] = []
    for source, rows, scores in found:
        order = np.lexsort((source.chunk_indexes[rows], source.document_ids[rows], -scores))[:depth]
        hits += hits_of(source, rows[order], scores[order])
    if len(found) > 1:
        hits.sort(key=lambda hit: (-hit[3], hit[1], hit[2]))
    return hits[:depth]


def hits_of(rows: AnyRows, places: Integers, scores: Floats) -> list[Hit]:
    """Return the rows at some places as hits."""
    return list(
        zip(
            rows.chunk_ids[places].tolist(),
            rows.document_ids[places].tolist(),
            rows.chunk_indexes[places].tolist(),
            scores.tolist(),
            strict=True,
        )
    )


MOST_DRIFT = 0.01


def row_norms(view: IndexView, live: Live, formula: Formula) -> tuple[Norms, float]:
    """Return norms for an average length that may be up to a hundredth off.

    It is that of an earlier search, since it moves with every chunk. The second value, drift, says
    by how much. The view keeps the result.
    """
    key = (formula.k1, formula.b, tuple(formula.field_weights))
    kept = view.norms
    if (
        kept is None
        or kept.key != key
        or kept.live is not live
        or abs(formula.average_length / kept.average_length - 1) > MOST_DRIFT
    ):
        tf = weighted(view.frequencies, formula)
        kept = view.norms = Norms(key, live, formula.average_length, view.rows.lengths, tf)
        for term in [*view.impacts]:
            view.forget_impacts(term)
    return kept, abs(formula.average_length / kept.average_length - 1)


def weighted(frequencies: Integers, formula: Formula) -> Floats:
    """Return the occurrences weighted by field, own and repeated ones together."""
    weights: Floats = np.array([*formula.field_weights] * 2, np.float64)
    return frequencies @ weights


def exact_scores(
    postings: Sequence[Pair],
    frequencies: Floats,
    idf: Sequence[float],
    k1: float,
    norms: Floats,
    rows: Integers,
) -> Floats:
    """Return Σ idf · tf · (k1 + 1) / (tf + norm) of each of `rows`, in double precision.

    Summed in the order of the terms. The postings' codes are places in `frequencies`; `norms` are
    those of `rows`: k1 · (1 - b + b · length / average length).
    """
    tf = np.zeros((len(idf), len(rows)))
    for place, (known, codes) in enumerate(postings):
        if len(known):
            places = known.searchsorted(rows.astype(known.dtype, copy=False))
            found = known.take(places, mode="clip") == rows
            np.multiply(frequencies[codes.take(places, mode="clip")], found, out=tf[place])
    parts = np.array(idf)[:, None] * tf
    parts *= k1 + 1
    np.divide(parts, tf + norms, out=parts, where=tf > 0)
    scores = np.zeros(len(rows))
    for part in parts:
        scores += part
    return scores


ID_OF: dict[str, Callable[[Hit], int]] = {
    "chunk_ids": itemgetter(0),
    "document_ids": itemgetter(1),
}
FIRST_PART = 100  # so many tell 1 in 100 from 1 in 10
READ_IN_TURN = 5  # documents, while one is checked by its key
FEW = 8  # one of so many has the words of a phrase


def passing_best(
    best: Callable[[int, Allowed | None], list[Hit]],
    checked: CandidateFilter,
    depth: int,
    n: int,
    allowed: Allowed | None = None,
) -> list[Hit]:
    """Return the first `depth` of `best` that pass; others than those `allowed` do not.

    `best` returns a number of chunks, in order. Given a column and ids as well, it returns those
    alone that have one of the ids there.

    Candidates are checked a part at a time: about as many as the share that passed calls for. To
    check all that are needed takes depth / share steps. To look up all that pass takes share · n of
    n chunks. Where few pass, the look-up is faster, if an index finds them or few documents are
    read for it. Then these are looked up, once, and scored alone.
    """
    id_of = ID_OF[checked.column]
    kept: list[Hit] = []
    looked_up = False
    done, part = 0, max(depth, FIRST_PART)
    wanted = 4 * part
    found = best(wanted, allowed)
    while True:
        looked_at = found[done : done + part]
        passed = set(checked.passing(list(map(id_of, looked_at))).tolist())
        kept += [hit for hit in looked_at if id_of(hit) in passed]
        done += len(looked_at)
        missing = depth - len(kept)
        complete = len(found) < wanted
        if missing <= 0 or (complete and done == len(found)):
            return kept[:depth]
        share = max(len(kept), 0.5) / done
        part = int(1.25 * missing / share) + 1
        needed = min(part, len(found) - done) if complete else part
        read = checked.documents_read / READ_IN_TURN
        if not looked_up and max(share * n, read) < needed:
            looked_up = True
            looked = checked.look_up(int(2 * (depth * n) ** 0.5))
            if looked is not None:
                kept, done, part, wanted = [], 0, depth, depth
                allowed = checked.column, looked
                found = best(wanted, allowed)
        elif done + part > len(found) and not complete:
            wanted = max(4 * wanted, done + part)
            found = best(wanted, allowed)


class Scoring(NamedTuple):
    """BM25 of the chunks of one text search configuration that have any of some terms.

    score = Σ idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / average length)), summed in the
    order of the terms. The field weights make tf of the occurrences in title, headings and body.
    `check` is called between steps.
    """

    db: Database
    opened: OpenIndex
    config: str
    terms: Sequence[int]
    idf: Sequence[float]
    formula: Formula
    check: Callable[[], None]

    def best(self, count: int, allowed: Allowed | None = None) -> list[Hit]:
        """Return the best chunks, of those alone that are allowed."""
        opened = self.opened
        found: list[Scored] = []
        if self.config in opened.view.ranges:
            found.append(best_sealed(self, count, allowed))
        if opened.pending is not None and self.config in opened.pending.ranges:
            found.append(all_pending(self, opened.pending, allowed))
        self.check()
        return best_hits(found, count)

    def best_passing(
        self, checked: CandidateFilter | None, depth: int, operands: Sequence[Operand] = ()
    ) -> list[Hit]:
        """Return the best chunks of those that pass, all where `checked` is None.

        What passes has an alternative of `operands`. Chunks that lack the words of each are not
        checked, where these leave out most. Of a rare phrase, ever more would be.
        """
        if checked is None:
            return self.best(depth)
        live, pending = self.opened.live, self.opened.pending
        of_all = live.n + (len(pending.rows) if pending else 0)
        alternatives = needed_phrases(operands)
        ids = None
        if alternatives is not None:
            ids = chunks_with_all(self.db, self.opened, alternatives)
        self.check()
        allowed = ("chunk_ids", ids) if ids is not None and len(ids) * FEW < of_all else None
        return passing_best(self.best, checked, depth, live.n, allowed)


def chunks_with_all(
    db: Database, opened: OpenIndex, alternatives: Sequence[Sequence[Phrase]]
) -> Integers:
    """Return the chunks that have the words of all phrases of an alternative, ascending."""
    view, pending = opened.view, opened.pending
    lexemes = list(dict.fromkeys(chain.from_iterable(chain(*chain(*alternatives)))))
    terms = term_ids(lexemes)
    found: list[Integers] = [np.empty(0, np.int64)]

    def rows_of(postings: Sequence[Pair]) -> list[Integers]:
        lists = dict(zip(lexemes, (rows for rows, _ in postings), strict=True))
        return [in_all([in_any(one, lists) for one in phrases]) for phrases in alternatives]

    if len(view.rows):
        sealed = rows_of(view_postings(db, view, terms))
        found += [view.rows.chunk_ids[rows].astype(np.int64) for rows in sealed]
    if pending is not None:
        postings, _ = pending_postings(pending, terms, 0, len(pending.rows))
        found += [pending.rows.chunk_ids[rows] for rows in rows_of(postings)]
    return np.unique(np.concatenate(found))


def in_any(phrase: Phrase, lists: Mapping[str, Integers]) -> Integers:
    """Return the rows, ascending, that have all words of a form of a phrase."""
    forms = [in_all([lists[lexeme] for lexeme in form]) for form in phrase]
    return forms[0] if len(forms) == 1 else np.unique(np.concatenate(forms))


def in_all(lists: Sequence[Integers]) -> Integers:
    """Return the rows that all of some lists have; the lists ascend."""
    rows, *others = sorted(lists, key=len)
    for other in others:
        places = other.searchsorted(rows)
        rows = rows[other.take(places, mode="clip") == rows] if len(other) else rows[:0]
    return rows.astype(np.intp)


LEXEME = re.compile(r"'((?:[^']|'')*)'")
FORM = re.compile(r"(^|\| )\(([^()]*)\)(?= \||$)")  # of a phrase in brackets, as one of several


def needed_phrases(operands: Sequence[Operand]) -> list[list[Phrase]] | None:
    """Return of each alternative its phrases, as the lexemes that each form of them has.

    None where an alternative needs no word. A phrase whose operators are nested is left out.
    """
    needed: dict[int, list[Phrase]] = {}
    for alternative, operand, excluded in operands:
        phrases = needed.setdefault(alternative, [])
        lexemes = (one.replace("''", "'").replace("\\\\", "\\") for one in LEXEME.findall(operand))
        bare = FORM.sub(r"\1\2", LEXEME.sub("'", operand))
        if not excluded and "(" not in bare and "!" not in bare:
            phrases.append([list(islice(lexemes, form.count("'"))) for form in bare.split("|")])
    return list(needed.values()) if needed and all(needed.values()) else None


WINDOW = 1 << 18  # rows that are scored at a time: their sums take a megabyte


def best_sealed(scoring: Scoring, depth: int, allowed: Allowed | None) -> Scored:
    """Return the view's rows, and the best of them with scores, more than `depth` with ties."""
    view, terms, idf = scoring.opened.view, scoring.terms, scoring.idf
    formula = scoring.formula
    postings = view_postings(scoring.db, view, terms)
    scoring.check()
    if not terms:
        return view.rows, np.empty(0, np.intp), np.empty(0)
    norms, drift = row_norms(view, scoring.opened.live, formula)
    weighed = weighed_postings(scoring.db, view, terms, postings, norms)
    wanted = None if allowed is None else allowed_rows(view, *allowed)
    sums = view.sums if view.sums is not None else np.zeros(min(len(view.rows), WINDOW), np.float32)
    view.sums = None  # lost where a step fails before they are zeros again
    weights = [value * (formula.k1 + 1) for value in idf]
    start, end = view.ranges[scoring.config]
    found = []
    for first in range(start, end, WINDOW):
        last = min(first + WINDOW, end)
        is_part = wanted is not None or last - first < len(view.rows)
        part = part_of_postings(weighed, first, last, wanted) if is_part else weighed
        best = candidate_rows(part, weights, sums[: last - first], depth, drift, scoring.check)
        found.append(first + best)
    view.sums = sums
    rows = np.concatenate(found)
    exact = exact_norms(view.rows.lengths[rows], formula)
    return view.rows, rows, exact_scores(postings, norms.tf, idf, formula.k1, exact, rows)


def allowed_rows(view: IndexView, column: str, ids: Integers) -> Integers:
    """Return the rows that have one of some sorted ids in a column: of chunks, or of documents."""
    if column == "chunk_ids":
        return view_rows(view, ids)
    documents, places = document_places(view, None)
    passing = np.zeros(len(documents), np.bool_)
    passing[find_rows(documents, ids)] = True
    return np.flatnonzero(passing[places])


def exact_norms(lengths: Integers | Floats, formula: Formula) -> Floats:
    """Return k1 · (1 - b + b · length / average length)."""
    k1, b = formula.k1, formula.b
    norms: Floats = k1 * (1 - b + b * lengths.astype(np.float64) / formula.average_length)
    return norms


def all_pending(scoring: Scoring, pending: Pending, allowed: Allowed | None) -> Scored:
    """Return the pending chunks, and rows and scores of those that have any of the terms."""
    formula = scoring.formula
    postings, counts = pending_postings(pending, scoring.terms, *pending.ranges[scoring.config])
    frequencies = weighted(counts, formula)
    terms_rows = np.concatenate([np.empty(0, np.intp), *(rows for rows, _ in postings)])
    rows: Integers = np.unique(terms_rows[frequencies > 0])
    if allowed is not None:
        column, ids = allowed
        owners = pending.rows.chunk_ids if column == "chunk_ids" else pending.rows.document_ids
        rows = rows[np.isin(owners[rows], ids)]
    norms = exact_norms(pending.rows.lengths[rows], formula)
    scores = exact_scores(postings, frequencies, scoring.idf, formula.k1, norms, rows)
    return pending.rows, rows, scores
