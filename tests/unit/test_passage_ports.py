"""Two nodes that hold half of the passages each give the page of one that holds all."""

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import pytest

from pgblend.plpy.base.ports import (
    AgesRequest,
    CosinesRequest,
    Distance,
    DistancesRequest,
    Edge,
    Holder,
    HoldersRequest,
    LanguagesRequest,
    NamedDocument,
    NamesRequest,
    NeighboursRequest,
    NodePassage,
    NodesRequest,
    Passage,
    PassagePort,
    PassagesRequest,
    PassingRequest,
    VectorsRequest,
)
from pgblend.plpy.search import call
from pgblend.plpy.search.node import StoreNode
from support.fake_database import FakeDatabase
from support.fake_search import ANSWERS, OPTIONS, TEXTS, asked, passage, state

# (node, neighbour, weight): passages 1 to 4; of 9 there is an edge alone, it is gone.
EDGES = [(1, 3, 1.0), (3, 4, 1.5), (4, 2, 2.0), (2, 9, 1.0), (3, 1, 1.0), (2, 3, 0.5)]


def node_of(chunk_id: int) -> int:
    return 4 * chunk_id + 1


def cosine(chunk_id: int, vector: str) -> float:
    """Return a number that depends on both."""
    return 1 / (chunk_id + abs(json.loads(vector)[0]))


def node(chunk_ids: set[int]) -> StoreNode:
    """Return a node that holds some passages, and the edges from them."""

    def holders(ids: Sequence[int], contents: Sequence[str]) -> list[dict[str, Any]]:
        names = ("chunk_id", "content", "document_id", "collection", "source_key", "uri", "title")
        rows = [passage(one) for one in ids if one in chunk_ids and TEXTS[one] in contents]
        return [{name: row[name] for name in names} for row in rows]

    def neighbours(nodes: Sequence[int], *_: object) -> list[dict[str, Any]]:
        edges = [Edge(node_of(one), node_of(other), False, "link", weight)
                 for one, other, weight in EDGES
                 if one in chunk_ids and node_of(one) in nodes]  # fmt: skip
        return [edge._asdict() for edge in sorted(edges, key=heaviest_first)]

    def node_passages(nodes: Sequence[int], *_: object) -> list[dict[str, Any]]:
        chunks = [one >> 2 if one & 1 else (one >> 2) // 10 for one in nodes]
        held = [one if one in chunk_ids else 0 for one in chunks]
        return [
            {"node": one, "chunk_id": chunk, "document_id": 10 * chunk, "chunk_index": 0}
            for one, chunk in zip(nodes, held, strict=True)
        ]

    answers: Any = {
        "c.content = ANY": holders,
        "c.start_line": lambda ids, _: [
            passage(one) | {"may_repeat": one in (1, 3) and {1, 3} <= chunk_ids}
            for one in ids
            if one in chunk_ids
        ],
        "1 - (e.embedding": lambda ids, vector: [
            {"chunk_id": one, "value": cosine(one, vector)} for one in ids if one in chunk_ids
        ],
        "e.embedding::text": lambda ids: [
            {"chunk_id": one, "value": f"[{one}, 1]"} for one in ids if one in chunk_ids
        ],
        "_passage_ages(": lambda ids: [
            {"ages": [float(one) if one in chunk_ids else None for one in ids]}
        ],
        "array_agg(c.id ORDER BY u.place)": lambda ids, _: [
            {"passing": [one for one in ids if one in chunk_ids and one > 1]}
        ],
        "_field_distances(": lambda ids, keys, origins: [
            {"place": place, "chunk_id": one, "distance": one + place}
            for place, _ in enumerate(zip(keys, origins, strict=True))
            for one in ids
            if one in chunk_ids
        ],
        "d.uri = n.name": lambda names, _: [
            {"name": name, "document_id": 10 * int(name)}
            for name in names
            if int(name) in chunk_ids
        ],
        "_neighbours(": neighbours,
        "_nodes_shown(": node_passages,
    }
    return StoreNode(FakeDatabase(answers))


def heaviest_first(edge: Edge) -> tuple[float, int, int]:
    return -edge.weight, edge.neighbour, edge.node


PASSAGES = [name for name in vars(PassagePort) if not name.startswith("_")]


def check_time(timeout_ms: float) -> None:
    assert 0 < timeout_ms <= OPTIONS["timeouts_ms"]["total"]


class TwoNodes:
    """Asks both nodes, and joins what they give; every request has its time."""

    def __init__(self, *nodes: PassagePort) -> None:
        self.nodes = nodes

    def passages(self, request: PassagesRequest) -> Sequence[Passage]:
        check_time(request.timeout_ms)
        found = chain(*(one.passages(request) for one in self.nodes))
        return [one._replace(may_repeat=True) for one in found]

    def holders(self, request: HoldersRequest) -> Sequence[Holder]:
        check_time(request.timeout_ms)
        return [*chain(*(one.holders(request) for one in self.nodes))]

    def ages_days(self, request: AgesRequest) -> Sequence[float | None]:
        check_time(request.timeout_ms)
        found = (one.ages_days(request) for one in self.nodes)
        return [
            next((age for age in ages if age is not None), None)
            for ages in zip(*found, strict=True)
        ]

    def languages(self, request: LanguagesRequest) -> Sequence[str | None]:
        check_time(request.timeout_ms)
        found = (one.languages(request) for one in self.nodes)
        return [next(filter(None, names), None) for names in zip(*found, strict=True)]

    def passing(self, request: PassingRequest) -> Sequence[Sequence[int]]:
        check_time(request.timeout_ms)
        found = (one.passing(request) for one in self.nodes)
        return [[*chain(*of_filter)] for of_filter in zip(*found, strict=True)]

    def distances(self, request: DistancesRequest) -> Sequence[Distance]:
        check_time(request.timeout_ms)
        return [*chain(*(one.distances(request) for one in self.nodes))]

    def named_documents(self, request: NamesRequest) -> Sequence[NamedDocument]:
        check_time(request.timeout_ms)
        found = chain(*(one.named_documents(request) for one in self.nodes))
        return sorted(found, key=lambda one: one.document_id)

    def cosines(self, request: CosinesRequest) -> Mapping[int, float | None]:
        check_time(request.timeout_ms)
        return dict(chain(*(one.cosines(request).items() for one in self.nodes)))

    def vectors(self, request: VectorsRequest) -> Mapping[int, str]:
        check_time(request.timeout_ms)
        return dict(chain(*(one.vectors(request).items() for one in self.nodes)))

    def neighbours(self, request: NeighboursRequest) -> Sequence[Edge]:
        check_time(request.timeout_ms)
        edges = chain(*(one.neighbours(request) for one in self.nodes))
        return sorted(edges, key=heaviest_first)[: request.most]

    def node_passages(self, request: NodesRequest) -> Sequence[NodePassage]:
        """Return the passage of a node from where it is; it is gone where it is nowhere."""
        check_time(request.timeout_ms)
        found: dict[int, NodePassage] = {}
        answers = [one.node_passages(request) for one in self.nodes]
        for one in chain(*answers):
            if one.chunk_id or all(any(one == other for other in rows) for rows in answers):
                found[one.node] = one
        return [found[one] for one in request.nodes if one in found]


GRAPH = {
    "weight": 0.5, "combine": "fused", "seeds": 2, "depth": 2, "direction": "both",
    "edge_types": None, "node_limit": 100,
}  # fmt: skip


def moved(vector: str, towards: Sequence[str], weight: float) -> list[dict[str, Any]]:
    """Return a vector that depends on all that is given, and on its order."""
    shares = [json.loads(one)[0] / place for place, one in enumerate(towards, 1)]
    return [{"vector": json.dumps([json.loads(vector)[0] + weight * sum(shares)])}]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fuzzy": "off", "dedup": "off"},
        {"mmr": {"lambda": 0.3, "pool": 50}},
        {"recency_half_life_days": 2, "level": "document"},
        {"min_relevance": 0.3},
        {"rerank_scores": {"4": 1.0, "2": 0.1}},
        {"feedback": {"passages": 3, "weight": 0.5}},
        {"boosts": [{"filter": {"a": 1}, "factor": 3}, {"filter": {}, "factor": 0.5}]},
        {"decays": [{"field": "a", "origin": 1, "half": 2}], "level": "document"},
        {"pinned": [{"query": "*", "documents": ["3", "1"]}], "candidate_depth": 1},
        {"graph": GRAPH},
        {"graph": GRAPH | {"node_limit": 3, "seeds": 4}},
        {"graph": GRAPH, "feedback": {"passages": 2, "weight": 1.0}},
    ],
)
def test_two_nodes_are_one(options: dict[str, Any]) -> None:
    pages = []
    for port in (node({1, 2, 3, 4}), TwoNodes(node({1, 4}), node({2, 3}))):
        db = FakeDatabase({**state(), "l2_normalize($1)": moved, **ANSWERS})
        store = StoreNode(db)
        for name in PASSAGES:
            setattr(store, name, getattr(port, name))
        rows = call.search(db, asked(**options), store)["results"]
        assert not {"c.start_line", "c.content = ANY", "1 - (e.embedding"} & {*db.asked}
        assert ("l2_normalize($1)" in db.asked) == ("feedback" in options)
        told = [{**vars_of(row), "details": json.loads(row.details)} for row in rows]
        sources = {row["details"].get("source") for row in told}
        assert ("graph" in options) == bool(sources & {"graph", "hybrid"})
        pages.append((told, db.warnings))
    assert pages[0][0]
    assert pages[0] == pages[1]


def vars_of(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__slots__}
