"""Words and phrases of a query that stand for others in the lexical arm."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import fsum
from typing import NamedTuple

from pgblend.plpy.base.catalog import Synonyms
from pgblend.plpy.base.session import Database, keep_value
from pgblend.plpy.lexical.configuration import CONFIG
from pgblend.plpy.lexical.forms import pictures
from pgblend.plpy.lexical.spellings import is_numbered_letter, spelt_anew
from pgblend.plpy.lexical.words import indexable_text

_LONGEST, _MOST_CONFIGURATIONS, _MOST_NAMES = 250, 10, 10_000
# The lexemes of texts in their order.
_SEQUENCES = rf"""
SELECT ARRAY(
    SELECT array_to_string(ARRAY(
        SELECT l.lexeme FROM unnest(to_tsvector(t.oid::regconfig, w.phrase)) AS l
        CROSS JOIN LATERAL unnest(l.positions) AS p (place) ORDER BY p.place, l.lexeme), E'\n')
    FROM unnest($2) WITH ORDINALITY AS w (phrase, place) ORDER BY w.place) AS sequences
{CONFIG.format(name="$1")}"""

Lexemes = tuple[str, ...]
# As it is typed comes first: all spellings of a name together weigh less than that.
_OF_JOINED, _OF_PARTS, _OF_NAME = 0.9, 0.6, 0.3
_OF_CUT = 1.2  # what is typed lost its letter, a stop word


class StandIn(NamedTuple):
    """What a query's `lexemes` stand for as well, as `words` say `text`, and its weight beside.

    Where it `is_same`, it is no synonym but the same name in another spelling.
    """

    words: str
    lexemes: Lexemes
    text: str
    others: Lexemes
    weight: float
    is_same: bool = False


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
                    if text == words:  # its own spellings are of every query
                        continue
                    spelt = product([words, *spelt_anew(words)], [text, *spelt_anew(text)])
                    yield from ((*pair, one.get("weight", 1.0)) for pair in spelt)


def same_names(
    db: Database,
    spellings: Sequence[tuple[str, str]],
    config: str,
    version: str,
    known: Sequence[str],
    with_letters: bool = False,
) -> list[StandIn]:
    """Return what names of a query are as well under a configuration; `known` are its lexemes."""
    texts = list(dict.fromkeys(text for pair in spellings for text in pair if text[0] != "="))
    lexemes_of = kept_sequences(db, config, version, texts)
    found = []
    for name, other in spellings:
        words, others = lexemes_of[name], lexemes_of.get(other, (other,))
        is_joined = " " not in other
        # Where a space parts them each is a word: one that is a stop word belongs to no name.
        is_whole = len(words) > name.count(" ") and len(others) > other.count(" ")
        # But of A 380, which says more than 380, A380 is the name.
        is_cut = is_joined and len(words) == 1 and is_numbered_letter(name)
        own = tuple(word for word in words if word in known)
        # Single letters tell little alone: B12 is B-12, but b and 12 only where no passage has B12.
        is_told = len(others) == 1 if is_joined else with_letters or not any(map(is_letter, others))
        if own and is_told and (is_whole or is_cut):
            weight = _OF_NAME if other[0] == "=" else _OF_JOINED if is_joined else _OF_PARTS
            weight = _OF_CUT if is_cut else weight
            found.append(StandIn(name, own, other, others, weight, is_same=True))
    return found


def is_letter(lexeme: str) -> bool:
    """Tell whether a lexeme is a single letter."""
    return len(lexeme) == 1 and lexeme.isalpha()


def kept_sequences(
    db: Database, config: str, version: str, texts: Sequence[str]
) -> Mapping[str, Lexemes]:
    """Return the lexemes of names, which the session keeps for a version of the configuration."""
    kept: dict[str, tuple[str, dict[str, Lexemes]]] = db.kept("sequences")
    known = kept.get(config)
    if known is None or known[0] != version or len(known[1]) > _MOST_NAMES:
        known = keep_value(kept, config, (version, {}), _MOST_CONFIGURATIONS)
    of_text = known[1]
    unknown = [text for text in texts if text not in of_text]
    if unknown:
        of_text.update(zip(unknown, sequences(db, config, unknown), strict=True))
    return of_text


def sequences(db: Database, config: str, texts: Sequence[str]) -> list[Lexemes]:
    """Return the lexemes of texts in their order, pictures last; without the configuration none."""
    spaced = (indexable_text(text, config) for text in texts)
    short = [" ".join(word[:_LONGEST] for word in text.split()) for text in spaced]
    rows = db.run(_SEQUENCES, ["text", "text[]"], config, short)
    found = rows[0]["sequences"] if rows else [""] * len(texts)
    return [
        (*(lines.split("\n") if lines else ()), *(f"={one}" for one in pictures(text)))
        for text, lines in zip(texts, found, strict=True)
    ]


def stand_in_weights(
    found: Sequence[StandIn], own: Sequence[str], idf: Mapping[str, float]
) -> dict[str, float]:
    """Return what the lexemes that stand for a query's `own` weigh.

    Together the lexemes of one text weigh what they would in a query. Where what they stand for
    weighs less, they weigh that. A rare synonym is no better than the word itself. A single one
    that is the same name weighs what it stands for. `idf` has all of them.
    """
    weights: dict[str, float] = {}
    for one in found:
        total = fsum(idf[lexeme] for lexeme in one.others)
        of_own = fsum(idf[lexeme] for lexeme in one.lexemes)
        most = of_own if one.is_same and len(one.others) == 1 else min(total, of_own)
        for lexeme in set(one.others).difference(own):
            weight = one.weight * most * idf[lexeme] / total if total > 0 else 0.0
            weights[lexeme] = max(weight, weights.get(lexeme, 0.0))
    return weights


def told_stand_ins(found: Sequence[StandIn]) -> dict[str, list[str]]:
    """Return by words of the query the texts that they stand for."""
    told: dict[str, list[str]] = {}
    for one in found:
        if not one.is_same and one.text not in told.setdefault(one.words, []):
            told[one.words].append(one.text)
    return told
