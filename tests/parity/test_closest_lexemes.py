"""Edit distance with cheap endings."""

from collections.abc import Sequence
from math import inf

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgblend.plpy.lexical.corrections import edit_costs, lexeme_costs
from support.program import loading

WORDS = st.text("abcde", max_size=8)
LETTERS = st.sampled_from("abcde")


def edit_cost(source: str, target: str) -> float:
    """Return the cost of one pair."""
    return float(edit_costs(source, [target], [len(source)])[0, 0])


@pytest.mark.parametrize(
    ("source", "target", "cost"),
    [
        ("", "", 0),
        ("same", "same", 0),
        ("protien", "protein", 1),
        ("protin", "protein", 1),
        ("protteins", "proteins", 1),
        ("prxtein", "protein", 1),
        ("deploym", "deploy", 0.75),
        ("deplo", "deployment", 1.75),
        ("abcd", "xbcy", 2),
        ("ab", "ba", 1),
        ("数据", "数库", 1),
    ],
)
def test_costs(source: str, target: str, cost: float) -> None:
    assert edit_cost(source, target) == cost


def plain(source: str, target: str) -> float:
    """Damerau-Levenshtein distance (optimal string alignment), by its recursive definition."""
    table: dict[tuple[int, int], float] = {}

    def distance(i: int, j: int) -> float:
        if (i, j) not in table:
            if not i or not j:
                table[i, j] = i + j
            else:
                cost = min(
                    distance(i - 1, j) + 1,
                    distance(i, j - 1) + 1,
                    distance(i - 1, j - 1) + (source[i - 1] != target[j - 1]),
                )
                if i > 1 and j > 1 and source[i - 2 : i] == target[j - 2 : j][::-1]:
                    cost = min(cost, distance(i - 2, j - 2) + 1)
                table[i, j] = cost
        return table[i, j]

    return distance(len(source), len(target))


def by_definition(source: str, target: str) -> float:
    """The least over all endings of one of the two."""
    costs = [plain(source, target)]
    for kept in range(len(source)):
        costs.append(plain(source[:kept], target) + 0.5 + 0.25 * (len(source) - kept))
    for kept in range(len(target)):
        costs.append(plain(source, target[:kept]) + 0.5 + 0.25 * (len(target) - kept))
    return min(costs)


@given(WORDS, WORDS)
def test_it_is_the_distance_of_the_definition(source: str, target: str) -> None:
    assert edit_cost(source, target) == by_definition(source, target)


@given(WORDS, st.lists(WORDS, min_size=1, max_size=6), st.sets(st.integers(0, 8), min_size=1))
def test_all_beginnings_and_targets_at_once_cost_what_each_does_alone(
    source: str, targets: list[str], lengths: set[int]
) -> None:
    within = sorted({min(length, len(source)) for length in lengths})
    costs = edit_costs(source, targets, within)
    assert costs.tolist() == [
        [by_definition(source[:length], target) for target in targets] for length in within
    ]


@given(WORDS, WORDS)
def test_it_is_symmetric_and_zero_for_equals_only(source: str, target: str) -> None:
    assert edit_cost(source, target) == edit_cost(target, source)
    assert (edit_cost(source, target) == 0) == (source == target)


@given(WORDS.filter(lambda word: len(word) > 1), LETTERS, st.integers(0, 6))
def test_one_edit_costs_at_most_one(word: str, letter: str, place: int) -> None:
    place = min(place, len(word) - 2)
    start, end = word[:place], word[place:]
    swapped = start + end[1] + end[0] + end[2:]
    for edited in (start + letter + end, start + end[1:], start + letter + end[1:], swapped):
        assert edit_cost(word, edited) <= 1


def costs_by_definition(word: str, lexeme: str, candidates: Sequence[str]) -> list[float]:
    """The lesser of the costs of lexeme and word, infinite above a third of the word's letters."""
    limit = max(1.0, 0.34 * len(word))
    costs = [
        min(by_definition(lexeme, candidate), by_definition(word, candidate))
        for candidate in candidates
    ]
    return [cost if cost <= limit else inf for cost in costs]


@given(
    st.text("abcde", min_size=1, max_size=8),
    st.one_of(st.integers(0, 3), WORDS.filter(bool)),
    st.lists(WORDS, max_size=12),
)
def test_a_candidate_costs_what_the_word_or_its_lexeme_does(
    word: str, lexeme: str | int, candidates: list[str]
) -> None:
    if isinstance(lexeme, int):  # a beginning of the word, as most are
        lexeme = word[: max(1, len(word) - lexeme)]
    lexeme = lexeme[: len(word)]
    assert lexeme_costs(word, lexeme, candidates) == costs_by_definition(word, lexeme, candidates)


DEPLOYED = """
CREATE FUNCTION pg_temp.costs(word text, lexeme text, candidates text[])
RETURNS double precision[] LANGUAGE plpython3u AS $python$
from pgblend.plpy.lexical.corrections import lexeme_costs
return lexeme_costs(word, lexeme, candidates)
$python$;
"""


@pytest.fixture(scope="module")
def deployed(module_connection: psycopg.Connection) -> psycopg.Connection:
    module_connection.execute(loading(DEPLOYED))  # type: ignore[call-overload]
    return module_connection


@given(word=WORDS, cut=st.integers(0, 3), candidates=st.lists(WORDS, max_size=12))
@settings(max_examples=60)
def test_the_deployed_function_gives_the_same(
    deployed: psycopg.Connection, word: str, cut: int, candidates: list[str]
) -> None:
    lexeme = word[: len(word) - cut]
    row = deployed.execute(
        "SELECT pg_temp.costs(%s, %s, %s)", [word, lexeme, candidates]
    ).fetchone()
    assert row is not None
    assert row[0] == lexeme_costs(word, lexeme, candidates)
