"""Relevance: curves, gains, where lists end, and what holds on others than were fitted on."""

from itertools import pairwise
from math import nan

import numpy as np
import pytest

from pgblend.cli.measure.calibration import (
    JudgedSearch,
    calibration_error,
    coverage_thresholds,
    first_gain,
    fit_curve,
    fit_gate,
    reliability,
)
from pgblend.plpy.search.relevance import (
    COVERAGES,
    NO_GATE,
    Curve,
    Gate,
    Scale,
    Signals,
    chance_of_less,
    gains,
)

CURVE = Curve(-4.0, 3.0, 2.0, 1.0, 1.0, *NO_GATE)


def searches(count: int, seed: int, curve: Curve = CURVE) -> list[JudgedSearch]:
    """Searches whose rows are relevant with just the curve's probability."""
    random = np.random.default_rng(seed)
    made = []
    for number in range(count):
        scores = np.sort(random.uniform(0, 1, 20))[::-1].tolist()
        signals = Signals(scores[0], scores[1], *random.uniform(0.2, 0.9, 3).tolist())
        chances = curve.chances(scores, signals)
        relevant = [bool(one) for one in random.uniform(0, 1, 20) < chances]
        made.append(JudgedSearch(str(number), signals, scores, relevant))
    return made


def test_chances_fall_with_scores() -> None:
    scores = [0.9, 0.7, 0.7, 0.4, 0.0]
    for one in (CURVE, Curve(0, 0, 0, 0, 0, *NO_GATE), Curve(900, 1, 1, 1, 1, -900, 1, 1, 1)):
        chances = one.chances(scores, Signals(0.9, 0.7, 0.5, 0.5, 0.5))
        assert all(0 <= later <= earlier <= 1 for earlier, later in pairwise(chances))


def test_the_lead_tells_a_first_row_that_stands_alone() -> None:
    alone = CURVE.chances([0.9], Signals(0.9, 0.2, 0.5, 0.5, 0.5))
    assert alone > CURVE.chances([0.9], Signals(0.9, 0.9, 0.5, 0.5, 0.5))


def test_a_gate_keeps_questions_out() -> None:
    gated = Curve(*CURVE[:5], *Gate(-13, 17, 10, 8))
    asked, foreign = Signals(0.9, 0.3, 0.7, 0.5, 0.5), Signals(0.9, 0.3, 0.2, 0.05, 0.5)
    open_ = CURVE.chances([0.9], foreign)[0]
    assert gated.chances([0.9], asked)[0] > 0.9 * CURVE.chances([0.9], asked)[0]
    assert gated.chances([0.9], foreign)[0] < 0.01 < open_
    of_a_mill = Signals(0.9, 0.3, 0.45, 0.2, 0.0)  # near to something, but of no known word
    assert gated.chances([0.9], of_a_mill)[0] < 0.05 * gated.chances([0.9], asked)[0]


@pytest.mark.parametrize("count", [40, 400])
def test_a_gate_goes_by_what_tells_questions_apart(count: int) -> None:
    random = np.random.default_rng(count)
    asked = [Signals(1, 0, c, w, 0.5) for c, w in random.uniform(0.3, 0.7, (count, 2)).tolist()]
    made = [one._replace(known=0.1) for one in asked]
    gate = fit_gate(asked, made)
    assert min(map(gate.chance, asked)) > 0.5 > max(map(gate.chance, made))
    assert gate.cosine < 1 > gate.words


def test_gains_are_the_chance_that_a_row_is_the_first_relevant_one() -> None:
    assert gains([0.5, 0.5, 0.2]) == pytest.approx([0.5, 0.25, 0.05])
    assert gains([0.1, 0.9]) == pytest.approx([0.1, 0.1])  # never rises
    assert gains([]) == []


def test_chance_of_less() -> None:
    assert chance_of_less(0.2, 0.2, 0.1) == 0.5
    assert chance_of_less(0.4, 0.2, 0.1) == pytest.approx(0.97725, abs=1e-5)
    assert chance_of_less(None, 0.2, 0.1) is None


@pytest.mark.parametrize(
    ("coverage", "place"), [(0.5, 0), (0.9, 40), (0.901, 41), (0.55, 5), (0.57, 7), (0.99, 49)]
)
def test_a_coverage_between_two_is_the_higher_one(coverage: float, place: int) -> None:
    thresholds = [1 - number / 100 for number in range(len(COVERAGES))]
    assert Scale("calibrated", thresholds=thresholds).threshold(coverage) == thresholds[place]
    assert Scale("prior").threshold(coverage) is None


@pytest.mark.slow
def test_a_curve_is_found_again_and_holds_on_other_searches() -> None:
    fitted = fit_curve(searches(1500, 1), None)
    assert np.allclose(fitted[:5], CURVE[:5], atol=0.8)
    others = searches(1500, 2)
    error, low, high = calibration_error(fitted, others)
    assert low <= error <= high
    assert error < 0.02
    bins = reliability(fitted, others)
    assert sum(one.rows for one in bins) == 15_000
    wrong = calibration_error(Curve(-1.0, *CURVE[1:]), others)
    assert wrong[1] > 0.1


def test_coefficients_are_never_below_zero() -> None:
    upside_down = [
        one._replace(relevant=[not each for each in one.relevant]) for one in searches(200, 3)
    ]
    fitted = fit_curve(upside_down, None)
    assert all(one >= 0 for one in fitted[1:5])


def test_searches_that_are_all_answered_fit_as_well() -> None:
    sure = [one._replace(relevant=[True] * 20) for one in searches(60, 4)]
    assert nan not in fit_curve(sure, None)
    assert fit_curve(sure, None).chances([0.5], sure[0].signals)[0] > 0.95


@pytest.mark.slow
def test_lists_hold_the_relevant_passage_as_often_as_was_asked() -> None:
    """Over many drawings of what is judged: coverage is at least the target, and not far above."""
    for percent in (60, 80):
        held = []
        for seed in range(60):
            made = searches(220, 100 + seed)
            judged, others = made[:200], made[200:]
            threshold = coverage_thresholds(CURVE, judged)[percent - COVERAGES.start]
            assert threshold is not None
            held += [first_gain(CURVE, one) >= threshold for one in others]
        assert percent / 100 - 0.025 <= np.mean(held) <= percent / 100 + 0.04


def test_what_cannot_be_reached_has_no_threshold() -> None:
    made = searches(60, 5)
    half = [
        one._replace(relevant=[False] * 20) if number % 2 else one
        for number, one in enumerate(made)
    ]
    thresholds = coverage_thresholds(CURVE, half)
    assert thresholds[-1] is None
    few = coverage_thresholds(CURVE, [one for one in made if any(one.relevant)][:20])
    assert few[COVERAGES.index(97)] is None  # twenty searches tell nothing of 97 %
