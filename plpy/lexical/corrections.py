"""What stands for misspelt and unfinished words, and how much each guess weighs."""

import json
from collections.abc import Mapping, Sequence
from math import exp
from typing import NamedTuple

from pgblend.plpy.lexical.spelling import closest_lexemes
from pgblend.plpy.ports import SimilarLexeme

MOST_SIMILAR = 24
MOST_ALIKE = 50
MOST_GUESSES = 3
LEAST_WEIGHT = 0.05


class Guess(NamedTuple):
    """A lexeme that one that is not known may stand for, and what the edits cost."""

    config: str
    lexeme: str
    candidate: str
    cost: float


def guesses_of(
    config: str, word: str, lexeme: str, similar: Sequence[SimilarLexeme]
) -> list[Guess]:
    """Return up to 24 guesses at one lexeme, made from `word`, the least cost first.

    Where edits found none, of the 50 most alike by trigrams those not too many edits away. So
    answers of several nodes count as those of one.
    """
    costs: dict[str, float] = {}
    for one in similar:
        if not one.is_alike:
            costs[one.lexeme] = min(one.cost, costs.get(one.lexeme, one.cost))
    near = sorted(costs.items(), key=lambda pair: pair[::-1])[:MOST_SIMILAR]
    if not near:
        alike = sorted(similar, key=lambda one: (-one.likeness, one.lexeme))[:MOST_ALIKE]
        near = closest_lexemes(word, lexeme, [one.lexeme for one in alike], MOST_SIMILAR)
    return [Guess(config, lexeme, candidate, cost) for candidate, cost in near]


Lexeme = tuple[str, str]  # text search configuration, lexeme


def likelihood(df: int, cost: float) -> float:
    """Return (df + 1)^0.4 · e^(-3 · cost)."""
    from decimal import ROUND_HALF_UP, Context, Decimal  # 2 ms, where a word is put right

    # The power to the digits that rows have had from the beginning.
    power = Context(prec=34).power(Decimal(df + 1), Decimal("0.4"))
    return float(Context(prec=17, rounding=ROUND_HALF_UP).plus(power)) * exp(-3 * cost)


def chosen_guesses(
    guesses: Sequence[Guess], frequencies: Mapping[Lexeme, tuple[int, float]]
) -> dict[Lexeme, list[tuple[str, float]]]:
    """Return for each lexeme up to three guesses with their idf, the likeliest first.

    `frequencies` has (df, idf). A guess counts its likelihood over that of the likeliest, times
    the idf of the most frequent one at most: a rare word is no better guess.
    """
    likely: dict[Lexeme, list[tuple[float, str, float]]] = {}
    for guess in guesses:
        df, idf = frequencies[guess.config, guess.candidate]
        if df > 0:
            found = likely.setdefault((guess.config, guess.lexeme), [])
            found.append((likelihood(df, guess.cost), guess.candidate, idf))
    chosen = {}
    for lexeme, found in likely.items():
        best = max(one[0] for one in found)
        least_idf = min(one[2] for one in found)
        first = sorted(found, key=lambda one: (-one[0], one[1]))[:MOST_GUESSES]
        weighed = [(candidate, value / best) for value, candidate, _ in first]
        chosen[lexeme] = [
            (candidate, weight * least_idf)
            for candidate, weight in weighed
            if weight >= LEAST_WEIGHT
        ]
    return chosen


def corrected_weights(
    config: str,
    lexemes: Sequence[str],
    boosts: Sequence[float],
    chosen: Mapping[Lexeme, Sequence[tuple[str, float]]],
    frequencies: Mapping[Lexeme, tuple[int, float]],
) -> dict[str, float]:
    """Return what each lexeme to look for weighs, in byte order.

    Guesses take the place of what they stand for. A word misspelt in several ways counts as one
    that is repeated (_parse_query).
    """
    addends: dict[str, list[float]] = {}
    for (of_config, _), guesses in chosen.items():
        if of_config == config:
            for candidate, weight in guesses:
                addends.setdefault(candidate, []).append(weight)
    for lexeme, boost in zip(lexemes, boosts, strict=True):
        if (config, lexeme) not in chosen:
            addends.setdefault(lexeme, []).append(boost * frequencies[config, lexeme][1])
    return {lexeme: repeated(addends[lexeme]) for lexeme in sorted(addends)}


def repeated(weights: Sequence[float]) -> float:
    """Return the weight of a word that stands in a query with each of some weights."""
    total, largest = sum(weights), max(weights)
    times = total / largest if largest else 1
    return 11 * total / (10 + times)


def told_corrections(
    config: str, chosen: Mapping[Lexeme, Sequence[tuple[str, float]]]
) -> str | None:
    """Return {lexeme: guesses} as JSON; None where nothing was put right.

    In the order of jsonb: shorter ones first.
    """
    told = {
        lexeme: [candidate for candidate, _ in guesses]
        for (of_config, lexeme), guesses in chosen.items()
        if of_config == config
    }
    ordered = sorted(told, key=lambda lexeme: (len(lexeme.encode()), lexeme))
    return json.dumps({lexeme: told[lexeme] for lexeme in ordered}) if told else None
