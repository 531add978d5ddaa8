"""What the index tells of lexemes: how many chunks or documents have them, and which it knows."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from pgblend.plpy.lexical.arrays import Mask
from pgblend.plpy.lexical.documents import count_documents, joined_rows
from pgblend.plpy.lexical.index import IndexView, OpenIndex
from pgblend.plpy.lexical.pending import pending_postings
from pgblend.plpy.lexical.postings import view_postings
from pgblend.plpy.session import Database


def count_chunks(
    db: Database, opened: OpenIndex, terms: Sequence[int]
) -> tuple[int, int, list[int]]:
    """Return (live chunks, their total length, live chunks with each term)."""
    live, pending = opened.live, opened.pending
    n, total_length = live.n, live.total_length
    postings = view_postings(db, opened.view, terms)
    df = [len(rows) for rows, _ in postings]
    if n < len(live.alive):
        df = [int(np.count_nonzero(live.alive[rows])) for rows, _ in postings]
    if pending is not None:
        chunks = len(pending.rows)
        n += chunks
        total_length += int(pending.rows.lengths.sum())
        starts = pending_postings(pending, terms, 0, chunks)[0].starts
        df = [count + end - start for count, (start, end) in zip(df, pairwise(starts), strict=True)]
    return n, total_length, df


def count_languages(
    db: Database,
    opened: OpenIndex,
    configs: Sequence[str],
    terms: Sequence[int],
    by_document: bool,
) -> tuple[list[int], list[int]]:
    """Return for each term (live chunks of its text search configuration, those that have it).

    `configs` has the configuration of each term; documents are counted instead where `by_document`.
    """
    totals, with_term = [0] * len(terms), [0] * len(terms)
    for config in dict.fromkeys(configs):
        places = [place for place, one in enumerate(configs) if one == config]
        found = joined_rows(db, opened, config, [terms[place] for place in places])
        if by_document:
            n, _, df = count_documents(found)
        else:
            alive = found.alive
            n, df = int(alive.sum()), [int(alive[rows].sum()) for rows, _ in found.postings]
        for place, count in zip(places, df, strict=True):
            totals[place], with_term[place] = n, count
    return totals, with_term


PLACES_A_TERM = 4


def known_terms(opened: OpenIndex, config: str, terms: Iterable[int]) -> set[int]:
    """Return those of the terms that chunks of a text search configuration have.

    Sealed chunks that were deleted count until their segment is written anew.
    """
    wanted = np.array([*terms], np.int64)
    view, pending = opened.view, opened.pending
    found: set[int] = set()
    if config in view.ranges:
        # Few of the guesses at a word are there: these alone are looked for, in order.
        sieve = term_sieve(view)
        likely = np.sort(wanted[sieve[wanted & len(sieve) - 1]])
        first, last = view.ranges[config]
        for (directory, _), (start, _) in zip(view.directories, view.bounds, strict=True):
            if first <= start < last and len(directory):
                has = directory.take(directory.searchsorted(likely), mode="clip") == likely
                found.update(likely[has].tolist())
    if pending is not None and config in pending.ranges:
        first, last = pending.ranges[config]
        chunks = pending.ordinals
        of_config = pending.terms[(chunks >= first) & (chunks < last)]
        found.update(wanted[np.isin(wanted, of_config)].tolist())
    return found


def term_sieve(view: IndexView) -> Mask:
    """Return whether a sealed term has these last bits, for a power of two of them; it is kept."""
    if view.sieve is None:
        count = PLACES_A_TERM * sum(len(terms) for terms, _ in view.directories)
        sieve = np.zeros(1 << count.bit_length(), np.bool_)
        for terms, _ in view.directories:
            sieve[terms & len(sieve) - 1] = True
        view.sieve = sieve
    return view.sieve
