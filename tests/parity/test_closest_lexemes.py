"""Edit distance with cheap endings."""

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgblend.plpy.lexical.corrections import closest_lexemes, edit_cost
from support.program import loading

FAR = 1000.0
WORDS = st.text("abcde", max_size=8)
LETTERS = st.sampled_from("abcde")


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
    assert edit_cost(source, target, FAR) == cost


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
    assert edit_cost(source, target, FAR) == by_definition(source, target)


@given(WORDS, WORDS, st.floats(0, 6))
def test_a_limit_changes_nothing_below_it(source: str, target: str, limit: float) -> None:
    exact = edit_cost(source, target, FAR)
    assert edit_cost(source, target, limit) == (exact if exact <= limit else float("inf"))


@given(WORDS, WORDS)
def test_it_is_symmetric_and_zero_for_equals_only(source: str, target: str) -> None:
    assert edit_cost(source, target, FAR) == edit_cost(target, source, FAR)
    assert (edit_cost(source, target, FAR) == 0) == (source == target)


@given(WORDS.filter(lambda word: len(word) > 1), LETTERS, st.integers(0, 6))
def test_one_edit_costs_at_most_one(word: str, letter: str, place: int) -> None:
    place = min(place, len(word) - 2)
    start, end = word[:place], word[place:]
    swapped = start + end[1] + end[0] + end[2:]
    for edited in (start + letter + end, start + end[1:], start + letter + end[1:], swapped):
        assert edit_cost(word, edited, FAR) <= 1


@given(st.text("abcde", min_size=1, max_size=8), st.lists(WORDS, max_size=12), st.integers(0, 12))
def test_the_closest_come_first_and_none_is_missed(
    word: str, candidates: list[str], most: int
) -> None:
    limit = max(1.0, 0.34 * len(word))
    expected = sorted(
        (cost, candidate)
        for candidate in set(candidates)
        if (cost := edit_cost(word, candidate, FAR)) <= limit
    )
    found = closest_lexemes(word, word, candidates, most)
    assert [(cost, candidate) for candidate, cost in found] == expected[:most]


DEPLOYED = """
CREATE FUNCTION pg_temp.closest(word text, lexeme text, candidates text[], most integer)
RETURNS jsonb LANGUAGE plpython3u AS $python$
import json
from pgblend.plpy.lexical.corrections import closest_lexemes
return json.dumps(closest_lexemes(word, lexeme, candidates, most))
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
        "SELECT pg_temp.closest(%s, %s, %s, 5)", [word, lexeme, candidates]
    ).fetchone()
    expected = closest_lexemes(word, lexeme, candidates, 5)
    assert row is not None
    assert [tuple(pair) for pair in row[0]] == expected
