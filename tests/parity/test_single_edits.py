"""The words that one typo may have turned into a given one."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgblend.plpy.lexical.corrections import edit_costs, single_edits
from support.typo import typo


@given(st.text("abcdefghijklmnopqrstuvwxyz", min_size=5, max_size=12), st.integers())
def test_a_typo_is_undone(word: str, seed: int) -> None:
    misspelt = typo(word, random.Random(seed))
    assert misspelt == word or word in single_edits(misspelt)


@given(st.text("abcé", min_size=1, max_size=6))
def test_each_is_one_edit_away(word: str) -> None:
    edits = single_edits(word)
    costs = edit_costs(word, list(edits), [len(word)])
    assert ((costs > 0) & (costs <= 1)).all()


@pytest.mark.parametrize(
    ("misspelt", "right"),
    [
        ("cafe", "café"),
        ("strase", "strasse"),
        ("übr", "über"),
        ("востановление", "восстановление"),
        ("λογο", "λογος"),
        ("covd19", "covid19"),
    ],
)
def test_letters_of_the_words_alphabet(misspelt: str, right: str) -> None:
    assert right in single_edits(misspelt)


@pytest.mark.parametrize("word", ["", "19", "数据", "कमल", "ابجد"])
def test_other_alphabets_have_none(word: str) -> None:
    assert single_edits(word) == set()
