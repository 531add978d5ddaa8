"""A walk over a graph, breadth first, whole frontiers at a time."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

# node, neighbour, and whatever else a caller wants to know of the edge
Edge = Sequence[Any]


Found = dict[int, list[tuple[int, int, Edge | None]]]  # by node: distance, seed, last edge


class Walk(NamedTuple):
    """The nodes that a walk found (breadth_first), and whether there were more."""

    found: Found
    is_cut: bool

    @property
    def columns(self) -> tuple[Any, ...]:
        """Return nodes, distances, and the edges that led there: from, is_reverse, type, weight.

        Of a walk that remembers one way to each node; then whether there were more.
        """
        ways = [nearest for (nearest,) in self.found.values()]
        via, _, reverses, types, weights = zip(
            *(edge or (None,) * 5 for *_, edge in ways), strict=True
        )
        columns = self.found, [distance for distance, *_ in ways], via, reverses, types, weights
        return *map(list, columns), self.is_cut

    @property
    def ways(self) -> list[tuple[int, int, int]]:
        """Return (node, distance, seed) of the ways to nodes."""
        return [
            (node, distance, seed)
            for node, of_node in self.found.items()
            for distance, seed, _ in of_node
        ]


def breadth_first(
    seeds: Sequence[int],
    depth: int,
    neighbours: Callable[[list[int]], Sequence[Edge]],
    node_limit: int,
    sources: int = 1,
) -> tuple[Found, bool]:
    """Return what is within `depth` steps of the seeds, and whether `node_limit` cut it short.

    Each node found has the nearest `sources` seeds, as (distance, seed, edge that led there),
    nearest first. A seed has itself, at distance 0 and without an edge, and with two sources the
    nearest other seed. `neighbours` gives the edges of a whole frontier, the best first. Of several
    ways of one length the first counts. Where not all new nodes fit, the first ones stay. Circles
    do no harm: a node takes each seed once.
    """
    found: Found = {seed: [(0, seed, None)] for seed in seeds}
    frontier: Mapping[int, list[int]] = {seed: [seed] for seed in found}
    cut = False
    for distance in range(1, depth + 1):
        if not frontier:
            break
        reached: dict[int, list[int]] = {}
        for edge in neighbours(sorted(frontier)):
            node, neighbour = edge[0], edge[1]
            if neighbour not in found:
                if len(found) >= node_limit:
                    cut = True
                    continue
                found[neighbour] = []
            known = found[neighbour]
            for seed in frontier[node]:
                if len(known) < sources and all(seed != other for _, other, _ in known):
                    known.append((distance, seed, edge))
                    reached.setdefault(neighbour, []).append(seed)
        frontier = reached
    return found, cut
