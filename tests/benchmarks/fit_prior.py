"""Fit the curve that is shipped with the default model, and judge it on sets left out.

Run with the judged sets imported, each with ready vectors of the default model (pgblend eval
import --vectors), of which only the numbers that it prints last go anywhere:

    python tests/benchmarks/fit_prior.py postgresql://…
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from pgblend.cli.base.database import connect
from pgblend.cli.measure.compare import RESAMPLES
from pgblend.cli.models import embedding_models
from support.relevance_sets import (
    coverage_held,
    fit_prior,
    judge_left_out,
    read_sets,
    split_error,
    threshold_of,
)


def share(values: list[bool]) -> str:
    """Write a share with 95 % confidence by bootstrap."""
    random = np.random.default_rng(1)
    drawn = random.binomial(len(values), np.mean(values), RESAMPLES) / len(values)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return f"{np.mean(values):.3f} ({low:.3f} to {high:.3f})"


def main() -> None:
    """Print all figures, then the curve."""
    loaded = embedding_models.MiniLmModel("default")._read()
    with connect(sys.argv[1]) as connection:
        sets = read_sets(
            connection,
            lambda text: np.frombuffer(embedding_models._minilm_vector(loaded, text)[0], "<f4"),
        )
    curve = fit_prior(sets)
    left_out = judge_left_out(sets)
    print("set: queries, error within (split half), error of a prior made without it")
    for one in sets:
        within, without = split_error(one, curve), left_out[one.name].error
        told = [f"{e:.3f} ({low:.3f} to {high:.3f})" for e, low, high in (within, without)]
        print(f"{one.name:22} {len(one.own):4}  {'   '.join(told)}")
    judged = left_out.values()
    print("left out, answered questions lost:", share([x for o in judged for x in o.lost]))
    kinds = list(next(iter(judged)).empty)
    for kind in kinds:
        print(f"left out, {kind} empty:", share([x for o in judged for x in o.empty[kind]]))
    everything = [x for o in judged for kind in kinds for x in o.empty[kind]]
    print("left out, all of these empty:", share(everything))
    for percent in (70, 80, 90):
        parts = [coverage_held(one, curve, percent) for one in sets if len(one.own) >= 200]
        known = [part for part in parts if part]
        held = share([x for part, _ in known for x in part])
        rows = np.mean([length for _, length in known])
        print(f"coverage {percent} %: {held}, {rows:.1f} rows; {len(known)} of {len(parts)} sets")
    print(f"threshold: {threshold_of(curve, sets):.3f}")
    print(f"Curve({', '.join(f'{value:.3g}' for value in curve)})")


if __name__ == "__main__":
    main()
