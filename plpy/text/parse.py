"""What a query means under one text search configuration."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pgblend.plpy.session import Database, Row
from pgblend.plpy.text.identifiers import identifiers, whole_name
from pgblend.plpy.text.query import query_groups

_OPERATORS = r'(?i)["-]|\bor\b'
# The end of I'm, don't and you'll, which would rank as a rare letter.
_ENDS = r"(?i)([^\W\d_])['\u2019](m|d|s|t|ll|re|ve)\b"
_ONE_WORD_WITH_SIGNS = r"(?s)(?=.*[^\W_][\W_])\S+"
_LEXEMES = "SELECT q.* FROM pgblend._query_lexemes($1, ARRAY[$2], $3) AS q"
_OPERANDS = "SELECT o.* FROM pgblend._query_operands($1, $2, $3) AS o"


Operand = tuple[int, str, bool]  # number of the alternative, tsquery, whether it is excluded


class Parsed(NamedTuple):
    """The lexemes that rank, how many times its idf each weighs, and what must hold."""

    lexemes: Sequence[str]
    boosts: Sequence[float]
    operands: Sequence[Operand]

    def columns(self) -> Sequence[Sequence[Any]]:
        """Return alternatives, operands and exclusions."""
        return [[operand[place] for operand in self.operands] for place in range(3)]


class Asked(NamedTuple):
    """A query, the words of it that rank, and its alternatives (query_groups)."""

    query: str
    words: str
    groups: Sequence[dict[str, list[str]]]

    @property
    def text(self) -> str:
        """Return the words without the ends of I'm and don't."""
        return re.sub(_ENDS, r"\1", self.words)


def asked_of(query: str) -> Asked:
    """Return what a query asks for, before any language is known."""
    if not re.search(_OPERATORS, query):
        return Asked(query, query, [])
    parts = query_groups(query)
    return Asked(query, parts["words"], parts["groups"])


def parse_query(db: Database, query: str, config: str, stop_words: Sequence[str]) -> Parsed:
    """Return what a query means; `stop_words` are left out beside the configuration's own."""
    asked = asked_of(query)
    (words,) = db.run(_LEXEMES, ["text", "text", "text[]"], asked.text, config, stop_words)
    return parsed(db, asked, words)


def parsed(db: Database, asked: Asked, words: Row) -> Parsed:
    """Return what a query means by its words in a configuration, a row of _query_lexemes.

    A word weighs tf · 11 / (tf + 10), as in Okapi. Where identifiers make at least half of the
    query, each is a lexeme of its own ("=…") beside its words. It is no more frequent than any of
    them. So this many times its idf (and a tenth, for long passages) outweighs them all, however
    often they are repeated. Names of documents ("==…") come far before all of these, so that fusion
    keeps them first. They are the identifiers, and the query as a whole beside them or where it is
    one word with signs (fake-memo).
    """
    counts = zip(words["lexemes"], words["counts"], strict=True)
    boosts = {lexeme: 11.0 * count / (10 + count) for lexeme, count in counts}
    boosts |= _names(db, asked, words)
    operands = list(_operands(db, words["config_name"], asked.groups))
    if len({alternative for alternative, *_ in operands}) < len(asked.groups):
        operands = []  # whatever passes an alternative that asks for nothing
    ranked = sorted(boosts)
    return Parsed(ranked, [boosts[lexeme] for lexeme in ranked], operands)


def _names(db: Database, asked: Asked, words: Row) -> dict[str, float]:
    """Return identifiers and names as lexemes, and how many times its idf each weighs."""
    codes = identifiers(asked.words, False)
    if not codes and not re.fullmatch(_ONE_WORD_WITH_SIGNS, asked.query):
        return {}
    boost = max(1.0, 11 * sum(words["counts"]) / 10)
    whole = whole_name(asked.words)
    names = {f"=={name}": 10 * boost * (1 + len(codes)) for name in (*codes, whole)}
    names.pop("==", None)
    if not codes:
        return names
    types, text = ["text", "text", "text[]"], " ".join(codes)
    (of_codes,) = db.run(_LEXEMES, types, text, words["config_name"], [])
    if 2 * len(of_codes["lexemes"]) < len(words["lexemes"]):
        return {}
    return {**{f"={code}": boost for code in codes}, **names}


def _operands(
    db: Database, config: str, groups: Sequence[dict[str, list[str]]]
) -> Iterator[Operand]:
    """Return what must hold of a passage, alternative by alternative: phrases and exclusions.

    One of several alternatives that has no phrase asks for any of its words. Where none has phrases
    or exclusions, that would say no more than the lexemes do.
    """
    if not any(group["phrases"] or group["excluded"] for group in groups):
        return
    asked = [
        (number, kind, text)
        for number, group in enumerate(groups, 1)
        for kind, texts in (
            ("phrase", group["phrases"]),
            ("words", [" ".join(group["words"])] if len(groups) > 1 else []),
            ("excluded", group["excluded"]),
        )
        for text in texts
    ]
    texts, is_words = [text for *_, text in asked], [kind == "words" for _, kind, _ in asked]
    rows = db.run(_OPERANDS, ["text", "text[]", "boolean[]"], config, texts, is_words)
    found = [(*asked[row["place"]][:2], row["operand"]) for row in rows]
    with_phrases = {number for number, kind, _ in found if kind == "phrase"}
    for number, kind, operand in found:
        if kind != "words" or number not in with_phrases:
            yield number, operand, kind == "excluded"
