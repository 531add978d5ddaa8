"""How much a rare word tells."""

import math


def bm25_idf(n: int, df: int) -> float:
    """Return ln(1 + (n - df + 0.5) / (df + 0.5)), above 0, as Lucene has it.

    `n` chunks, of which `df` have the word. The routine pgblend._bm25_idf gives the same bits.
    """
    return math.log(1 + (n - df + 0.5) / (df + 0.5))
