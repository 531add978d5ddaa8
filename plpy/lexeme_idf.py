"""How much a lexeme of a query tells."""

from pgblend.plpy.bm25_idf import bm25_idf


def lexeme_idf(lexeme: str, df: int, n: int) -> float:
    """Return a lexeme's inverse document frequency, where `df` of `n` passages have it.

    A document's name ("==…") counts as if one passage had it, however many documents are called so:
    it comes before its words. Where none has it, it counts as nothing, and no score changes.
    """
    if lexeme.startswith("=="):
        return bm25_idf(n, 1) if df else 0.0
    return bm25_idf(n, df)
