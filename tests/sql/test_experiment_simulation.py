"""Simulated experiments: judged queries, two orders of their documents, and people who click.

A row is opened where it is looked at, the less the further down, and seems good: the relevant ones
mostly, the others now and then.
"""

from itertools import accumulate

import numpy as np
import pytest

from pgblend.plpy.search.experiment import DraftRow, Experiment, coins_of, draft
from support.database import Database

EXPERIMENTS, QUERIES, DOCUMENTS, RELEVANT, SHOWN = 200, 300, 20, 3, 10
LEAST_VOTES = 30
CANDIDATES = [DraftRow(number, number, 0) for number in range(DOCUMENTS)]
GRADES = np.arange(DOCUMENTS) < RELEVANT
LOOKED_AT = 1 / np.arange(1, SHOWN + 1)


def vote(random: np.random.Generator, asked: Experiment, query: str, noise: list[float]) -> int:
    """Return -1 or 1 for the profile or its rival, 0 for neither, of one search.

    Each orders documents by their grades, with so much noise.
    """
    lists = []
    for of_profile in noise:
        order = np.argsort(-(GRADES + random.normal(scale=of_profile, size=DOCUMENTS)))
        lists.append([CANDIDATES[number] for number in order])
    shown = draft(lists, coins_of(asked, query, SHOWN), SHOWN, {}, None)
    good = np.array([GRADES[one.document_id] for one, _ in shown])
    opened = random.random(SHOWN) < LOOKED_AT * np.where(good, 0.8, 0.1)
    teams = [{0: -1, 1: 1, None: 0}[team] for _, team in shown]
    return int(np.sign(np.array(teams) @ opened))


@pytest.fixture(scope="module")
def evidence(module_connection) -> dict[tuple[int, int], float]:
    """What the database says of each number of votes that can come."""
    rows = Database(module_connection).rows(
        "SELECT one, other, pgblend._vote_evidence(one, other)"
        " FROM generate_series(0, %s) AS one CROSS JOIN generate_series(0, %s) AS other"
        " WHERE one + other BETWEEN %s AND %s AND one <= other",
        QUERIES // 2,
        QUERIES,
        LEAST_VOTES,
        QUERIES,
    )
    return {(one, other): found for one, other, found in rows}


def named(noise: list[float], evidence: dict[tuple[int, int], float]) -> list[int]:
    """Return what each experiment ever names, who looks after every vote: -1, 1, or 0."""
    random = np.random.default_rng(5)
    found = []
    for number in range(EXPERIMENTS):
        asked = Experiment(number, "a", "b", "{}", "{}", "ann")
        votes = [vote(random, asked, f"query {place}", noise) for place in range(QUERIES)]
        verdict = 0
        for count, lead in enumerate(accumulate(one for one in votes if one), 1):
            if count >= LEAST_VOTES:
                least = (count - abs(lead)) // 2
                if evidence[least, count - least] >= 20:
                    verdict = int(np.sign(lead))
                    break
        found.append(verdict)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "better"), [([0.9, 0.3], 1), ([0.3, 0.9], -1)])
def test_the_better_profile_wins(
    noise: list[float], better: int, evidence: dict[tuple[int, int], float]
) -> None:
    found = named(noise, evidence)
    assert found.count(better) >= 0.9 * EXPERIMENTS
    assert found.count(-better) == 0


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.3, 0.9])
def test_equal_profiles_have_no_verdict(
    noise: float, evidence: dict[tuple[int, int], float]
) -> None:
    """Either is named in one of twenty experiments at most, however often one looks.

    Chance alone would exceed that rate by half in one of a hundred runs of this test; the seed is
    fixed.
    """
    found = named([noise, noise], evidence)
    assert EXPERIMENTS - found.count(0) <= 0.05 * EXPERIMENTS


def test_the_same_order_gives_no_vote() -> None:
    asked = Experiment(1, "a", "b", "{}", "{}", "ann")
    random = np.random.default_rng(1)
    assert {vote(random, asked, f"query {n}", [0.0, 0.0]) for n in range(50)} == {0}
