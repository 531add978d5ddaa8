"""Judged searches of imported sets, and searches that nothing answers, for fitting and judging."""

import random
import string
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pgblend.cli.base.database import Connection, fetch_rows
from pgblend.cli.measure.calibration import (
    JudgedSearch,
    calibration_error,
    coverage_thresholds,
    first_gain,
    fit_curve,
    fit_gate,
    judged_queries,
    search_judged,
)
from pgblend.plpy.search.relevance import COVERAGES, Curve, gains

MOST = 300  # queries of a set
FOREIGN = 120
NONSENSE = 60
LOSS = 0.015  # of answered questions, on the sets that a threshold is chosen on
# Sets of one source: what one is fitted on is not judged on another.
_FAMILIES = {"wiki_en_sample": "wiki", "twowiki": "wiki"}
_SETS = """
    SELECT s.name, s.collection_id, s.embedding_model AS model
    FROM pgblend_data.judged_set AS s ORDER BY s.name
"""
Embed = Callable[[str], np.ndarray]


class SetSearches(NamedTuple):
    """The searches of a set's own questions, of questions on other sets, and of nonsense."""

    name: str
    own: list[JudgedSearch]
    others: dict[str, list[JudgedSearch]]

    @property
    def family(self) -> str:
        """Return what sets of one source have in common."""
        return _FAMILIES.get(self.name, self.name.split("-")[0])

    @property
    def answered(self) -> list[JudgedSearch]:
        """Return the own searches with a relevant row among the first ten."""
        return [one for one in self.own if any(one.relevant[:10])]


def letters(source: random.Random) -> str:
    """Return words of letters at random."""
    words = (source.choices(string.ascii_lowercase, k=source.randint(3, 10)) for _ in range(6))
    return " ".join(map("".join, list(words)[: source.randint(3, 6)]))


def syllables(source: random.Random, texts: Sequence[str]) -> str:
    """Return what looks like the texts: each letter follows two as it does there."""
    after: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        padded = f"  {text.lower()} "
        for place in range(len(padded) - 2):
            after[padded[place : place + 2]].append(padded[place + 2])
    made = "  "
    while len(made) < 20 + 40 * source.random():
        made += source.choice(after.get(made[-2:], [" "]))
    return made.strip() or "q"


def read_sets(
    connection: Connection, embed: Embed, names: Sequence[str] | None = None
) -> list[SetSearches]:
    """Search the imported sets; `embed` gives the vectors of nonsense."""
    rows = [one for one in fetch_rows(connection, _SETS) if names is None or one["name"] in names]
    queries = {
        one["name"]: _some(judged_queries(connection, one["collection_id"], one["model"]))
        for one in rows
    }
    found = []
    for row in rows:
        name = row["name"]

        def search(asked: list[dict[str, Any]], name: str = name) -> list[JudgedSearch]:
            return search_judged(connection, name, asked, lambda _: None).searches

        empty = SetSearches(name, [], {})
        foreign = [
            {**one, "relevant": []}
            for other in rows
            if SetSearches(other["name"], [], {}).family != empty.family
            for one in queries[other["name"]]
        ]
        source = random.Random(name)
        texts = [one["query"] for one in queries[name]]
        nonsense = {
            "letters": [letters(source) for _ in range(NONSENSE)],
            "syllables": [syllables(source, texts) for _ in range(NONSENSE)],
        }
        others = {"foreign": search(source.sample(foreign, min(FOREIGN, len(foreign))))}
        for kind, asked in nonsense.items():
            made = [{"query": t, "embedding": embed(t), "relevant": []} for t in asked]
            others[kind] = search(made)
        found.append(SetSearches(name, search(queries[name]), others))
    return found


def _some(queries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return random.Random(1).sample(queries, min(MOST, len(queries)))


def fit_prior(sets: Sequence[SetSearches]) -> Curve:
    """Return the curve of all sets' rows, behind the gate of all sets' questions."""
    answered = [search.signals for one in sets for search in one.answered]
    others = [search.signals for one in sets for kind in one.others.values() for search in kind]
    gate = fit_gate(answered, others)
    return fit_curve([search for one in sets for search in one.own], gate)


def first_chance(curve: Curve, search: JudgedSearch) -> float:
    """Return the relevance of the first row; 0 where there is none."""
    return max(curve.chances(search.scores[:1], search.signals), default=0.0)


def threshold_of(curve: Curve, sets: Sequence[SetSearches]) -> float:
    """Return the relevance that all but LOSS of the sets' answered questions reach."""
    reached = [first_chance(curve, search) for one in sets for search in one.answered]
    return float(np.quantile(reached, LOSS))


class LeftOut(NamedTuple):
    """What a prior that was made without a set, and a threshold with it, do there."""

    error: tuple[float, float, float]
    lost: list[bool]
    empty: dict[str, list[bool]]


def judge_left_out(sets: Sequence[SetSearches]) -> dict[str, LeftOut]:
    """Judge each set by what the sets of other families give."""
    found = {}
    for one in sets:
        rest = [other for other in sets if other.family != one.family]
        curve = fit_prior(rest)
        least = threshold_of(curve, rest)
        found[one.name] = LeftOut(
            calibration_error(curve, one.own),
            [first_chance(curve, search) < least for search in one.answered],
            {
                kind: [first_chance(curve, search) < least for search in searches]
                for kind, searches in one.others.items()
            },
        )
    return found


def split_error(one: SetSearches, curve: Curve) -> tuple[float, float, float]:
    """Return the error of a curve fitted on every other search, on the rest."""
    return calibration_error(fit_curve(one.own[::2], curve.gate), one.own[1::2])


def coverage_held(one: SetSearches, curve: Curve, percent: int) -> tuple[list[bool], float] | None:
    """Return which of a fourth of the searches hold the relevant row, and the lists' mean length.

    A half fits the curve, a fourth gives the threshold; None where no list is long enough.
    """
    fitted = fit_curve(one.own[::2], curve.gate)
    judged, rest = one.own[1::4], one.own[3::4]
    least = coverage_thresholds(fitted, judged)[percent - COVERAGES.start]
    if least is None:
        return None
    lengths = [
        sum(gain >= least for gain in gains(fitted.chances(search.scores, search.signals)))
        for search in rest
    ]
    return [first_gain(fitted, search) >= least for search in rest], float(np.mean(lengths))
