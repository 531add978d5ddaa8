"""Guardrails: what a model made of a query may not lose, add or repeat."""

import re
from dataclasses import dataclass

from pgblend.plpy.lexical.forms import identifiers

MAX_VARIANTS = 4
MAX_VARIANT_CHARACTERS = 200
MAX_PASSAGE_CHARACTERS = 1500
MAX_NOTES_CHARACTERS = 300
_QUOTED = re.compile(r'(?<![\w"])-?"[^"]+"')
_NEGATED = re.compile(r"(?<!\S)-(?=\w)\S+")
_PREFIX = 5  # so much of a word is compared: deploy and deployment are one
_LEAST_LETTERS = 4  # shorter words are mostly those that every text has


@dataclass(frozen=True)
class Query:
    """A query and the parts of it that must survive."""

    text: str
    quoted: tuple[str, ...]  # with their quotation marks, and a minus sign where excluded
    negated: tuple[str, ...]  # -word
    identifiers: tuple[str, ...]  # as the query writes them


def read_query(text: str) -> Query:
    """Return a query with its quoted, negated and identifier terms."""
    quoted = tuple(_QUOTED.findall(text))
    rest = _QUOTED.sub(" ", text)
    negated = tuple(_NEGATED.findall(rest))
    rest = _NEGATED.sub(" ", rest)
    # They come case-folded; where that changes letters (ß), they stay so.
    found = [(name, re.search(re.escape(name), rest, re.I)) for name in identifiers(rest, False)]
    written = tuple(match.group() if match else name for name, match in found)
    return Query(text, quoted, negated, written)


def lexical_variants(query: Query, variants: list[str]) -> list[str]:
    """Return keyword queries: without operators of their own, with all the query insists on."""
    kept = []
    for variant in variants:
        plain = _without_operators(query, variant)
        missing = [name for name in query.identifiers if name.casefold() not in plain.casefold()]
        if plain:
            kept.append(" ".join([_cut(plain), *missing, *query.quoted, *query.negated]))
    return _distinct(query.text, kept)


def vector_variants(query: Query, variants: list[str]) -> list[str]:
    """Return rephrasings: short enough, none twice, none the query itself."""
    return _distinct(query.text, [_cut(" ".join(variant.split())) for variant in variants])


def sub_questions(query: Query, questions: list[str], most: int) -> list[str]:
    """Return questions to be searched one by one, without operators but the query's own.

    What the query quotes or excludes binds all rows, so each of them has it.
    """
    plain = [_cut(_without_operators(query, question)) for question in questions]
    conditions = [*query.quoted, *query.negated]
    return _distinct(query.text, [" ".join([text, *conditions]) for text in plain if text])[:most]


def _without_operators(query: Query, text: str) -> str:
    """Return a model's text without operators, and without words that the query excludes.

    What the query insists on is put back as it stands there; operators are never the model's.
    """
    excluded = {term.lstrip("-").strip('"').casefold() for term in query.negated}
    words = (word.lstrip("-+") for word in re.sub(r'["“”„«»]', " ", text).split())
    kept = (word for word in words if word and word != "OR" and word.casefold() not in excluded)
    return " ".join(kept)


def passage(query: Query, text: str | None) -> str | None:
    """Return a hypothetical answer, or None where it has lost what the query is about."""
    text = " ".join((text or "").split())
    if not text:
        return None
    folded = text.casefold()
    if any(name.casefold() not in folded for name in query.identifiers):
        return None
    if not _content_words(query) & _prefixes(text):
        return None
    return _cut(text, MAX_PASSAGE_CHARACTERS)


def notes(text: str | None) -> str | None:
    """Return the model's remark, cut to its limit."""
    return _cut(" ".join((text or "").split()), MAX_NOTES_CHARACTERS) or None


def _content_words(query: Query) -> set[str]:
    text = query.text
    for term in query.negated:
        text = text.replace(term, " ")
    long = _prefixes(text, _LEAST_LETTERS)
    return long or _prefixes(text)


def _prefixes(text: str, least: int = 1) -> set[str]:
    words = re.findall(r"\w+", text.casefold())
    # A run of a script without spaces is no word: its pairs of characters are compared.
    pairs = {
        word[i : i + 2]
        for word in words
        if re.search(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]", word)
        for i in range(max(1, len(word) - 1))
    }
    return pairs | {word[:_PREFIX] for word in words if len(word) >= least}


def _distinct(query: str, variants: list[str]) -> list[str]:
    seen = {_normal(query)}
    kept = []
    for variant in variants:
        if variant and _normal(variant) not in seen:
            seen.add(_normal(variant))
            kept.append(variant)
    return kept[:MAX_VARIANTS]


def _normal(text: str) -> str:
    return " ".join(text.casefold().split())


def _cut(text: str, most: int = MAX_VARIANT_CHARACTERS) -> str:
    """Return at most so many characters, cut between two words where there is a space."""
    if len(text) <= most:
        return text
    head, space, _ = text[: most + 1].rpartition(" ")
    return head if space else text[:most]
