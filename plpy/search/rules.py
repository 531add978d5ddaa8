"""The stage of rules: scores are multiplied, and pinned documents come first."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from pgblend.plpy.base.catalog import Boost, Decay
from pgblend.plpy.base.ports import NodePassage
from pgblend.plpy.base.session import Json
from pgblend.plpy.search.candidates import Fused
from pgblend.plpy.search.fusion import MOST_HALVINGS, best_first
from pgblend.plpy.search.pool import Pool, Ruled
from pgblend.plpy.search.rule_patterns import for_query
from pgblend.plpy.search.scores import scale_fused

if TYPE_CHECKING:
    from pgblend.plpy.search.candidates import StoredPassages
    from pgblend.plpy.search.query import Log, Query
    from pgblend.plpy.search.store import StorePort

Value = TypeVar("Value")
Changes: TypeAlias = dict[int, list[Mapping[str, Json]]]  # by item


def follow_rules(query: "Query", pool: Pool, store: "StorePort", log: "Log") -> Pool:
    """Multiply scores and put documents first as the settings boosts, decays and pinned say."""
    settings, fused, facts = query.settings, pool.fused, pool.stored
    named = for_query(settings.pinned, query.request.query)
    if not (named or settings.boosts or settings.decays):
        return pool
    changes: Changes = {}
    fused, pinned, lacking = with_pinned(fused, named, facts, changes)
    points, order = fused.points, fused.order
    if fused.chunk_ids:
        if settings.boosts:
            fused.boost = boost_factors(settings.boosts, fused.chunk_ids, facts, changes)
        if settings.decays:
            fused.decay = decay_factors(settings.decays, fused.chunk_ids, facts, changes)
        multiply(fused)
    ruled = Ruled(points, order, pinned, changes)
    fused.order, _ = ruled.pinned_first(fused.order, points)
    log.done("rules", len(changes), {"not_found": lacking} if lacking else None)
    return pool._replace(fused=fused, ruled=ruled)


def with_pinned(
    fused: Fused,
    named: Mapping[str, str],
    facts: "StoredPassages",
    changes: Changes,
) -> tuple[Fused, list[int], list[str]]:
    """Return a pool with the documents named, their items in the order of their names, and names.

    Those no document has that the search may find. `named` has the pattern of each name, a source
    key or URI. A document's best passage stands for it, else the one nearest to the query. It is of
    those that pass the search's filter.
    """
    if not named:
        return fused, [], []
    rank_of = {name: rank for rank, name in enumerate(named)}
    documents = sorted(facts.named_documents(list(named)), key=lambda one: rank_of[one.name])
    name_of: dict[int, str] = {}
    for one in documents:
        name_of.setdefault(one.document_id, one.name)
    found: dict[int, int] = {}
    for item in fused.order:
        found.setdefault(fused.document_ids[item], fused.chunk_ids[item])
    lacking = [4 * document_id for document_id in name_of if document_id not in found]
    more = [one for one in facts.node_passages(lacking) if one.chunk_id]
    found.update((one.document_id, one.chunk_id) for one in more)
    fused = widened(fused, more)
    item_of, pinned = places(fused.chunk_ids), []
    for document_id, name in name_of.items():
        if document_id in found:
            pinned.append(item_of[found[document_id]])
            changes[pinned[-1]] = [{"pinned": named[name]}]
    known = {one.name for one in documents if one.document_id in found}
    return fused, pinned, [name for name in named if name not in known]


def widened(fused: Fused, more: Sequence[NodePassage]) -> Fused:
    """Return a pool that has more passages, which no list has found."""
    own = zip(fused.document_ids, fused.chunk_indexes, fused.chunk_ids, strict=True)
    rows = sorted([*own, *((one.document_id, one.chunk_index, one.chunk_id) for one in more)])
    place_of = places(fused.chunk_ids)
    old = [place_of.get(row[2]) for row in rows]

    def moved(values: Sequence[Value], missing: Value) -> list[Value]:
        return [missing if place is None else values[place] for place in old]

    new = {place: item for item, place in enumerate(old)}
    return replace(
        fused,
        document_ids=[row[0] for row in rows],
        chunk_indexes=[row[1] for row in rows],
        chunk_ids=[row[2] for row in rows],
        ranks=[moved(of_list, None) for of_list in fused.ranks],
        sums=moved(fused.sums, 0.0),
        points=moved(fused.points, 0.0),
        bonus=moved(fused.bonus, 0.0),
        recency=fused.recency and moved(fused.recency, 1.0),
        language=fused.language and moved(fused.language, 1.0),
        normal=fused.normal and [moved(of_list, 0.0) for of_list in fused.normal],
        unmoved=fused.unmoved and moved(fused.unmoved, 0.0),
        order=[
            *(new[item] for item in fused.order),
            *(item for item, place in enumerate(old) if place is None),
        ],
    )


def boost_factors(
    boosts: Sequence[Boost], chunk_ids: Sequence[int], facts: "StoredPassages", changes: Changes
) -> list[float]:
    """Return the product of the factors of the filters that each passage passes."""
    factors, place_of = [1.0] * len(chunk_ids), places(chunk_ids)
    passing = facts.passing(chunk_ids, [json.dumps(one["filter"]) for one in boosts])
    for boost, passed in zip(boosts, passing, strict=True):
        for item in map(place_of.__getitem__, passed):
            factors[item] *= boost["factor"]
            told: dict[str, Json] = {"boost": boost["filter"], "factor": boost["factor"]}
            changes.setdefault(item, []).append(told)
    return factors


def decay_factors(
    decays: Sequence[Decay], chunk_ids: Sequence[int], facts: "StoredPassages", changes: Changes
) -> list[float]:
    """Return the product of what each passage's distances leave; 1 where there are none."""
    factors, place_of = [1.0] * len(chunk_ids), places(chunk_ids)
    keys = [one["field"] for one in decays]
    origins = [json.dumps(one["origin"]) for one in decays]
    for place, chunk_id, distance in facts.distances(chunk_ids, keys, origins):
        left = share_left(decays[place], distance)
        if left < 1:
            item = place_of[chunk_id]
            factors[item] *= left
            changes.setdefault(item, []).append({"decay": keys[place], "factor": left})
    return factors


def share_left(decay: Decay, distance: float) -> float:
    """Return what of a score a distance leaves: a half at the distance `half` beyond `flat`."""
    halves = max(distance - decay.get("flat", 0), 0) / decay["half"]
    shape = decay.get("shape", "exp")
    if shape == "linear":
        left = max(1 - halves / 2, 0.0)
    else:
        power = halves * min(halves, MOST_HALVINGS) if shape == "gauss" else halves
        left = 0.5 ** min(power, MOST_HALVINGS)
    return max(left, decay.get("least", 0))


def multiply(fused: Fused) -> None:
    """Multiply the sums of a pool by its factors; where one is then too high, lower all."""
    for factors in (fused.boost, fused.decay):
        if factors is not None:
            fused.sums = [one * factor for one, factor in zip(fused.sums, factors, strict=True)]
    fused.attainable = max(fused.attainable, *fused.sums)
    shares = scale_fused(fused.sums, fused.attainable, "attainable")
    fused.points = [max(share, 0.0) for share in shares]
    fused.order = best_first(fused.sums)


def places(chunk_ids: Sequence[int]) -> dict[int, int]:
    """Return the item of each passage."""
    return {chunk_id: item for item, chunk_id in enumerate(chunk_ids)}
