"""Which indexed lexemes a misspelt or unfinished word may stand for."""

from collections.abc import Iterable

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
