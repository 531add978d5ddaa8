"""What BM25 needs to know of the collections."""

import math
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pgblend.plpy.lexical.documents import count_documents, joined_rows
from pgblend.plpy.lexical.pending import pending_postings


def bm25_idf(n: int, df: int) -> float:
    """Return ln(1 + (n - df + 0.5) / (df + 0.5)), above 0, as Lucene has it.

    `n` chunks, of which `df` have the word. The routine pgblend._bm25_idf gives the same bits.
    """
    return math.log(1 + (n - df + 0.5) / (df + 0.5))


def lexeme_idf(lexeme: str, df: int, n: int) -> float:
    """Return a lexeme's inverse document frequency, where `df` of `n` passages have it.

    A document's name ("==…") counts as if one passage had it, however many documents are called so:
    it comes before its words. Where none has it, it counts as nothing, and no score changes.
    """
    if lexeme.startswith("=="):
        return bm25_idf(n, 1) if df else 0.0
    return bm25_idf(n, df)


def count_lexemes(
    live: dict[str, Any],
    postings: Sequence[tuple[Any, Any]],
    pending: dict[str, Any] | None,
    terms: Sequence[int],
) -> tuple[int, int, list[int]]:
    """Return (live chunks, their total length, live chunks with each term).

    `live` is what live_rows returns, `postings` has (rows, codes) of each term. Pending chunks are
    added.
    """
    n, total_length = live["n"], live["total_length"]
    df = [len(rows) for rows, _ in postings]
    if n < len(live["alive"]):
        df = [int(np.count_nonzero(live["alive"][rows])) for rows, _ in postings]
    if pending is not None:
        chunks = len(pending["lengths"])
        n += chunks
        total_length += int(pending["lengths"].sum())
        starts = pending_postings(pending, terms, 0, chunks)["starts"]
        df = [count + end - start for count, (start, end) in zip(df, pairwise(starts), strict=True)]
    return n, total_length, df


def count_languages(
    opened: Mapping[str, Any],
    configs: Sequence[str],
    terms: Sequence[int],
    by_document: bool,
    run: Callable[..., Sequence[Mapping[str, Any]]],
) -> tuple[list[int], list[int]]:
    """Return for each term (live chunks of its text search configuration, those that have it).

    `configs` has the configuration of each term; documents are counted instead where `by_document`.
    `opened` is what open_index returns, `run` executes (statement, types, *values).
    """
    totals, with_term = [0] * len(terms), [0] * len(terms)
    for config in dict.fromkeys(configs):
        places = [place for place, one in enumerate(configs) if one == config]
        rows = joined_rows(opened, config, [terms[place] for place in places], run)
        postings, alive = rows["postings"], rows["alive"]
        if by_document:
            n, _, df = count_documents(postings, rows["documents"], alive, rows["own_lengths"])
        else:
            n, df = int(alive.sum()), [int(alive[found].sum()) for found, _ in postings]
        for place, count in zip(places, df, strict=True):
            totals[place], with_term[place] = n, count
    return totals, with_term


PLACES_A_TERM = 4


def known_terms(opened: Mapping[str, Any], config: str, terms: Iterable[int]) -> set[int]:
    """Return those of the terms that chunks of a text search configuration have.

    `opened` is what open_index returns. Sealed chunks that were deleted count until their segment
    is written anew.
    """
    wanted = np.array([*terms], np.int64)
    view, pending = opened["view"], opened["pending"]
    found = set()
    if config in view["ranges"]:
        # Few of the guesses at a word are there: these alone are looked for, in order.
        sieve = term_sieve(view)
        likely = np.sort(wanted[sieve[wanted & len(sieve) - 1]])
        first, last = view["ranges"][config]
        for (directory, _), (start, _) in zip(view["directories"], view["bounds"], strict=True):
            if first <= start < last and len(directory):
                has = directory.take(directory.searchsorted(likely), mode="clip") == likely
                found.update(likely[has].tolist())
    if pending is not None and config in pending["ranges"]:
        first, last = pending["ranges"][config]
        chunks = pending["ordinals"]
        of_config = pending["terms"][(chunks >= first) & (chunks < last)]
        found.update(wanted[np.isin(wanted, of_config)].tolist())
    return found


def term_sieve(view: MutableMapping[str, Any]) -> Any:
    """Return whether a sealed term has these last bits, for a power of two of them; it is kept."""
    if view["sieve"] is None:
        count = PLACES_A_TERM * sum(len(terms) for terms, _ in view["directories"])
        sieve = np.zeros(1 << count.bit_length(), np.bool_)
        for terms, _ in view["directories"]:
            sieve[terms & len(sieve) - 1] = True
        view["sieve"] = sieve
    return view["sieve"]
