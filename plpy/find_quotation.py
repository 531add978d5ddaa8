"""Find the lines of a text that have a quotation word for word."""

from pgblend.plpy.normalized_words import normalized_words

# What a quotation may end or begin with though the text goes on otherwise.
EDGES = " .,;:!?'\"。、“”„«»\u2018\u2019"


def find_quotation(quotation: str, text: str) -> tuple[int, int] | None:
    """Return the first and last line (from 0) of the text that have the quotation; None: nowhere.

    Both are compared as normalized_words writes them, the quotation without punctuation at its
    ends, at whole words: neither may a letter or digit stand right before or after it in the text.
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
