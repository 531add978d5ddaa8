"""Inverse document frequencies."""

import math
from collections.abc import Sequence

from pgblend.plpy.ports import Counts


def bm25_idf(n: float, df: float) -> float:
    """Return ln(1 + (n - df + 0.5) / (df + 0.5)), above 0, as Lucene has it.

    `n` chunks, of which `df` have the word.
    """
    return math.log(1 + (n - df + 0.5) / (df + 0.5))


def lexeme_idf(lexeme: str, df: int, n: int) -> float:
    """Return a lexeme's inverse document frequency, where `df` of `n` passages have it.

    A document's name ("==…") counts as if one passage had it, however many documents are called so:
    it comes before its words. Where none has it, it counts as nothing, and no score changes; nor
    does a command's option ("=-…") that none has.
    """
    if lexeme.startswith("=="):
        return bm25_idf(n, 1) if df else 0.0
    return bm25_idf(n, df) if df or not lexeme.startswith("=-") else 0.0


def own_df(counts: Counts) -> Sequence[int]:
    """Return how many have each lexeme, of several languages those of its own."""
    return counts.language_df or counts.df


def query_idf(configs: Sequence[str], lexemes: Sequence[str], counts: Counts) -> list[float]:
    """Return the idf of lexemes, each of a text search configuration.

    Where there are several, a word's share counts within its own (language_idf).
    """
    if not counts.language_n:
        return [lexeme_idf(*each, counts.n) for each in zip(lexemes, counts.df, strict=True)]
    of_words = language_idf(configs, lexemes, counts)
    return [
        lexeme_idf(lexeme, df, counts.n) if lexeme.startswith(OF_NO_LANGUAGE) else value
        for lexeme, df, value in zip(lexemes, counts.language_df, of_words, strict=True)
    ]


DRAWN = 100
OF_NO_LANGUAGE = ("==", "=-")


def language_idf(configs: Sequence[str], lexemes: Sequence[str], counts: Counts) -> list[float]:
    """Return idf where several text search configurations are searched.

    A word's share of the passages is that within its own language, drawn towards its share of all
    by 100 passages: a word in 100 of 240 German passages is no rarer among 10,000 others. It stands
    for df in bm25_idf. Of two translations of a passage the one in the query's language is meant: a
    language's idf is times the square root of the share of the query's lexemes that it has, over
    the largest such share. A document's name ("==…") and a command's option ("=-…") say nothing of
    the query's language.
    """
    known: dict[str, tuple[int, int]] = {}  # lexemes that are there, of how many
    for config, lexeme, df in zip(configs, lexemes, counts.language_df, strict=True):
        if not lexeme.startswith(OF_NO_LANGUAGE):
            there, of_all = known.get(config, (0, 0))
            known[config] = there + (df > 0), of_all + 1
    most, of_most = max(known.values(), key=lambda one: one[0] / one[1], default=(0, 1))

    def weight(config: str) -> float:
        if not most or config not in known:
            return 1.0
        there, of_all = known[config]
        return math.sqrt(there * of_most / (of_all * most))

    def expected(df: int, language_n: int, language_df: int) -> float:
        if language_n == counts.n:
            return df
        drawn = language_df + DRAWN * df / counts.n
        return drawn / (language_n + DRAWN) * counts.n

    shares = zip(counts.df, counts.language_n, counts.language_df, strict=True)
    return [
        weight(config) * bm25_idf(counts.n, expected(*share))
        for config, share in zip(configs, shares, strict=True)
    ]
