"""A search query parsed into words, phrases and exclusions."""

# ruff: noqa: RUF001 - signs that look like others are what this is about

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from pgblend.plpy.text.words import indexable_text

PROSE_WORDS = 10
# As languages and word processors write them; an apostrophe is none.
QUOTES = "“”„‟«»‹›「」『』〝〞〟＂"
_AS_QUOTES = dict.fromkeys(map(ord, QUOTES), '"')
# Single ones are quotes where several words stand between them: one may be an apostrophe.
_SINGLE = r"(?<!\w)[‘‚‛]\s?((?:[^\s‘’‚‛]|’(?=\w))+(?:\s(?:[^\s‘’‚‛]|’(?=\w))+)+)\s?[’‘](?!\w)"
# A quote within a word (5" pipes) is none; after a sign, as a bracket, it is.
_TOKEN = r'(-?)"([^"]*)(?:"|$)|((?:[^\s"]|(?<=\w)")+)'
# As typed, or as word processors write the two dashes of an option.
_OPTION = r"--+(?=\w).*|[–—](?=[A-Za-z]).*"
# A number, a letter, or one with a value (-Dname=1): words that a dash does not exclude.
_NO_EXCLUSION = r"-+(?:[\d.,].*|[A-Za-z]|[^=]*=.*)"
_OPERATORS = r'(?i)"|(?<!\S)[-–—]|\bor\b'


class Token(NamedTuple):
    """A part of a query: a word, a phrase, or "or"; `excluded` are words and phrases."""

    kind: str
    text: str
    excluded: bool = False


@lru_cache(maxsize=10)  # a search asks it several times
def has_operators(query: str) -> bool:
    """Tell whether a query may have phrases, exclusions or alternatives."""
    return bool(re.search(_OPERATORS, plain_quotes(query)))


def plain_quotes(query: str) -> str:
    """Return a query with all quotes as typewriters have them."""
    if query.isascii():
        return query
    return re.sub(_SINGLE, r'"\1"', query.translate(_AS_QUOTES))


def tokens(query: str) -> Iterator[Token]:
    """Give the parts of a query that is no prose, in order.

    A word with a dash before it is excluded, but for options of commands (--force, -x, -Dname=1),
    numbers and dashes alone.
    """
    for minus, phrase, word in re.findall(_TOKEN, plain_quotes(query)):
        if not word:
            yield Token("phrase", phrase, bool(minus))
        elif word.lower() == "or":
            yield Token("or", word)
        elif re.fullmatch(_OPTION, word):
            yield Token("word", word if word[0] == "-" else f"--{word[1:]}")
        elif word[0] == "-" and word.strip("-") and not re.fullmatch(_NO_EXCLUSION, word):
            yield Token("word", word.lstrip("-"), True)
        else:
            yield Token("word", word)


def query_groups(query: str) -> dict[str, Any]:
    """Parse `query` with the operators of websearch_to_tsquery: "phrase", or, -exclusion.

    Returns a dict: `words` is the text whose lexemes rank, plain words and the words of phrases.
    `groups` are the alternatives between `or`, each a dict of `words` (any may occur), `phrases`
    (must occur) and `excluded` (must not). An `or` with nothing before or after it is left out. A
    quote that is never closed reaches to the end. Prose has no operators: it is all words.
    """
    if is_prose(query):
        words = re.sub(r'"|(?<!\S)-+(?=\s|$)|(?<!\S)-(?=[^\s-])', " ", plain_quotes(query)).split()
        return {
            "words": " ".join(words),
            "groups": [{"words": words, "phrases": [], "excluded": []}],
        }
    ranking: list[str] = []
    groups: list[dict[str, list[str]]] = []
    alternative = True
    for kind, text, excluded in tokens(query):
        if kind == "or":
            alternative = True
            continue
        if alternative:
            groups.append({"words": [], "phrases": [], "excluded": []})
            alternative = False
        place = "excluded" if excluded else "phrases" if kind == "phrase" else "words"
        groups[-1][place].append(text)
        ranking += [] if excluded else [text]
    return {"words": " ".join(ranking), "groups": groups}


def excluded_texts(query: str) -> list[str]:
    """Return the words and phrases that a query excludes, each once."""
    if not has_operators(query):
        return []
    groups = query_groups(query)["groups"]
    return list(dict.fromkeys(text for group in groups for text in group["excluded"]))


def is_prose(query: str) -> bool:
    """Tell whether a query was written as sentences, in which quotes and dashes are punctuation.

    It has more than ten words outside quotes, and a sentence ends in it.
    """
    outside = re.sub(r'"[^"]*(?:"|$)', " ", plain_quotes(query))
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
