"""Spread fusion: normal scores, and how far apart a list's scores are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgblend.plpy.search.scores import spread_scores

SCORES = st.lists(st.floats(0, 100).map(lambda score: round(score, 6)), max_size=12)


def test_a_full_list_begins_at_its_least_and_a_short_one_at_its_floor() -> None:
    words, cosines = [8.0, 4.0], [0.9, 0.5]
    assert spread_scores(words, 0.0, 2) == ([1, 0], pytest.approx(0.5**1.25))
    assert spread_scores(words, 0.0, 3) == ([1, 0.5], 1)
    for depth in (2, 3):
        normal, spread = spread_scores(cosines, None, depth)
        assert normal == [pytest.approx(1), 0]
        assert spread == pytest.approx(0.8**1.25)


def test_the_order_of_the_scores_does_not_matter() -> None:
    assert spread_scores([4.0, 8.0, 6.0], None, 9) == ([0, 1, 0.5], 1)


def test_the_spread_is_measured_at_the_25th() -> None:
    scores = [1 - place / 100 for place in range(40)]
    for found, spread in ((40, 0.24), (25, 0.24), (24, 1)):
        assert spread_scores(scores[:found], 0.0, 40)[1] == pytest.approx(spread**1.25)
    assert spread_scores(scores, None, 40)[1] == pytest.approx(1)  # 0.24 of 0.24


def test_a_single_match_of_words_counts_in_full() -> None:
    assert spread_scores([7.0], 0.0, 100) == ([1], 1)
    assert spread_scores([0.41, 0.4], None, 100)[1] == pytest.approx((0.01 / 0.6) ** 1.25)


def test_a_list_that_tells_nothing_apart_has_no_spread() -> None:
    assert spread_scores([0.5], None, 1) == ([1], 0)
    assert spread_scores([2.0, 2.0], 0.0, 2) == ([1, 1], 0)
    assert spread_scores([], 0.0, 1) == spread_scores([], None, 2) == ([], 0)


TIED = [5.0] * 40  # more than 25 passages have the words
EACH_ONCE = 5.0


def test_a_tie_of_all_words_counts_in_full() -> None:
    assert spread_scores(TIED, 0.0, 100, EACH_ONCE) == ([1] * 40, 1)
    assert spread_scores(TIED, 0.0, 100, 10.0)[1] == 1  # long passages
    assert spread_scores(TIED, None, 100)[1] == 0  # cosines


def test_a_tie_of_some_of_many_words_counts_little() -> None:
    assert spread_scores(TIED, 0.0, 100, 20.0)[1] == pytest.approx(0.5**8)
    lower = [5.0] + [3.0] * 39
    plain, with_words = spread_scores(lower, 0.0, 40)[1], spread_scores(lower, 0.0, 40, 5.0)[1]
    assert plain == pytest.approx(0.4**1.25)
    assert plain < with_words < plain + 0.02


FALLING = [float(score) for score in range(100, 0, -1)]
APART = 0.24**1.25  # of 100 and 76


def test_of_one_word_every_candidate_has_it() -> None:
    assert spread_scores(FALLING, 0.0, 100, 60.0)[1] < 0.3
    normal, spread = spread_scores(FALLING, 0.0, 100, 60.0, 1)
    assert spread == pytest.approx(2 + APART)
    assert normal[0] == 1
    assert normal[-1] == pytest.approx(2 / spread)


def test_of_two_words_a_candidate_has_what_it_has_of_the_best() -> None:
    normal, spread = spread_scores(FALLING, 0.0, 100, 60.0, 2)
    assert spread == pytest.approx(2 + APART)
    assert normal[0] == 1
    assert normal[50] == pytest.approx((49 / 99 * APART + 2 * 0.5**8) / spread)
    assert spread_scores(FALLING, 0.0, 100, 0.0, 3)[1] == pytest.approx(APART)


@given(
    SCORES, st.sampled_from([0.0, None]), st.integers(1, 20), st.floats(0, 100), st.integers(0, 3)
)
def test_bounds_and_order(
    scores: list[float], floor: float | None, depth: int, each_once: float, asked: int
) -> None:
    places, spread = spread_scores(scores, floor, depth, each_once, asked)
    assert 0 <= spread <= (1 if floor is None else 3)
    assert all(0 <= place <= 1 for place in places)
    pairs = list(zip(scores, places, strict=True))
    assert all(p <= q for s, p in pairs for r, q in pairs if s <= r)


@given(SCORES, st.floats(0.01, 100), st.integers(1, 20))
def test_the_unit_of_bm25_does_not_matter(words: list[float], factor: float, depth: int) -> None:
    spread = spread_scores(words, 0.0, depth, 9.0)[1]
    scaled = [score * factor for score in words]
    assert spread_scores(scaled, 0.0, depth, 9.0 * factor)[1] == pytest.approx(spread, abs=1e-6)


@given(SCORES, st.floats(0.01, 1), st.integers(1, 20))
def test_models_whose_cosines_lie_close_together_count_as_others(
    percents: list[float], share: float, depth: int
) -> None:
    cosines = [percent / 100 for percent in percents]
    close = [1 - share * (1 - cosine) for cosine in cosines]
    spread = spread_scores(cosines, None, depth)[1]
    assert spread_scores(close, None, depth)[1] == pytest.approx(spread, abs=1e-6)
