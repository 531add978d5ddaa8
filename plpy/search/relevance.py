"""What a passage's relevance means, and where a list may end."""

from collections.abc import Sequence
from math import ceil, erfc, exp, sqrt
from typing import NamedTuple

from pgblend.plpy.base.catalog import defaults

COVERAGES = range(50, 100)  # percent
MOST_KNOWN = 0.5  # who misspells a word asks no less for what is there


class Signals(NamedTuple):
    """What the lists of a search say of how well it is answered.

    `first` and `second` are the two best fused scores, and `cosine` is the best cosine. `words` is
    the best BM25 as a share of what no passage can reach. `known` is the share of the query's
    words, by idf, that passages have, up to MOST_KNOWN.
    """

    first: float
    second: float
    cosine: float
    words: float
    known: float

    def lead(self, score: float) -> float:
        """Return the first row's score over the second's, of other rows that over the first's."""
        return score - (self.second if score >= self.first else self.first)


class Gate(NamedTuple):
    """The chance that a question is one for the collection, by a logistic curve."""

    intercept: float
    cosine: float
    words: float
    known: float

    def chance(self, signals: Signals) -> float:
        """Return it for a search."""
        by_words = self.words * signals.words + self.known * signals.known
        return _logistic(self.intercept + self.cosine * signals.cosine + by_words)


NO_GATE = Gate(30.0, 0.0, 0.0, 0.0)  # that lets all questions pass


class Curve(NamedTuple):
    """A logistic curve (Platt 1999) that rises with a row's score and lead, cosine and words.

    A gate comes before it. Within a list its chances fall as the scores do.
    """

    intercept: float
    score: float
    lead: float
    cosine: float
    words: float
    gate_intercept: float
    gate_cosine: float
    gate_words: float
    gate_known: float

    @property
    def gate(self) -> Gate:
        """Return how likely the question is one for the collection."""
        return Gate(self.gate_intercept, self.gate_cosine, self.gate_words, self.gate_known)

    def chances(self, scores: Sequence[float], signals: Signals) -> list[float]:
        """Return the probability that each passage is relevant."""
        base = self.intercept + self.cosine * signals.cosine + self.words * signals.words
        passed = self.gate.chance(signals)
        return [
            passed * _logistic(base + self.score * score + self.lead * signals.lead(score))
            for score in scores
        ]


def _logistic(x: float) -> float:
    return 1 / (1 + exp(-min(max(x, -700), 700)))


class Scale(NamedTuple):
    """What relevance is in a search: its `basis`, and what it is made by.

    `signals` are None where an arm did not run as it should. With a `curve` relevance is a
    probability (calibrated), or an estimate of one (prior). `chance` has mean and deviation of
    cosines of random pairs (p_value). `thresholds` are by COVERAGES; None where not to be reached.
    """

    basis: str | None
    signals: Signals | None = None
    curve: Curve | None = None
    chance: tuple[float, float] | None = None
    thresholds: Sequence[float | None] = ()

    def threshold(self, coverage: float) -> float | None:
        """Return the gain at which a list of this coverage ends; None where none is known."""
        place = max(ceil(coverage * 100 - 1e-9) - COVERAGES.start, 0)
        return self.thresholds[place] if place < len(self.thresholds) else None


def chance_of_less(cosine: float | None, mean: float, deviation: float) -> float | None:
    """Return 1 - p, p being the share of random pairs at least so near, by the normal curve."""
    return None if cosine is None else 1 - erfc((cosine - mean) / deviation / sqrt(2)) / 2


def gains(chances: Sequence[float]) -> list[float]:
    """Return the chance that a row is the first relevant one, of rows in their order.

    It never rises, so that the rows of at least some gain are the first of the list. Of all lists
    that hold a relevant passage as often, it is the shortest.
    """
    left, least, found = 1.0, 1.0, []
    for chance in chances:
        least = min(least, chance * left)
        left *= 1 - chance
        found.append(least)
    return found


# Curves that are shipped with a model, for collections that nobody has judged.
#
# The script tests/benchmarks/fit_prior.py made them of judged sets. These numbers are all that is
# taken from the sets. The page docs/decisions/search.md says how well they hold on sets left out.

# What scores depend on: a curve holds for searches that have these settings as it was made with.
RANKED_BY = (
    "b",
    "bonus",
    "feedback",
    "fusion",
    "graph",
    "heading_weight",
    "k1",
    "level",
    "lexical_method",
    "normalization",
    "recency_half_life_days",
    "title_weight",
    "weights",
)
# Those of the profile balanced.
RANKING = {name: defaults("search")[name] for name in RANKED_BY} | {
    "fusion": "convex",
    "normalization": {"method": "spread"},
    "weights": {
        "lexical": 1,
        "vector": 2,
        "fuzzy": 1,
        "lexical_variant": 0.5,
        "vector_variant": 1,
        "hyde": 1.4,
    },
}
PRIORS = {
    "local/all-minilm-l6-v2": Curve(-4.07, 2.87, 3.9, 1.94, 0.613, -11.0, 13.3, 8.08, 8.17),
}
