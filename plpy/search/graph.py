"""What the graph adds to a search."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pgblend.plpy.base.catalog import SearchSettings
from pgblend.plpy.base.ports import CandidateList, NodePassage
from pgblend.plpy.search.candidates import ArmList, Fused
from pgblend.plpy.search.fusion import (
    best_first,
    fuse_ranks,
    list_column,
    merge_lists,
    recency_decay,
)
from pgblend.plpy.search.pool import Places, Pool
from pgblend.plpy.search.scores import scale_fused, weighted_sums

if TYPE_CHECKING:
    from pgblend.plpy.search.query import Log, Query
    from pgblend.plpy.search.store import StorePort

# How many of the nearest seeds each node remembers. The best of them counts, and a seed's own nodes
# do not.
WALK_SOURCES = 5


class Reached(NamedTuple):
    """A passage that the graph leads to.

    `distance` from the nearest seed but itself, `near` the best seed's points over the distance
    from it.
    """

    chunk_id: int
    document_id: int
    chunk_index: int
    distance: int
    near: float

    @property
    def score(self) -> float:
        """Return 1 / (1 + distance)."""
        return 1 / (1 + self.distance)


def seed_nodes(pool: Fused, seeds: Sequence[int]) -> dict[int, int]:
    """Return the nodes to begin at, each with the first of the seeds that stands for it.

    `seeds` are items of the pool, best first. A passage stands for itself and for its document
    (nodes 4 · id + 1 and 4 · id).
    """
    seed_of: dict[int, int] = {}
    for item in seeds:
        for node in _own_nodes(pool, item):
            seed_of.setdefault(node, item)
    return seed_of


def graph_list(
    pool: Fused,
    seed_of: Mapping[int, int],
    ways: Sequence[tuple[int, int, int]],
    node_passages: Callable[[Sequence[int]], Sequence[NodePassage]],
) -> tuple[list[Reached], int]:
    """Return the passages that the graph leads to, best first, and how many nodes are gone.

    `ways` are (node, distance, seed's node): for each node its nearest seeds. Reaching a passage or
    its document reaches it. Where several passages of a document are in the pool, it reaches the
    best one. `node_passages` gives the passages of nodes that no passage of the pool stands for.
    """
    ids, documents = pool.chunk_ids, pool.document_ids
    item_of: dict[int, int] = {}
    for item in pool.order:
        item_of.setdefault(documents[item] * 4, item)
        item_of[ids[item] * 4 + 1] = item
    reached: dict[int, list[tuple[int, float]]] = {}  # distance, points of the seed
    for node, distance, seed in ways:
        if distance and seed not in (node, *_own_nodes(pool, item_of.get(node))):
            reached.setdefault(node, []).append((distance, pool.points[seed_of[seed]]))
    others = node_passages([node for node in reached if node not in item_of])
    own = [
        NodePassage(node, ids[item], documents[item], pool.chunk_indexes[item])
        for node in reached
        if (item := item_of.get(node, -1)) >= 0
    ]
    ways_to: dict[tuple[int, int, int], list[tuple[int, float]]] = {}
    for one in (*own, *others):
        if one.chunk_id:
            place = one.chunk_id, one.document_id, one.chunk_index
            ways_to.setdefault(place, []).extend(reached[one.node])
    rows = (
        Reached(*place, min(way[0] for way in near), max(points / steps for steps, points in near))
        for place, near in ways_to.items()
    )
    order = sorted(rows, key=lambda row: (-row.near, row.document_id, row.chunk_index))
    return order, sum(not one.chunk_id for one in others)


def _own_nodes(pool: Fused, item: int | None) -> tuple[int, ...]:
    """Return the nodes that a passage of the pool stands for."""
    if item is None:
        return ()
    return pool.chunk_ids[item] * 4 + 1, pool.document_ids[item] * 4


def _list_of(rows: Sequence[Reached], weight: float) -> ArmList:
    """Return the rows of graph_list as one more list."""
    columns = CandidateList(
        chunk_ids=[row.chunk_id for row in rows],
        document_ids=[row.document_id for row in rows],
        chunk_indexes=[row.chunk_index for row in rows],
        scores=[row.score for row in rows],
        perfect=0.5,
    )
    notes = {rank: {"distance": row.distance} for rank, row in enumerate(rows, 1)}
    return ArmList("graph", "graph", weight, columns, notes)


def fuse_graph(
    lists: Sequence[ArmList],
    fused: Fused,
    rows: Sequence[Reached],
    settings: SearchSettings,
    ages_days: Callable[[Sequence[int]], Sequence[float | None]],
) -> tuple[list[ArmList], Fused]:
    """Return the lists with the graph's at their end, and the pool fused anew.

    `rows` are those of graph_list. The list's weight is `weight` times that of all other lists
    together. By ranks it adds weight / (k + rank), else `near`: the points of the best seed over
    the distance from it. With combine "sum" scores are added as they are, each 0 where it is
    missing: cosine + weight / (1 + distance) (S3).
    """
    is_sum = settings.graph["combine"] == "sum"
    weight = settings.graph["weight"] * (1.0 if is_sum else fused.whole)
    together = [*lists, _list_of(rows, weight)]
    pool = merge_lists(together)
    if fused.recency is not None:
        ages = ages_days(pool.chunk_ids)
        half_life = settings.recency_half_life_days
        pool.recency = recency_decay([1.0] * len(ages), ages, half_life)
    decay = pool.recency or [1.0] * len(pool.chunk_ids)
    if fused.language is not None:  # what only the graph found keeps its score
        factor_of = dict(zip(fused.chunk_ids, fused.language, strict=True))
        pool.language = [factor_of.get(chunk_id, 1.0) for chunk_id in pool.chunk_ids]
        decay = [left * factor for left, factor in zip(decay, pool.language, strict=True)]
    if is_sum:
        add_scores(pool, together, decay)
    else:
        near = {row.chunk_id: row.near for row in rows}
        near_of = [near.get(chunk_id, 0.0) for chunk_id in pool.chunk_ids]
        add_share(pool, fused, weight, near_of, decay, settings.rrf_k)
    pool.feedback = fused.feedback
    # A sum with a negative cosine may lie below 0.
    points = scale_fused(pool.sums, pool.attainable, "attainable")
    pool.points = [max(point, 0.0) for point in points]
    pool.order = best_first(pool.sums)
    return together, pool


def add_scores(pool: Fused, lists: Sequence[ArmList], decay: Sequence[float]) -> None:
    """Fuse a pool by adding scores as they are; the last list is the graph's."""
    weight = lists[-1].weight
    pool.normal = [list_column(one.found, one.found.scores, pool.chunk_ids, 0.0) for one in lists]
    pool.weights = [*(1.0 for _ in lists[1:]), weight]
    sums = weighted_sums(pool.normal, pool.weights)
    pool.sums = [score * left for score, left in zip(sums, decay, strict=True)]
    pool.attainable = float(len(lists) - 1) + weight / 2
    pool.bonus = [0.0] * len(decay)
    pool.total = 1.0


def add_share(
    pool: Fused,
    fused: Fused,
    weight: float,
    near_of: Sequence[float],
    decay: Sequence[float],
    rrf_k: float,
) -> None:
    """Fuse a pool by adding the graph's share to the sums that were fused before."""
    old = {chunk_id: item for item, chunk_id in enumerate(fused.chunk_ids)}
    place = [old.get(chunk_id) for chunk_id in pool.chunk_ids]

    def moved(values: Sequence[float]) -> list[float]:
        return [0.0 if item is None else values[item] for item in place]

    total = fused.whole
    share = 1.0
    if fused.normal is None:
        gained, most = fuse_ranks([pool.ranks[-1]], [weight], rrf_k)
    else:
        share = total / (total + weight)
        gained = [near * (1 - share) for near in near_of]
        most = 1 - share
        pool.normal = [*map(moved, fused.normal), near_of]
    pool.sums = [
        before * share + gain * left
        for before, gain, left in zip(moved(fused.sums), gained, decay, strict=True)
    ]
    pool.attainable = fused.attainable * share + most
    pool.bonus = [amount * share for amount in moved(fused.bonus)]
    pool.weights = [*fused.weights, weight]
    pool.total = total + weight
    pool.unmoved = fused.unmoved and moved(fused.unmoved)


def search_graph(query: "Query", pool: Pool, store: "StorePort", log: "Log") -> Pool:
    """Fuse neighbours of the top candidates as one more list; its weight is above 0."""
    graph, lists, fused, stored = query.settings.graph, pool.lists, pool.fused, pool.stored
    seeds = fused.order[: graph["seeds"] if graph["combine"] == "fused" else None]
    seed_of = seed_nodes(fused, seeds)
    near = stored.walk(list(seed_of), WALK_SOURCES, graph)
    rows, gone = graph_list(fused, seed_of, near.ways, stored.node_passages)
    if near.is_cut:
        most = f"the graph has more than {graph['node_limit']} nodes in reach"
        log.warn(
            f"{most}: those of the heaviest edges are taken",
            "Raise node_limit of the option graph, or name edge_types.",
        )
    if gone:
        log.warn(
            f"edges lead to nodes that are gone: {gone}",
            "Delete their edges: SELECT * FROM blend.edges",
        )
    places = Places(frozenset(fused.chunk_ids), {row.chunk_id: row.distance for row in rows})
    if rows or graph["combine"] == "sum":
        lists, fused = fuse_graph(lists, fused, rows, query.settings, stored.ages_days)
    log.done("graph", len(rows))
    return pool._replace(lists=lists, fused=fused, places=places, found=len(fused.order))
