"""Parse a search query into its words, phrases and exclusions."""

import re
from typing import Any

PROSE_WORDS = 10


def query_groups(query: str) -> dict[str, Any]:
    """Parse `query` with the operators of websearch_to_tsquery: "phrase", or, -exclusion.

    Returns a dict: `words`, the text whose lexemes rank (plain words and the words of phrases),
    and `groups`, the alternatives between `or`, each a dict of `words` (any may occur), `phrases`
    (must occur) and `excluded` (must not). An `or` with nothing before or after it is left out. A
    quote that is never closed reaches to the end. Prose has no operators: it is all words.
    """
    token = re.compile(r'(-?)"([^"]*)(?:"|$)|(\S+)')
    ranking: list[str] = []
    groups: list[dict[str, list[str]]] = []
    alternative = True
    if is_prose(query):
        query = re.sub(r'"|(?<!\S)-+', " ", query)
        words = query.split()
        return {
            "words": " ".join(words),
            "groups": [{"words": words, "phrases": [], "excluded": []}],
        }
    for match in token.finditer(query):
        minus, phrase, word = match.groups()
        if word is not None and word.lower() == "or":
            alternative = True
            continue
        if alternative:
            groups.append({"words": [], "phrases": [], "excluded": []})
            alternative = False
        if word is None:
            groups[-1]["excluded" if minus else "phrases"].append(phrase)
            ranking += [] if minus else [phrase]
        elif word.startswith("-") and word.strip("-"):
            groups[-1]["excluded"].append(word.lstrip("-"))
        else:
            groups[-1]["words"].append(word)
            ranking.append(word)
    return {"words": " ".join(ranking), "groups": groups}


def is_prose(query: str) -> bool:
    """Tell whether a query was written as sentences, in which quotes and dashes are punctuation.

    It has more than ten words outside quotes, and a sentence ends in it.
    """
    outside = re.sub(r'"[^"]*(?:"|$)', " ", query)
    return len(outside.split()) > PROSE_WORDS and bool(re.search(r"[.?!](?:\s|$)", outside))
