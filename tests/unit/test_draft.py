"""Two lists interleaved: who chooses when, what is of no team, what is shown once."""

from collections import Counter
from itertools import repeat

import pytest

from pgblend.plpy.search.experiment import DraftRow, Experiment, coins_of, draft

Drafted = list[tuple[DraftRow, int | None]]


def passages(text: str) -> list[DraftRow]:
    """Return a passage for each letter, each of a document of its own."""
    return [DraftRow(ord(letter), ord(letter), 0) for letter in text]


def told(drafted: Drafted) -> str:
    """Write a list as letters, each after its team: = for neither."""
    return " ".join(
        "=01"[(-1 if team is None else team) + 1] + chr(one.chunk_id) for one, team in drafted
    )


@pytest.mark.parametrize(
    ("first", "second", "coins", "expected"),
    [
        ("abcd", "badc", [False, False], "0a 1b 0c 1d"),
        ("abcd", "badc", [True, True], "1b 0a 1d 0c"),
        ("abcd", "dcba", [False, True], "0a 1d 1c 0b"),
        ("abcd", "abdc", [True], "=a =b 1d 0c"),  # alike at first: of no team
        ("abc", "abc", [], "=a =b =c"),
        ("abc", "", [True, True, True], "0a 0b 0c"),  # one list is at its end
        ("", "", [True], ""),
        ("xbcd", "ybcd", [False] * 3, "0x 1y 0b 1c 0d"),  # alike later: of who chose
    ],
)
def test_teams_choose_in_turn(first: str, second: str, coins: list[bool], expected: str) -> None:
    lists = [passages(first), passages(second)]
    assert told(draft(lists, coins, 9, {}, None)) == expected


def test_a_shorter_list_is_the_beginning_of_a_longer_one() -> None:
    lists = [passages("abcdefgh"), passages("hgacfbed")]
    coins = [True, False, False, True, True, False, True, True]
    whole = draft(lists, coins, 8, {}, None)
    assert sorted(one.chunk_id for one, _ in whole) == sorted(map(ord, "abcdefgh"))
    for most in range(9):
        assert draft(lists, coins, most, {}, None) == whole[:most]


def test_a_repetition_is_shown_once() -> None:
    """The second's y has the text of the first's a."""
    lists = [passages("abc"), passages("ybc")]
    drafted = draft(lists, repeat(False), 9, {ord("y"): ord("a")}, None)
    assert told(drafted) == "0a 1b 0c"


def test_a_document_gives_no_more_rows_than_it_may() -> None:
    first = [DraftRow(1, 7, 0), DraftRow(2, 8, 0)]
    second = [DraftRow(3, 7, 1), DraftRow(2, 8, 0)]
    drafted = draft([first, second], repeat(False), 9, {}, 1)
    assert [one.chunk_id for one, _ in drafted] == [1, 2]


def test_coins_are_fair_and_hold() -> None:
    asked = Experiment(1, "a", "b", "{}", "{}", "ann")
    coins = list(coins_of(asked, "red wine", 1000))
    assert list(coins_of(asked, "red wine", 1000)) == coins
    assert list(coins_of(asked, "red wine", 10)) == coins[:10]
    assert 430 < sum(coins) < 570
    others = [
        coins_of(asked, "white wine", 1000),
        coins_of(asked._replace(role="bob"), "red wine", 1000),
        coins_of(asked._replace(id=2), "red wine", 1000),
    ]
    for other in others:
        assert 430 < Counter(map(bool.__eq__, coins, other))[True] < 570
