"""The default profile against its parts and rivals, on judged sets that are imported.

    pgblend eval import DIR --set NAME …     # sets of made_sets.py, and those with ready vectors
    python tests/benchmarks/eval_defaults.py URL SET…

Each query is searched by each arm alone and exactly, and the candidates are fused again by variant.
Printed are nDCG@10 and R@100 by set; differences over all queries, with a paired t-test; and the
rule for a default: on no set of 50 or more queries worse than the better arm, RRF 60 or convex 0.5
by more than .01 that is significant (t-test, Holm's correction over all of these comparisons).
"""

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pgblend.cli.base.database import connect
from pgblend.cli.measure.arm_candidates import JudgedPool, fuse_again, ndcg, read_pools

QUERIES = 300  # of one set, at most
DEPTH = 100
LEAST_QUERIES = 50
WORSE = 0.01
_SETTINGS = """SELECT pgblend._search_settings('{"vector_scan": "exact"}', NULL, NULL)"""
_KEYS = """
SELECT q.key FROM pgblend_data.judged_query AS q
INNER JOIN pgblend_data.judged_set AS s ON s.id = q.set_id WHERE s.name = %s ORDER BY q.id
"""
_COLUMNS = ("scores", "chunk_ids", "document_ids", "chunk_indexes")
Variant = tuple[dict[str, object], int]


def variants(default: dict[str, object]) -> dict[str, Variant]:
    """Return settings and depth by name: the default first, its rivals, and what was tried."""

    def with_weights(lexical: float, vector: float, **more: object) -> dict[str, object]:
        weights = {**default["weights"], "lexical": lexical, "vector": vector}  # type: ignore[dict-item]
        return {**default, "weights": weights, **more}

    moved = {**default, "feedback": {"passages": 2, "weight": 0.5}}
    return {
        "default": (default, DEPTH),
        "rrf": (with_weights(1, 1, fusion="rrf"), DEPTH),
        "convex": (with_weights(1, 1, normalization={"method": "minmax"}), DEPTH),
        "lexical": (with_weights(1, 0), DEPTH),
        "vector": (with_weights(0, 1), DEPTH),
        "feedback": (moved, DEPTH),
        "depth 50": (default, 50),
        "vector x 0.7": (with_weights(1, 1.4), DEPTH),
        "vector x 1.4": (with_weights(1, 2.8), DEPTH),
        "code": (with_weights(1, 6), DEPTH),
    }


def measured(pool: JudgedPool, variant: Variant) -> tuple[float, float]:
    """Return nDCG@10 and R@100 of a query."""
    settings, depth = variant
    lists = [
        replace(
            one,
            found=replace(
                one.found, **{name: getattr(one.found, name)[:depth] for name in _COLUMNS}
            ),
        )
        for one in pool.lists
    ]
    cut = replace(pool, lists=lists)
    given = {**settings, "candidate_depth": depth}
    fused = fuse_again(cut, given)
    keys = [pool.source_keys[fused.chunk_ids[item]] for item in fused.order]
    relevant = {key for key, grade in pool.grades.items() if grade > 0}
    found = set(list(dict.fromkeys(keys))[:100])
    return ndcg(cut, given), len(relevant & found) / len(relevant)


def figures(url: str, name: str) -> dict[str, NDArray[np.float64]]:
    """Return by variant the two metrics of each query of a set."""
    with connect(url) as connection:
        default = connection.execute(_SETTINGS).fetchone()[0]  # type: ignore[index]
        keys = [key for (key,) in connection.execute(_KEYS, [name])]
        kept = set(keys[:: max(1, -(-len(keys) // QUERIES))])
        pools = read_pools(connection, name, kept.__contains__, default, lambda _: None)
    return {
        variant: np.array([measured(pool, given) for pool in pools])
        for variant, given in variants(default).items()
    }


def pooled(sets: Sequence[dict[str, NDArray[np.float64]]], one: str, other: str) -> str:
    """Return the mean differences between two variants over all queries."""
    parts = []
    for column, metric in enumerate(("nDCG@10", "R@100")):
        differences = np.concatenate(
            [each[one][:, column] - each[other][:, column] for each in sets]
        )
        p = stats.ttest_1samp(differences, 0).pvalue
        half = 1.96 * differences.std(ddof=1) / len(differences) ** 0.5
        parts.append(f"{metric} {differences.mean():+.4f} ±{half:.4f} (p {p:.2g})")
    return f"{one} - {other}: {', '.join(parts)}"


def broken(found: dict[str, dict[str, NDArray[np.float64]]], candidate: str) -> list[str]:
    """Return where a variant breaks the rule for a default."""
    compared: list[tuple[str, str, float, float]] = []
    for name, by_variant in found.items():
        scores = {variant: values[:, 0] for variant, values in by_variant.items()}
        if len(scores[candidate]) < LEAST_QUERIES:
            continue
        better = max(("lexical", "vector"), key=lambda arm: float(scores[arm].mean()))
        for rival in (better, "rrf", "convex"):
            differences = scores[candidate] - scores[rival]
            p = stats.ttest_1samp(differences, 0).pvalue if differences.any() else 1.0
            compared.append((name, rival, float(differences.mean()), float(p)))
    compared.sort(key=lambda row: row[3])
    lines, highest = [], 0.0
    for place, (name, rival, difference, p) in enumerate(compared):
        highest = max(highest, min(1.0, (len(compared) - place) * p))
        if difference < -WORSE and highest < 0.05:
            lines.append(f"{name}: {rival} is better by {-difference:.4f} (p {highest:.2g})")
    return lines


def table(found: dict[str, dict[str, NDArray[np.float64]]], column: int) -> None:
    names = list(next(iter(found.values())))
    print("set".ljust(20), "   n", *(name.rjust(12) for name in names))
    for name, by_variant in found.items():
        means = (f"{values[:, column].mean():12.4f}" for values in by_variant.values())
        print(name.ljust(20), f"{len(by_variant['default']):4}", *means)


def main(url: str, names: list[str]) -> None:
    found = {name: figures(url, name) for name in names}
    for column, metric in enumerate(("nDCG@10", "R@100")):
        print(f"\n{metric}")
        table(found, column)
    print()
    for other in list(next(iter(found.values())))[1:]:
        print(pooled(list(found.values()), "default", other))
    for candidate in ("default", "vector x 0.7", "vector x 1.4"):
        print(f"\n{candidate} breaks the rule: {broken(found, candidate) or 'nowhere'}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
