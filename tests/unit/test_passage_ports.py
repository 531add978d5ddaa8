"""Two nodes that hold half of the passages each give the page of one that holds all."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from itertools import chain
from typing import Any

import pytest

from pgblend.plpy.ports import (
    CosinesRequest,
    Holder,
    HoldersRequest,
    MovedCosines,
    MovedRequest,
    NodePassage,
    NodesRequest,
    Passage,
    PassagePort,
    VectorsRequest,
    Walk,
    WalkRequest,
)
from pgblend.plpy.search import run
from pgblend.plpy.search.passages import PassageNode
from support.fake_database import FakeDatabase
from support.fake_search import ANSWERS, TEXTS, asked, passage, state


def node(chunk_ids: set[int]) -> PassageNode:
    """Return a node that holds some passages."""

    def holders(ids: Sequence[int], contents: Sequence[str]) -> list[dict[str, Any]]:
        names = ("chunk_id", "content", "document_id", "collection", "source_key", "uri", "title")
        rows = [passage(one) for one in ids if one in chunk_ids and TEXTS[one] in contents]
        return [{name: row[name] for name in names} for row in rows]

    answers: Any = {
        "c.content = ANY": holders,
        "c.start_line": lambda ids: [passage(one) for one in ids if one in chunk_ids],
        "1 - (e.embedding": lambda ids, _: [
            {"chunk_id": one, "value": one / 7} for one in ids if one in chunk_ids
        ],
        "e.embedding::text": lambda ids: [
            {"chunk_id": one, "value": f"[{one}, 1]"} for one in ids if one in chunk_ids
        ],
        "_document_ages(": lambda ids: [
            {"ages": [one / 10 if one // 10 in chunk_ids else None for one in ids]}
        ],
    }
    return PassageNode(FakeDatabase(answers))


class TwoNodes:
    """Asks both nodes, and joins what they give."""

    def __init__(self, *nodes: PassagePort) -> None:
        self.nodes = nodes

    def passages(self, chunk_ids: Sequence[int]) -> Sequence[Passage]:
        return [*chain(*(one.passages(chunk_ids) for one in self.nodes))]

    def holders(self, request: HoldersRequest) -> Sequence[Holder]:
        return [*chain(*(one.holders(request) for one in self.nodes))]

    def ages_days(self, document_ids: Sequence[int]) -> Sequence[float | None]:
        found = (one.ages_days(document_ids) for one in self.nodes)
        return [
            next((age for age in ages if age is not None), None)
            for ages in zip(*found, strict=True)
        ]

    def cosines(self, request: CosinesRequest) -> Mapping[int, float | None]:
        return dict(chain(*(one.cosines(request).items() for one in self.nodes)))

    def vectors(self, request: VectorsRequest) -> Mapping[int, str]:
        return dict(chain(*(one.vectors(request).items() for one in self.nodes)))

    def moved_cosines(self, request: MovedRequest) -> MovedCosines:
        raise AssertionError("feedback is off")

    def walk(self, request: WalkRequest) -> Walk:
        raise AssertionError("the graph is off")

    def node_passages(self, request: NodesRequest) -> Sequence[NodePassage]:
        raise AssertionError("the graph is off")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fuzzy": "off", "dedup": "off"},
        {"mmr": {"lambda": 0.3, "pool": 50}},
        {"recency_half_life_days": 2, "level": "document"},
        {"min_relevance": 0.3},
        {"rerank_scores": {"4": 1.0, "2": 0.1}},
    ],
)
def test_two_nodes_are_one(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    pages = []
    for port in (node({1, 2, 3, 4}), TwoNodes(node({1, 4}), node({2, 3}))):
        monkeypatch.setattr(run, "PassageNode", lambda _, port=port: port)
        db = FakeDatabase({**state(), **ANSWERS})
        rows = run.search(db, asked(**options))["results"]
        assert not {"c.start_line", "c.content = ANY", "1 - (e.embedding"} & {*db.asked}
        pages.append([(*astuple(row)[:-1], json.loads(row.details)) for row in rows])
    assert pages[0]
    assert pages[0] == pages[1]
