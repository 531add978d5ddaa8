"""The sentence of a passage that has most of a query's words."""

import re

from pgblend.plpy.normalized_words import normalized_words

SENTENCE_BREAK = re.compile(r"(?<=[.!?])\s+|(?<=[。\uff01\uff1f])|\n\s*\n")
# Words, and single characters of scripts without word spaces.
LETTER_ALONE = r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
WORD = re.compile(rf"{LETTER_ALONE}|(?:(?!{LETTER_ALONE})\w)+")
LONGEST_QUOTATION = 300


def best_quotation(query: str, text: str) -> tuple[str, int, int] | None:
    """Return a sentence of the text, its first and last line (from 0); None for a blank text.

    The first of those with the most different words of the query (as they begin, five letters of
    them, in lower case); at most 300 characters, cut between words.
    """
    asked = {word[:5] for word in WORD.findall(normalized_words(query).casefold())}
    best: tuple[int, int, int] | None = None
    start = 0
    for end, after in [
        *(match.span() for match in SENTENCE_BREAK.finditer(text)),
        (len(text),) * 2,
    ]:
        words = {word[:5] for word in WORD.findall(normalized_words(text[start:end]).casefold())}
        if words and (best is None or len(words & asked) > best[0]):
            best = len(words & asked), start, end
        start = after
    if best is None:
        return None
    _, start, end = best
    start += len(text[start:end]) - len(text[start:end].lstrip())
    if end - start > LONGEST_QUOTATION:
        cut = text.rfind(" ", start + 1, start + LONGEST_QUOTATION)
        end = cut if cut > start else start + LONGEST_QUOTATION
    quotation = text[start:end].rstrip()
    line = text.count("\n", 0, start)
    return quotation, line, line + quotation.count("\n")
