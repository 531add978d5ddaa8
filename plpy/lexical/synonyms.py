"""Words and phrases of a query that stand for others in the lexical arm."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pgblend.plpy.base.catalog import Synonyms
from pgblend.plpy.base.session import Database, keep_value
from pgblend.plpy.lexical.configuration import CONFIG
from pgblend.plpy.lexical.words import indexable_text

_LONGEST, _MOST_CONFIGURATIONS = 250, 10
# The lexemes of texts in their order.
_SEQUENCES = rf"""
SELECT ARRAY(
    SELECT array_to_string(ARRAY(
        SELECT l.lexeme FROM unnest(to_tsvector(t.oid::regconfig, w.phrase)) AS l
        CROSS JOIN LATERAL unnest(l.positions) AS p (place) ORDER BY p.place, l.lexeme), E'\n')
    FROM unnest($2) WITH ORDINALITY AS w (phrase, place) ORDER BY w.place) AS sequences
{CONFIG.format(name="$1")}"""

Lexemes = tuple[str, ...]


class StandIn(NamedTuple):
    """What a query's `lexemes` stand for as well, as `words` say `text`, and its weight beside."""

    words: str
    lexemes: Lexemes
    text: str
    others: Lexemes
    weight: float


class Thesaurus(NamedTuple):
    """The synonyms of one version of a configuration, by their first lexeme."""

    version: str
    synonyms: Sequence[Synonyms]
    by_first: Mapping[str, Sequence[StandIn]]

    def found(self, query: Lexemes) -> list[StandIn]:
        """Return what the words of a query, side by side, stand for."""
        return [
            one
            for place, lexeme in enumerate(query)
            for one in self.by_first.get(lexeme, ())
            if query[place : place + len(one.lexemes)] == one.lexemes
        ]


def stand_ins(
    db: Database, text: str, config: str, version: str, synonyms: Sequence[Synonyms]
) -> list[StandIn]:
    """Return what the words of a query stand for under a configuration."""
    kept: dict[str, Thesaurus] = db.kept("synonyms")
    thesaurus = kept.get(config)
    if thesaurus is None or (thesaurus.version, thesaurus.synonyms) != (version, synonyms):
        thesaurus = Thesaurus(version, synonyms, by_first_lexeme(db, config, synonyms))
        keep_value(kept, config, thesaurus, _MOST_CONFIGURATIONS)
    return thesaurus.found(*sequences(db, config, [text])) if thesaurus.by_first else []


def by_first_lexeme(
    db: Database, config: str, synonyms: Sequence[Synonyms]
) -> dict[str, list[StandIn]]:
    """Return what synonyms say under a configuration, by the first lexeme of their words."""
    pairs = list(word_pairs(config, synonyms))
    texts = list(dict.fromkeys(text for pair in pairs for text in pair[:2]))
    lexemes_of = dict(zip(texts, sequences(db, config, texts), strict=True)) if texts else {}
    found: dict[str, list[StandIn]] = {}
    for words, text, weight in pairs:
        lexemes, others = lexemes_of[words], lexemes_of[text]
        if lexemes and others and lexemes != others:
            of_first = found.setdefault(lexemes[0], [])
            of_first.append(StandIn(words, lexemes, text, others, weight))
    return found


def word_pairs(config: str, synonyms: Sequence[Synonyms]) -> Iterator[tuple[str, str, float]]:
    """Yield words, what they stand for, and its weight, of synonyms in a configuration."""
    for one in synonyms:
        if one.get("language") in (None, config) and one.get("weight") != 0:
            for words in one["words"]:
                for text in one.get("to", one["words"]):
                    yield words, text, one.get("weight", 1.0)


def sequences(db: Database, config: str, texts: Sequence[str]) -> list[Lexemes]:
    """Return the lexemes of texts in their order; without the configuration none."""
    spaced = (indexable_text(text, config) for text in texts)
    short = [" ".join(word[:_LONGEST] for word in text.split()) for text in spaced]
    rows = db.run(_SEQUENCES, ["text", "text[]"], config, short)
    found = rows[0]["sequences"] if rows else [""] * len(texts)
    return [tuple(lines.split("\n")) if lines else () for lines in found]


def stand_in_weights(
    found: Sequence[StandIn], own: Sequence[str], idf: Mapping[str, float]
) -> dict[str, float]:
    """Return what the lexemes that stand for a query's `own` weigh.

    Together the lexemes of one text weigh what they would in a query, or what they stand for where
    that is less: a rare synonym is no better than the word itself. `idf` has all of them.
    """
    weights: dict[str, float] = {}
    for one in found:
        total = sum(idf[lexeme] for lexeme in one.others)
        most = min(total, sum(idf[lexeme] for lexeme in one.lexemes))
        for lexeme in set(one.others).difference(own):
            weight = one.weight * most * idf[lexeme] / total if total > 0 else 0.0
            weights[lexeme] = max(weight, weights.get(lexeme, 0.0))
    return weights


def told_stand_ins(found: Sequence[StandIn]) -> dict[str, list[str]]:
    """Return by words of the query the texts that they stand for."""
    told: dict[str, list[str]] = {}
    for one in found:
        if one.text not in told.setdefault(one.words, []):
            told[one.words].append(one.text)
    return told
