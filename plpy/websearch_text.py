"""A query for websearch_to_tsquery, in words as passages have them."""

import re

from pgblend.plpy.indexable_text import indexable_text


def websearch_text(query: str) -> str:
    """Return the query with its words as the parser got them of passages (indexable_text).

    Operators stay: phrases in quotes, or, a leading hyphen. What becomes several words (a compound,
    a path, a script without word spaces) is a phrase, as PostgreSQL makes one of a compound. A
    quote that is never closed reaches to the end, as it has it.
    """
    parts = []
    for minus, phrase, word in re.findall(r'(-?)"([^"]*)(?:"|$)|([^\s"]+)', query):
        if word:
            minus = "-" if word.startswith("-") else ""
        words = indexable_text(phrase or word).split()
        if phrase or len(words) > 1:
            parts.append(f'{minus}"{" ".join(words)}"')
        elif words:
            parts.append(minus + words[0])
    return " ".join(parts)
