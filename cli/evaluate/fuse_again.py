"""Candidates fused again under other settings, by the search's own stage of fusion."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pgblend.cli.evaluate.candidates import Pool
from pgblend.plpy.base.catalog import SearchSettings, defaults
from pgblend.plpy.search.candidates import Fused
from pgblend.plpy.search.fusion import fuse_lists

CUT = 10


def fuse_again(pool: Pool, settings: Mapping[str, Any]) -> Fused:
    """Return the candidates as a search with these settings fuses them (fuse_lists).

    An arm of weight 0 does not run, so what it alone has found is no candidate. How old a document
    is does not count: judgements know nothing of it.
    """
    weights, feedback = settings["weights"], settings["feedback"]
    lists = [
        replace(of_list, weight=float(weights[of_list.arm]))
        for of_list in pool.lists
        if weights[of_list.arm] > 0
    ]

    def moved_cosines(chunk_ids: Sequence[int], passages: Sequence[int]) -> dict[int, float]:
        near = [pool.vectors[chunk_id] for chunk_id in passages if chunk_id in pool.vectors]
        moved = pool.query_vector
        if near:
            moved = moved + feedback["weight"] * np.mean(near, axis=0)
        moved = moved / np.linalg.norm(moved)
        known = [chunk_id for chunk_id in chunk_ids if chunk_id in pool.vectors]
        return {chunk_id: float(pool.vectors[chunk_id] @ moved) for chunk_id in known}

    known = {name: settings[name] for name in defaults("search") if name in settings}
    plain = SearchSettings(**defaults("search") | known | {"recency_half_life_days": None})
    return fuse_lists(lists, plain, plain.candidate_depth, moved_cosines, lambda _: [])


def ndcg(pool: Pool, settings: Mapping[str, Any]) -> float:
    """Return nDCG@10 of the candidates' documents under these settings, each at its best place.

    Where only what is judged counts, other documents are left out (condensed lists: Sakai 2007).
    """
    fused = fuse_again(pool, settings)
    keys = [pool.source_keys[fused.chunk_ids[item]] for item in fused.order]
    found = dict.fromkeys(keys)
    documents = [key for key in found if not pool.only_judged or key in pool.grades][:CUT]
    gains = [max(pool.grades.get(document, 0), 0) for document in documents]
    ideal = sorted((grade for grade in pool.grades.values() if grade > 0), reverse=True)[:CUT]
    return _dcg(gains) / _dcg(ideal)


def mean_ndcg(pools: Sequence[Pool], settings: Mapping[str, Any]) -> float:
    """Return the mean nDCG@10 over queries."""
    return float(np.mean([ndcg(pool, settings) for pool in pools]))


def _dcg(grades: Sequence[int]) -> float:
    return float(sum(grade / np.log2(place + 2) for place, grade in enumerate(grades)))
