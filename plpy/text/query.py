"""A search query parsed into words, phrases and exclusions."""

import re
from typing import Any

from pgblend.plpy.text.words import indexable_text

PROSE_WORDS = 10


def query_groups(query: str) -> dict[str, Any]:
    """Parse `query` with the operators of websearch_to_tsquery: "phrase", or, -exclusion.

    Returns a dict: `words` is the text whose lexemes rank, plain words and the words of phrases.
    `groups` are the alternatives between `or`, each a dict of `words` (any may occur), `phrases`
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


def query_size(query: str) -> tuple[int, int]:
    """Return how many different words a query has, and how many operators.

    Words are runs of letters and digits, of scripts without word spaces pairs of syllables.
    Operators are phrases, exclusions, and each `or` between alternatives.
    """
    words = set(re.findall(r"[^\W_]+", indexable_text(query).casefold()))
    groups = query_groups(query)["groups"]
    operators = sum(len(group["phrases"]) + len(group["excluded"]) for group in groups)
    return len(words), operators + max(len(groups) - 1, 0)


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
