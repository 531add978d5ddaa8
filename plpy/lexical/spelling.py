"""Which indexed lexemes a misspelt or unfinished word may stand for."""

from collections.abc import Iterable

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
