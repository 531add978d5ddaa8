"""Ranked lists fused into one order, with bonuses for high ranks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import count, repeat
from math import fsum
from operator import add
from typing import TYPE_CHECKING, TypeVar

from pgblend.plpy.base.catalog import Bonus, SearchSettings
from pgblend.plpy.base.ports import CandidateList
from pgblend.plpy.base.session import Database
from pgblend.plpy.lexical.words import script_language
from pgblend.plpy.search.candidates import ArmList, Fused
from pgblend.plpy.search.scores import (
    comparable_scores,
    convex_fusion,
    scale_fused,
    score_range,
    weighted_sums,
)

if TYPE_CHECKING:
    from pgblend.plpy.search.candidates import StoredPassages
    from pgblend.plpy.search.pool import Pool
    from pgblend.plpy.search.query import Log, Query
    from pgblend.plpy.search.store import StorePort

# What is in the question's own language comes before its translations.

_OWN = "SELECT pgblend._query_configuration($1, $2) AS language"


def other_language_factors(
    query: str, languages: Sequence[str | None], factor: float, db: Database
) -> list[float] | None:
    """Return 1 for each candidate in the question's language, for others `factor`.

    `languages` are the candidates' text search configurations. None where all have the same, where
    the question's cannot be told, and where none has it: nothing changes then.
    """
    there = sorted({language for language in languages if language})
    if len(there) < 2:
        return None
    own = script_language(query)
    if own is None:
        own = db.run(_OWN, ["text", "text[]"], query, there)[0]["language"]
    if own not in there:
        return None
    return [1.0 if language == own else factor for language in languages]


def rank_bonus(
    ranks: Sequence[Sequence[int | None]], bonus: Bonus, attainable: float
) -> tuple[list[float], float]:
    """Return each item's bonus and the largest that there is, to be added to the fused sum.

    `ranks[list][item]` as in fuse_ranks. Kinds:
    - none: nothing.
    - both_top: `amount` where at least two lists have the item in their first `depth` (S0: 0.1, 5).
      Give one list for each way of searching: the best rank over its variants.
    - tiers: of `tiers`, [{max_rank, amount}] by rising max_rank, the first that the item's best
      rank in any list reaches, once (S1: 0.05 to rank 1, 0.02 to rank 3).

    With `unit` attainable the amounts are fractions of `attainable`, what the sum without them can
    attain (fuse_ranks gives it). Else (absolute) they count as they are.
    """
    rows = zip(*ranks, strict=True)
    unit = attainable if bonus.get("unit") == "attainable" else 1.0
    if bonus["kind"] == "both_top":
        depth, amount = bonus["depth"], bonus["amount"] * unit
        return [
            amount if sum(rank is not None and rank <= depth for rank in row) > 1 else 0.0
            for row in rows
        ], amount
    if bonus["kind"] == "tiers":
        tiers = [(tier["max_rank"], tier["amount"] * unit) for tier in bonus["tiers"]]
        reached = (
            next((amount for most, amount in tiers if rank is not None and rank <= most), 0.0)
            for rank in map(best_rank, rows)
        )
        return list(reached), max(amount for _, amount in tiers)
    return [0.0 for _ in rows], 0.0


def bonus_by_ways(
    lists: Sequence[ArmList],
    ranks: Sequence[Sequence[int | None]],
    bonus: Bonus,
    attainable: float,
) -> tuple[list[float], float]:
    """Return the bonus of each item and the largest possible one (rank_bonus).

    Words and vectors are two ways of searching. The lists of one way, the arms of words above all,
    count as one. In it an item has its best rank.
    """
    ways = [
        [
            of_ranks
            for of_list, of_ranks in zip(lists, ranks, strict=True)
            if of_list.by_vector == by_vector
        ]
        for by_vector in (False, True)
    ]
    best_ranks = [list(map(best_rank, zip(*of_way, strict=True))) for of_way in ways if of_way]
    return rank_bonus(best_ranks, bonus, attainable)


def best_rank(ranks: Iterable[int | None]) -> int | None:
    """Return the best of an item's ranks; None where no list has it."""
    return min((rank for rank in ranks if rank is not None), default=None)


Value = TypeVar("Value")
Missing = TypeVar("Missing")
MovedCosines = Callable[[Sequence[int], Sequence[int]], Mapping[int, float]]
AgesDays = Callable[[Sequence[int]], Sequence[float | None]]
LanguageFactors = Callable[[Sequence[int]], Sequence[float] | None]


def list_column(
    found: CandidateList, values: Iterable[Value], chunk_ids: Sequence[int], missing: Missing
) -> list[Value | Missing]:
    """Return the list's values, in its order, by item of a pool; `missing` where it lacks one."""
    value_of = dict(zip(found.chunk_ids, values, strict=False))  # counts are endless
    return list(map(value_of.get, chunk_ids, repeat(missing)))


def merge_lists(lists: Sequence[ArmList]) -> Fused:
    """Return the passages of all lists, each once, not yet fused."""
    found = [
        zip(one.found.document_ids, one.found.chunk_indexes, one.found.chunk_ids, strict=True)
        for one in lists
    ]
    ordered = sorted(found[0] if len(found) == 1 else set().union(*found))
    columns = map(list, zip(*ordered, strict=True)) if ordered else ([], [], [])
    document_ids, chunk_indexes, chunk_ids = columns
    ranks = [list_column(of_list.found, count(1), chunk_ids, None) for of_list in lists]
    return Fused(chunk_ids, document_ids, chunk_indexes, ranks)


def documents_once(lists: Sequence[ArmList]) -> list[ArmList]:
    """Return the lists with each document once, where its first passage stood.

    All lists show a document by the same passage: the first that the list of the largest weight
    has. Of equal weights the first list counts. `notes` follow their ranks.
    """
    shown: dict[int, tuple[int, int]] = {}
    for of_list in sorted(lists, key=lambda one: -one.weight):
        found = of_list.found
        passages = zip(found.chunk_ids, found.chunk_indexes, strict=True)
        for document, passage in zip(found.document_ids, passages, strict=True):
            shown.setdefault(document, passage)
    once = []
    for of_list in lists:
        found, notes = of_list.found, of_list.notes
        first: dict[int, int] = {}
        for place, document in enumerate(found.document_ids):
            first.setdefault(document, place)
        columns = found._replace(
            chunk_ids=[shown[document][0] for document in first],
            document_ids=list(first),
            chunk_indexes=[shown[document][1] for document in first],
            scores=[found.scores[place] for place in first.values()],
        )
        ranks = enumerate((place + 1 for place in first.values()), 1)
        kept = {new: notes[old] for new, old in ranks if old in notes}
        once.append(replace(of_list, found=columns, notes=kept))
    return once


MOST_HALVINGS = 1000.0  # a double has no smaller numbers than some halvings more give


def recency_decay(
    scores: Sequence[float], ages_days: Sequence[float | None], half_life_days: float | None
) -> list[float]:
    """Return score · 0.5^(age / half-life) of each item, in the order given.

    An age of one half-life halves a score, of two quarters it; scores in [0, 1] stay there. Ages
    below 0 (dates to come) count as 0, and so does None, an age that nobody knows. A half-life of
    None leaves all scores as they are.
    """
    if half_life_days is None:
        return list(scores)
    halvings = [min(max(age or 0.0, 0.0) / half_life_days, MOST_HALVINGS) for age in ages_days]
    return [score * 0.5**count for score, count in zip(scores, halvings, strict=True)]


def fuse_ranks(
    ranks: Sequence[Sequence[int | None]], weights: Sequence[float], k: float
) -> tuple[list[float], float]:
    """Return Σ weight / (k + rank) of each item, and what an item first in every list would get.

    `ranks[list][item]` starts at 1; None where the list lacks the item, which adds nothing. Terms
    are added from the smallest: the order of the lists changes no bit, and mirrored ranks tie.
    (Python's own `sum` rounds differently from 3.12 on.) Cormack, Clarke and Büttcher 2009.
    """
    terms = [
        [0.0 if rank is None else weight / (k + rank) for rank in of_list]
        for of_list, weight in zip(ranks, weights, strict=True)
    ]
    attainable = reduce(add, sorted(weight / (k + 1) for weight in weights), 0.0)
    if len(terms) == 2:
        return list(map(add, *terms)), attainable
    return [reduce(add, sorted(row)) for row in zip(*terms, strict=True)], attainable


def fuse_lists(
    lists: Sequence[ArmList],
    settings: SearchSettings,
    depth: int,
    moved_cosines: MovedCosines,
    ages_days: AgesDays,
    language_factors: LanguageFactors | None = None,
) -> Fused:
    """Return the pool of the lists' candidates with their fused scores.

    `moved_cosines` gives cosines of chunks to a vector moved towards others, `ages_days` the ages
    of passages. From `language_factors` comes what documents' languages leave of their scores.

    `depth` is how many candidates each arm was asked for. On the scale attainable a single list
    keeps its scores: BM25 as a share of what no passage can reach, a cosine as (1 + cosine) / 2.
    """
    fused = merge_lists(lists)
    count = len(fused.chunk_ids)
    fused.weights = [of_list.weight for of_list in lists]
    if settings.fusion == "convex" and len(lists) > 1:
        sums = _by_scores(fused, lists, settings, depth, moved_cosines)
    elif len(lists) == 1 and settings.fused_scale == "attainable":
        low, high = score_range(lists[0])
        whole = high - low
        shares = [max(score - low, 0.0) / whole for score in lists[0].found.scores]
        sums = [shares[rank - 1] for rank in fused.ranks[0] if rank]  # all have one
        fused.normal = [sums]
    else:
        sums, fused.attainable = fuse_ranks(fused.ranks, fused.weights, settings.rrf_k)
    fused.bonus = [0.0] * count
    if settings.bonus["kind"] != "none" and (fused.normal is None or len(lists) > 1):
        fused.bonus, largest = bonus_by_ways(lists, fused.ranks, settings.bonus, fused.attainable)
        sums = [sum(both) for both in zip(sums, fused.bonus, strict=True)]
        fused.attainable += largest
    if settings.recency_half_life_days is not None and count:
        ages = ages_days(fused.chunk_ids)
        fused.recency = recency_decay([1.0] * count, ages, settings.recency_half_life_days)
        sums = [score * factor for score, factor in zip(sums, fused.recency, strict=True)]
    if settings.other_languages < 1 and count and language_factors:
        fused.language = language_factors(fused.document_ids)
        if fused.language is not None:
            sums = [score * factor for score, factor in zip(sums, fused.language, strict=True)]
    fused.sums = sums
    fused.points = scale_fused(sums, fused.attainable, "attainable")
    fused.order = best_first(fused.points)
    return fused


def _by_scores(
    fused: Fused,
    lists: Sequence[ArmList],
    settings: SearchSettings,
    depth: int,
    moved_cosines: MovedCosines,
) -> list[float]:
    """Return the sums of convex fusion; note normal scores, weights and feedback."""
    chunk_ids = fused.chunk_ids
    scaled = [_scaled(of_list, chunk_ids, settings, depth) for of_list in lists]
    own = next((place for place, one in enumerate(lists) if one.arm == "vector"), None)
    if settings.feedback["passages"] > 0 and chunk_ids and own is not None:
        first = best_first(weighted_sums(*_weighted(lists, scaled)))
        fused.feedback = fused.ids(first[: settings.feedback["passages"]])
        fused.unmoved = scaled[own][0]
        moved = _with_scores(lists[own], moved_cosines(chunk_ids, fused.feedback))
        scaled[own] = _scaled(moved, chunk_ids, settings, depth)
    fused.normal, fused.weights = _weighted(lists, scaled)
    if any(one.question for one in lists):
        return _of_best_question(fused, lists, settings.sub_questions["weight"])
    return convex_fusion(fused.normal, fused.weights)


def _of_best_question(fused: Fused, lists: Sequence[ArmList], share: float) -> list[float]:
    """Return the sums where a passage counts by the query and by its best sub-question.

    Each of these is fused on its own; sub-questions weigh `share` times what the query does. A
    passage that answers one well is not worse for saying nothing of the others.
    """
    groups: dict[str | None, list[int]] = {}
    for place, one in enumerate(lists):
        groups.setdefault(one.question, []).append(place)
    normal, weights = list(fused.normal or ()), list(fused.weights)
    for question, places in groups.items():
        whole = fsum(weights[place] for place in places) or 1.0
        for place in places:
            weights[place] *= (share if question else 1.0) / whole
    asked = [places for question, places in groups.items() if question]
    points = [
        weighted_sums([normal[place] for place in places], [weights[place] for place in places])
        for places in asked
    ]
    best = [row.index(max(row)) for row in zip(*points, strict=True)]
    for number, places in enumerate(asked):
        for place in places:
            rows = zip(normal[place], best, strict=True)
            normal[place] = [score if chosen == number else 0.0 for score, chosen in rows]
    fused.normal, fused.weights = normal, weights
    fused.total = share + (1.0 if None in groups else 0.0)
    return [value / fused.total for value in weighted_sums(normal, weights)]


def best_first(scores: Sequence[float]) -> list[int]:
    """Return the items by falling score, ties in their order."""
    return sorted(range(len(scores)), key=scores.__getitem__, reverse=True)  # stable, as sorted is


def _with_scores(of_list: ArmList, score_of: Mapping[int, float]) -> ArmList:
    """Return the list with other scores of some passages, of which it may have lacked some."""
    found = of_list.found
    scores = {**dict(zip(found.chunk_ids, found.scores, strict=True)), **score_of}
    columns = found._replace(chunk_ids=list(scores), scores=list(scores.values()))
    return replace(of_list, found=columns)


def _scaled(
    of_list: ArmList, chunk_ids: Sequence[int], settings: SearchSettings, depth: int
) -> tuple[list[float], float]:
    """Return the list's normal scores by item, 0 where it lacks one, and its weight's factor."""
    normal, factor = comparable_scores(of_list, settings.normalization, depth, settings.k1)
    return list_column(of_list.found, normal, chunk_ids, 0.0), factor


def _weighted(
    lists: Sequence[ArmList], scaled: Sequence[tuple[list[float], float]]
) -> tuple[list[list[float]], list[float]]:
    """Return normal scores and weights by list, with their factors unless those are all 0."""
    own = [of_list.weight for of_list in lists]
    weights = [weight * factor for weight, (_, factor) in zip(own, scaled, strict=True)]
    return [scores for scores, _ in scaled], weights if any(weights) else own


# The stage of a search.


def fuse(query: "Query", pool: "Pool", store: "StorePort", log: "Log") -> "Pool":
    """Fuse the lists into one order of all candidates; points are in [0, 1]."""
    settings, stored = query.settings, pool.stored
    lists = documents_once(pool.lists) if settings.level == "document" else pool.lists
    moved = partial(stored.moved_cosines, log.db, settings.feedback["weight"])
    factors = partial(_language_factors, query, stored, log.db)
    fused = fuse_lists(lists, settings, query.depth(), moved, stored.ages_days, factors)
    log.done("fuse", len(fused.order), {"feedback": fused.feedback} if fused.feedback else None)
    return pool._replace(lists=lists, fused=fused, found=len(fused.order))


def _language_factors(
    query: "Query", stored: "StoredPassages", db: Database, documents: Sequence[int]
) -> Sequence[float] | None:
    """Return what the languages of documents leave of their scores."""
    languages, factor = stored.languages(documents), query.settings.other_languages
    return other_language_factors(query.text, languages, factor, db)
