"""Candidates fused again under other settings, by the search's own formulas."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pgblend.cli.evaluate.candidates import ARMS, Pool
from pgblend.plpy.arm_normalization import arm_normalization
from pgblend.plpy.convex_fusion import convex_fusion
from pgblend.plpy.fuse_ranks import fuse_ranks
from pgblend.plpy.normalize_scores import normalize_scores
from pgblend.plpy.rank_bonus import rank_bonus
from pgblend.plpy.spread_scores import spread_scores

CUT = 10


def points_of(pool: Pool, settings: Mapping[str, Any]) -> list[float]:
    """Return each candidate's fused score, as a search with these settings gives it.

    An arm of weight 0 does not run; feedback moves the query's vector towards the first candidates
    and fuses again.
    """
    scores = list(pool.scores)
    points = _fuse(pool, scores, settings)
    feedback = settings["feedback"]
    vector = ARMS.index("vector")
    if (
        not feedback["passages"]
        or settings["fusion"] != "convex"
        or settings["weights"]["vector"] == 0
        or not points
    ):
        return points
    order = sorted(range(len(points)), key=lambda item: -points[item])
    models = pool.vectors[order[: feedback["passages"]]]
    models = models[models.any(axis=1)]
    moved = pool.query_vector
    if len(models):
        moved = moved + feedback["weight"] * models.mean(axis=0)
    cosines = pool.vectors @ (moved / np.linalg.norm(moved))
    again = list(scores[vector])
    for item in order[: feedback["pool"]]:
        if pool.vectors[item].any():
            again[item] = float(cosines[item])
    scores[vector] = again
    return _fuse(pool, scores, settings)


def _fuse(
    pool: Pool, scores: Sequence[Sequence[float | None]], settings: Mapping[str, Any]
) -> list[float]:
    # An arm of weight 0 does not run, so what it alone has found is no candidate.
    used = [place for place, arm in enumerate(ARMS) if settings["weights"][arm] > 0]
    weights = [float(settings["weights"][ARMS[place]]) for place in used]
    ranks = [pool.ranks[place] for place in used]
    lists = [scores[place] for place in used]
    bounds = {"lexical": (0.0, pool.perfect), "vector": (-1.0, 1.0)}
    normalization = settings["normalization"]
    attainable = 1.0
    if settings["fusion"] == "rrf":
        fused, attainable = fuse_ranks(ranks, weights, settings["rrf_k"])
    elif normalization["method"] == "spread":
        floors = [None if ARMS[place] == "vector" else 0.0 for place in used]
        fused = convex_fusion(*spread_scores(lists, weights, floors, settings["candidate_depth"]))
    else:
        normal = [
            normalize_scores(
                of_list, *arm_normalization(normalization, ARMS[place], *bounds[ARMS[place]])
            )
            for place, of_list in zip(used, lists, strict=True)
        ]
        fused = convex_fusion(normal, weights)
    bonus, largest = rank_bonus(ranks, settings["bonus"], attainable)
    total = attainable + (largest if len(used) > 1 else 0.0)
    if largest and len(used) > 1:
        fused = [sum(both) for both in zip(fused, bonus, strict=True)]
    found = [any(of_list[item] is not None for of_list in ranks) for item in range(len(fused))]
    return [point / total if hit else -1.0 for point, hit in zip(fused, found, strict=True)]


def ndcg(pool: Pool, points: Sequence[float]) -> float:
    """Return nDCG@10 of the candidates' documents, each at its best place."""
    order = sorted(range(len(points)), key=lambda item: -points[item])
    documents = list(dict.fromkeys(pool.source_keys[item] for item in order if points[item] >= 0))[
        :CUT
    ]
    gains = [max(pool.grades.get(document, 0), 0) for document in documents]
    ideal = sorted((grade for grade in pool.grades.values() if grade > 0), reverse=True)[:CUT]
    return _dcg(gains) / _dcg(ideal)


def mean_ndcg(pools: Sequence[Pool], settings: Mapping[str, Any]) -> float:
    """Return the mean nDCG@10 over queries."""
    return float(np.mean([ndcg(pool, points_of(pool, settings)) for pool in pools]))


def _dcg(grades: Sequence[int]) -> float:
    return float(sum(grade / np.log2(place + 2) for place, grade in enumerate(grades)))
