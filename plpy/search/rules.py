"""The stage of rules: scores are multiplied, and pinned documents come first."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from pgblend.plpy.base.catalog import Boost, Decay, ForQuery
from pgblend.plpy.base.filters import LEAST_LIMIT
from pgblend.plpy.base.ports import NodePassage
from pgblend.plpy.base.session import Json
from pgblend.plpy.lexical.forms import WITH_UNIT, small, unicode_form
from pgblend.plpy.lexical.query import TYPED_DASHES, plain_quotes
from pgblend.plpy.search.candidates import Fused
from pgblend.plpy.search.fusion import MOST_HALVINGS, best_first
from pgblend.plpy.search.scores import scale_fused

if TYPE_CHECKING:
    from pgblend.plpy.search.log import Log
    from pgblend.plpy.search.passages import StoredPassages
    from pgblend.plpy.search.pool import Pool
    from pgblend.plpy.search.query import Query
    from pgblend.plpy.search.store import StorePort

# Which rules hold for a query.


def fits(pattern: str, query: str) -> bool:
    """Tell whether a query is as a pattern says, in which * stands for anything.

    Case, spaces, forms of Unicode, kinds of quotes and spellings of numbers do not count.
    """
    asked, written = spelt(pattern), spelt(query)
    return matches(asked, written) or matches(numbered(asked), numbered(written))


def spelt(text: str) -> str:
    """Return a query or pattern in small letters and one form, with single spaces."""
    plain = re.sub(TYPED_DASHES, "--", unicode_form(plain_quotes(text)))
    return " ".join(small(plain).split())


def numbered(text: str) -> str:
    """Return a query or pattern whose numbers have no commas, and no space before a unit."""
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    return re.sub(f"(?i){WITH_UNIT}", r"\1\2", text)


def matches(pattern: str, text: str) -> bool:
    """Tell whether a text is as a pattern says.

    Each part between two * is looked for after the one before, so time grows with the length alone.
    """
    first, *rest = pattern.split("*")
    if not rest:
        return text == first
    *middle, last = rest
    if not text.startswith(first) or len(text) < len(first) + len(last):
        return False
    place, end = len(first), len(text) - len(last)
    for part in middle:
        place = text.find(part, place, end)
        if place < 0:
            return False
        place += len(part)
    return text.endswith(last)


def for_query(rules: Sequence[ForQuery], query: str | None) -> dict[str, str]:
    """Return the documents that rules name for a query, each once, with the pattern."""
    named: dict[str, str] = {}
    for rule in rules:
        if fits(rule["query"], query or ""):
            for key in rule["documents"]:
                named.setdefault(key, rule["query"])
    return named


def without_hidden(filter_: str | None, rules: Sequence[ForQuery], query: str | None) -> str | None:
    """Return a filter (JSON) that leaves out what rules hide for a query, too."""
    hidden = list(for_query(rules, query))
    if not hidden:
        return filter_
    lists = [hidden[start : start + LEAST_LIMIT] for start in range(0, len(hidden), LEAST_LIMIT)]
    conditions = [
        json.dumps({"not": {"or": [{"$source_key": {"in": names}}, {"$uri": {"in": names}}]}})
        for names in lists
    ]
    given = [] if filter_ is None else [filter_]
    return f'{{"and": [{", ".join([*given, *conditions])}]}}'


Value = TypeVar("Value")
Changes: TypeAlias = dict[int, list[Mapping[str, Json]]]  # by item


class Ruled(NamedTuple):
    """What rules did to a pool.

    `points` and `order` are those without rules, `pinned` items that come first, `changes` by item
    what rules changed.
    """

    points: Sequence[float]
    order: Sequence[int]
    pinned: Sequence[int]
    changes: Mapping[int, Sequence[Mapping[str, Json]]]

    def pinned_first(
        self, items: Sequence[int], points: Sequence[float]
    ) -> tuple[list[int], Sequence[float]]:
        """Return items and the points of all items, pinned ones first, with points of 1."""
        if not self.pinned:
            return list(items), points
        there, raised = set(items), list(points)
        for item in self.pinned:
            raised[item] = 1.0
        first = [item for item in self.pinned if item in there]
        return [*first, *(item for item in items if item not in first)], raised


def follow_rules(query: "Query", pool: "Pool", store: "StorePort", log: "Log") -> "Pool":
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
