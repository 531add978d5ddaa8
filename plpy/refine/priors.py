"""Curves that are shipped with a model, for collections that nobody has judged.

Made by tests/benchmarks/fit_prior.py of judged sets; these numbers are all that is taken from them.
docs/decisions/search.md says how well they hold on sets left out.
"""

from pgblend.plpy.refine.relevance import Curve
from pgblend.plpy.settings.catalog import defaults

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
