"""Quotations found in texts word for word."""

import re
import unicodedata

# In scripts without word spaces a line break means nothing: Thai, kana, Han.
LETTER = r"[\u0e00-\u0eff\u3001-\u30ff\u3400-\u9fff\uf900-\ufaff]"
UNSPACED = re.compile(rf"(?:(?<={LETTER})|(?<={LETTER}[,.;:!?])) (?={LETTER})")


def normalized_words(text: str) -> str:
    """Return the text in Unicode's form NFKC with every run of white space as one space.

    A space between two characters of Chinese, Japanese or Thai goes. Letter case stays.
    """
    return UNSPACED.sub("", " ".join(unicodedata.normalize("NFKC", text).split()))


# What a quotation may end or begin with though the text goes on otherwise.
EDGES = " .,;:!?'\"。、“”„«»\u2018\u2019"


def find_quotation(quotation: str, text: str) -> tuple[int, int] | None:
    """Return the first and last line (from 0) of the text that have the quotation; None: nowhere.

    Both are compared as normalized_words writes them, the quotation without punctuation at its
    ends. It must be of whole words: no letter or digit stands right before or after it in the text.
    """
    sought = normalized_words(quotation).strip(EDGES)
    if not sought:
        return None
    lines, places = [], []
    length = 0
    for number, line in enumerate(text.split("\n")):
        words = normalized_words(line)
        if words:
            lines.append(words)
            places.append((length, number))
            length += len(words) + 1
    for told, is_joined in ((" ".join(lines), False), (normalized_words(" ".join(lines)), True)):
        start = told.find(sought)
        while start >= 0:
            end = start + len(sought)
            if _is_edge(told, start) and _is_edge(told, end):
                if is_joined:  # spaces between lines are gone: places are not those of the lines
                    return 0, places[-1][1]
                first = max(number for place, number in places if place <= start)
                last = max(number for place, number in places if place < end)
                return first, last
            start = told.find(sought, start + 1)
    return None


def _is_edge(text: str, place: int) -> bool:
    """Tell whether a word could begin or end here."""
    before, after = text[place - 1 : place], text[place : place + 1]
    if not (before.isalnum() and after.isalnum()):
        return True
    return not (before.isascii() or after.isascii()) and before >= "\u0e00"


SENTENCE_BREAK = re.compile(r"(?<=[.!?])\s+|(?<=[。\uff01\uff1f])|\n\s*\n")
# Words, and single characters of scripts without word spaces.
LETTER_ALONE = r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
WORD = re.compile(rf"{LETTER_ALONE}|(?:(?!{LETTER_ALONE})\w)+")
LONGEST_QUOTATION = 300


def best_quotation(query: str, text: str) -> tuple[str, int, int] | None:
    """Return a sentence of the text, its first and last line (from 0); None for a blank text.

    It is the first of those with the most different words of the query, of which five letters
    count, in lower case. It has at most 300 characters and is cut between words.
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
