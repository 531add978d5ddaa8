"""What stands for misspelt and unfinished words: edits, their costs, the weights of guesses."""

import json
from collections.abc import Mapping, Sequence
from math import exp, fsum, inf
from typing import NamedTuple

import numpy as np

from pgblend.plpy.base.ports import SimilarLexeme
from pgblend.plpy.lexical.chunk_rows import Floats, Integers

MOST_SIMILAR = 24
MOST_ALIKE = 50
MOST_GUESSES = 3
LEAST_WEIGHT = 0.05


class Guess(NamedTuple):
    """A lexeme that one that is not known may stand for, and what the edits cost.

    `word` is what was written, which has a lexeme in each language searched.
    """

    config: str
    word: str
    lexeme: str
    candidate: str
    cost: float


def guesses_of(
    config: str, word: str, lexeme: str, similar: Sequence[SimilarLexeme]
) -> list[Guess]:
    """Return up to 24 guesses at one lexeme, the least cost first.

    Where edits found none, of the 50 most alike by trigrams those not too many edits away. So
    answers of several nodes count as those of one. A number or a code is no other one misspelt.
    """
    own = digits(lexeme)
    if own:
        similar = [one for one in similar if digits(one.lexeme) == own]
    near = [one for one in similar if not one.is_alike]
    if not near:
        near = sorted(similar, key=lambda one: (-one.likeness, one.lexeme))[:MOST_ALIKE]
    costs: dict[str, float] = {}
    for one in near:
        if one.cost < inf:
            costs[one.lexeme] = min(one.cost, costs.get(one.lexeme, inf))
    least = sorted(costs.items(), key=lambda pair: pair[::-1])[:MOST_SIMILAR]
    return [Guess(config, word, lexeme, candidate, cost) for candidate, cost in least]


def digits(word: str) -> str:
    """Return the digits of a word, in their order."""
    return "".join(filter(str.isdigit, word))


Lexeme = tuple[str, str]  # text search configuration, lexeme


def likelihood(df: int, cost: float) -> float:
    """Return (df + 1)^0.4 · e^(-3 · cost)."""
    return power_of_two_fifths(df + 1) * exp(-3 * cost)


DIGITS = 17


def power_of_two_fifths(n: int) -> float:
    """Return n^0.4, n at least 1, rounded to 17 digits, half up: those of PostgreSQL's numeric.

    Twice the digits wanted are the fifth root, cut off, of a whole number: Newton's method from
    what floating point gives. (decimal takes a hundred times as long.)
    """
    before_point = 1
    while n * n >= 10 ** (5 * before_point):
        before_point += 1
    unit: int = 10 ** (DIGITS - before_point)
    power: int = 32 * n * n * unit**5
    root = int(float(n) ** 0.4 * 2 * unit)
    root = (4 * root + power // root**4) // 5
    while root**5 > power:
        root -= 1
    while (root + 1) ** 5 <= power:
        root += 1
    return (root + 1) // 2 / unit


def chosen_guesses(
    guesses: Sequence[Guess], frequencies: Mapping[Lexeme, tuple[int, float]]
) -> dict[Lexeme, list[tuple[str, float]]]:
    """Return for each lexeme up to three guesses with their idf, the likeliest first.

    `frequencies` has (df, idf). A guess counts its likelihood over that of the likeliest at the
    word in any language. Its idf is that of the most frequent one at most: a rare word is no better
    guess.
    """
    likely: dict[Lexeme, list[tuple[float, str, float]]] = {}
    best_of_word: dict[str, float] = {}
    words = {(guess.config, guess.lexeme): guess.word for guess in guesses}
    for guess in guesses:
        df, idf = frequencies[guess.config, guess.candidate]
        if df > 0:
            value = likelihood(df, guess.cost)
            likely.setdefault((guess.config, guess.lexeme), []).append(
                (value, guess.candidate, idf)
            )
            best_of_word[guess.word] = max(value, best_of_word.get(guess.word, 0.0))
    chosen = {}
    for lexeme, found in likely.items():
        best = best_of_word[words[lexeme]]
        least_idf = min(one[2] for one in found)
        first = sorted(found, key=lambda one: (-one[0], one[1]))[:MOST_GUESSES]
        weighed = [(candidate, value / best) for value, candidate, _ in first]
        kept = [
            (candidate, weight * least_idf)
            for candidate, weight in weighed
            if weight >= LEAST_WEIGHT
        ]
        if kept:
            chosen[lexeme] = kept
    return chosen


def most_of_guesses(
    words: Sequence[tuple[str, str, float]],
    chosen: Mapping[Lexeme, Sequence[tuple[str, float]]],
    frequencies: Mapping[Lexeme, tuple[int, float]],
    one_language: bool,
) -> float:
    """Return what a guess weighs at most: what the heaviest word that passages have does.

    `words` are configuration, lexeme and boost, of all languages searched. There is no limit where
    more words of the one language searched are misspelt than not: these few say little.
    """
    exact = [
        boost * frequencies[config, lexeme][1]
        for config, lexeme, boost in words
        if boost and (config, lexeme) not in chosen and frequencies[config, lexeme][0]
    ]
    is_limited = not one_language or len(chosen) <= len(exact)
    return max(exact, default=inf) if is_limited else inf


def corrected_weights(
    config: str,
    lexemes: Sequence[str],
    boosts: Sequence[float],
    chosen: Mapping[Lexeme, Sequence[tuple[str, float]]],
    frequencies: Mapping[Lexeme, tuple[int, float]],
    most: float,
) -> dict[str, float]:
    """Return what each lexeme to look for weighs, in byte order.

    Guesses take the place of what they stand for, and weigh `most` at most. A word misspelt in
    several ways counts as one that is repeated (_parse_query).
    """
    addends: dict[str, list[float]] = {}
    for (of_config, _), guesses in chosen.items():
        if of_config == config:
            for candidate, weight in guesses:
                addends.setdefault(candidate, []).append(min(weight, most))
    for lexeme, boost in zip(lexemes, boosts, strict=True):
        if (config, lexeme) not in chosen:
            addends.setdefault(lexeme, []).append(boost * frequencies[config, lexeme][1])
    return {lexeme: repeated(addends[lexeme]) for lexeme in sorted(addends)}


def repeated(weights: Sequence[float]) -> float:
    """Return the weight of a word that stands in a query with each of some weights."""
    total, largest = fsum(weights), max(weights)
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


def single_edits(word: str) -> set[str]:
    """Return the words from which one edit makes `word` (lower case).

    Edits are letters inserted, deleted, replaced and two neighbours swapped. Letters are those of
    the alphabet that the word begins in, and its own. Accents may be missing. Some 60 words a
    letter. None where the alphabet is not Latin, Greek or Cyrillic.
    """
    first = word[:1]
    if not first.isalpha():
        return set()
    alphabet = next((letters for letters in (GREEK, CYRILLIC) if first in letters), "")
    if not alphabet:
        if first > LAST_LATIN:
            return set()
        alphabet = LATIN
    letters = set(alphabet) | {letter for letter in word if letter.isalpha()}
    edits: set[str] = set()
    for place in range(len(word) + 1):
        start, end, rest = word[:place], word[place:], word[place + 1 :]
        edits.update([start + letter + end for letter in letters])
        if end:
            edits.add(start + rest)
            edits.update([start + letter + rest for letter in letters])
            edits.update([start + letter + rest for letter in ACCENTED.get(end[0], "")])
        if rest:
            edits.add(start + rest[0] + end[0] + rest[1:])
    return edits - {word, ""}


OPENING, EXTENSION = 0.5, 0.25
SHARE = 0.34


def lexeme_costs(word: str, lexeme: str, candidates: Sequence[str]) -> list[float]:
    """Return what each candidate costs: that of `lexeme`, or of `word`, from which it was made.

    Lexemes are no longer than their words; of one that is, some candidates are left out. A stemmer
    cuts the ending of a misspelt word elsewhere than that of the right one. What costs more than a
    third of the word's letters, and more than 1, is infinite.
    """
    limit = max(1.0, SHARE * len(word))
    costs = [inf] * len(candidates)
    # Those much longer or much shorter cost too much by their ending alone.
    places = [
        place
        for place, candidate in enumerate(candidates)
        if limit >= ending(max(0, len(candidate) - len(word), len(lexeme) - len(candidate)))
    ]
    if not places:
        return costs
    near = [candidates[place] for place in places]
    if word.startswith(lexeme):
        both = edit_costs(word, near, (len(lexeme), len(word)))
    else:
        both = np.concatenate([edit_costs(one, near, (len(one),)) for one in (lexeme, word)])
    least = both.min(axis=0).tolist()
    for place, cost in zip(places, least, strict=True):
        costs[place] = cost if cost <= limit else inf
    return costs


def edit_costs(source: str, targets: Sequence[str], lengths: Sequence[int]) -> Floats:
    """Return the Damerau-Levenshtein distances (optimal string alignment), with cheap endings.

    Rows are the beginnings of `source` of some lengths, columns are `targets`. Insertions,
    deletions, replacements and swaps of neighbours cost 1. What one of the two has beyond the end
    of the other costs 0.5 and 0.25 a letter. It is an ending, or the rest of a word that was not
    typed out. All targets are compared at once, letter by letter.
    """
    letters = np.array(targets).view(np.uint32).reshape(len(targets), -1).T
    widths = np.array([*map(len, targets)])
    each = np.arange(len(targets))
    columns = np.arange(len(letters) + 1.0)[:, None]
    # One row of the table of each target, and its last cells so far.
    row = row_before = np.repeat(columns, len(targets), axis=1)
    rows, last = [row], [row[widths, each]]
    for place, letter in enumerate(map(ord, source), 1):
        is_letter = letters == letter
        costs = np.minimum(row[:-1] + ~is_letter, row[1:] + 1)
        if place > 1:  # two neighbours swapped
            swapped = is_letter[:-1] & (letters[1:] == ord(source[place - 2]))
            np.minimum(costs[1:], row_before[:-2] + 1, out=costs[1:], where=swapped)
        row, row_before = np.empty_like(row), row
        row[0], row[1:] = place, costs
        # An insertion costs 1 more than the column before: the least so far of cost - column.
        row -= columns
        np.minimum.accumulate(row, axis=0, out=row)
        row += columns
        rows.append(row)
        last.append(row[widths, each])
    rest = widths - columns
    endings = np.where(rest >= 0, ending_costs(rest), inf)
    found = []
    for length in lengths:
        of_source = ending_costs(np.arange(length, -1, -1))[:, None]
        beyond = (np.array(last[: length + 1]) + of_source).min(axis=0)
        found.append(np.minimum(beyond, (rows[length] + endings).min(axis=0)))
    return np.array(found)


def ending_costs(letters: Integers | Floats) -> Floats:
    """Return what letters beyond the end cost, of each number of them."""
    costs: Floats = np.where(letters > 0, OPENING + EXTENSION * letters, 0.0)
    return costs


def ending(letters: int) -> float:
    """Return what letters beyond the end cost."""
    return OPENING + EXTENSION * letters if letters else 0.0
