"""What stands for misspelt and unfinished words: edits, their costs, the weights of guesses."""

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from math import exp
from typing import NamedTuple

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


LATIN = "abcdefghijklmnopqrstuvwxyz"
LAST_LATIN = "\u024f"
GREEK = "αβγδεζηθικλμνξοπρςστυφχψωάέήίόύώ"
CYRILLIC = "абвгдежзийклмнопрстуфхцчшщъыьэюяё"
ACCENTED = {
    "a": "àáâãäåāăą", "c": "çćč", "d": "ďđ", "e": "èéêëēęě", "g": "ğ", "i": "ìíîïīı", "l": "ł",
    "n": "ñńň", "o": "òóôõöøőō", "r": "ř", "s": "śşšș", "t": "ťţț", "u": "ùúûüůűū", "y": "ýÿ",
    "z": "źżž",
}  # fmt: skip


def single_edits(word: str) -> list[str]:
    """Return the words from which one edit makes `word` (lower case), each once, in byte order.

    Edits are letters inserted, deleted, replaced and two neighbours swapped; letters are those of
    the alphabet that the word begins in and its own, and accents may be missing. Some 60 words a
    letter. None where the alphabet is not Latin, Greek or Cyrillic.
    """
    first = word[:1]
    if not first.isalpha():
        return []
    alphabet = next((letters for letters in (GREEK, CYRILLIC) if first in letters), "")
    if not alphabet:
        if first > LAST_LATIN:
            return []
        alphabet = LATIN
    letters = sorted(set(alphabet) | {letter for letter in word if letter.isalpha()})
    edits: set[str] = set()
    for place in range(len(word) + 1):
        start, end = word[:place], word[place:]
        edits.update(start + letter + end for letter in letters)
        if end:
            edits.add(start + end[1:])
            edits.update(start + letter + end[1:] for letter in letters)
            edits.update(start + letter + end[1:] for letter in ACCENTED.get(end[0], ""))
        if len(end) > 1:
            edits.add(start + end[1] + end[0] + end[2:])
    return sorted(edits - {word, ""})


OPENING, EXTENSION = 0.5, 0.25
SHARE = 0.34
FAR = float("inf")


def closest_lexemes(
    word: str, lexeme: str, candidates: Iterable[str], most: int
) -> list[tuple[str, float]]:
    """Return up to `most` of the candidates as (candidate, cost), the least cost first.

    The cost is that of `lexeme`, or of `word`, which is what it was made from, to the candidate: a
    stemmer cuts the ending of a misspelt word elsewhere than that of the right one. Candidates that
    cost more than a third of the word's letters, and more than 1, are left out. Ties in byte order.
    """
    limit = max(1.0, SHARE * len(word))
    costs = []
    for candidate in sorted(set(candidates)):
        if ending(max(0, len(candidate) - len(word), len(lexeme) - len(candidate))) > limit:
            continue
        cost = edit_cost(lexeme, candidate, limit)
        if word != lexeme:
            cost = min(cost, edit_cost(word, candidate, limit))
        if cost <= limit:
            costs.append((candidate, cost))
    return sorted(costs, key=lambda pair: pair[1])[:most]


def edit_cost(source: str, target: str, limit: float) -> float:
    """Return the Damerau-Levenshtein distance (optimal string alignment), with cheap endings.

    Insertions, deletions, replacements and swaps of neighbours cost 1. What one of the two has
    beyond the end of the other costs 0.5 and 0.25 a letter: an ending, or the rest of a word that
    was not typed out. Above `limit` it is infinite, and found out early.
    """
    width = len(target)
    reach = int(min(limit, len(source) + width))  # a cell further off the diagonal costs more
    row_before: list[float] = []
    row = [float(column) if column <= reach else FAR for column in range(width + 1)]
    best = row[width] + ending(len(source))
    before = ""
    for place, letter in enumerate(source, 1):
        previous, row = row, [FAR] * (width + 1)
        if place <= reach:
            row[0] = float(place)
        for column in range(max(1, place - reach), min(width, place + reach) + 1):
            other = target[column - 1]
            cost = previous[column - 1] + (letter != other)
            if previous[column] + 1 < cost:
                cost = previous[column] + 1
            if row[column - 1] + 1 < cost:
                cost = row[column - 1] + 1
            # Two neighbours swapped.
            if before == other and column > 1 and letter == target[column - 2]:
                cost = min(cost, row_before[column - 2] + 1)
            row[column] = cost
        row_before, before = previous, letter
        best = min(best, row[width] + ending(len(source) - place))
        if min(row) > limit and min(previous) > limit:
            break
    else:
        best = min(best, *(row[column] + ending(width - column) for column in range(width + 1)))
    return best if best <= limit else FAR


def ending(letters: int) -> float:
    """Return what letters beyond the end cost."""
    return OPENING + EXTENSION * letters if letters else 0.0
