"""The stage that reranks, against a gateway over real HTTP."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

import pytest

from pgblend.plpy.search.candidates import Fused
from pgblend.plpy.search.pool import Pool
from pgblend.plpy.search.rerank import has_targets, read_texts, rerank
from support.arm_lists import never, passage, pool_of, query_of, settings_of
from support.raw_server import http_answer
from support.stage_gateway import FakeProgress, StageGateway, stage_gateway


@pytest.fixture
def gateway() -> Iterator[StageGateway]:
    with stage_gateway() as opened:
        yield opened


FUSED = Fused(
    chunk_ids=[10, 20, 30, 40], document_ids=[1, 1, 2, 3],
    sums=[0.8, 0.6, 0.4, 0.2], points=[0.8, 0.6, 0.4, 0.2], order=[*range(9)],
)  # fmt: skip
RERANKS: dict[str, Any] = {
    "rerank_depth": 2,
    "rerank_level": "document",
    "rerank_scores": {},
    "fused_scale": "attainable",
    "blend": {"kind": "position", "rerank": 1, "fused": 0, "position": 0},
}
TEXTS = {10: "red wine", 20: "wine", 30: " ", 40: "sea"}


def reranked(
    gateway: StageGateway, *orders: Any, is_on: bool = True, traced: str = "none", **more: Any
) -> tuple[list[Any], Pool, FakeProgress]:
    """Return items and points for each of `orders`, None where they are too few; pool and log."""

    def texts(ids: Sequence[int]) -> dict[int, Any]:
        return {one: passage(one, TEXTS[one]) for one in ids if one in TEXTS}

    log = FakeProgress()
    log.db = gateway.db  # type: ignore[attr-defined]
    settings = settings_of(RERANKS | {"timeouts_ms": gateway.timeouts | {"total": 9000}} | more)
    query: Any = query_of(settings, traced, reranks=is_on)
    query = replace(query, deadline=monotonic() + 9)
    pool, found = pool_of(FUSED, texts), []
    for items, is_all in orders:
        looked_at = len(FUSED.order) if is_all else len(items)
        pool = pool._replace(ranking=pool.ranking._replace(distinct=items, looked_at=looked_at))
        if has_targets(query, pool):
            pool = rerank(query, pool, never, log)  # type: ignore[arg-type]
            found.append((pool.ranking.best, pool.ranking.points))
        else:
            found.append(None)
    return found, pool, log


def test_the_best_passage_of_each_document_is_scored(gateway: StageGateway) -> None:
    gateway.says["rerank"] = {"results": [{"index": 0, "relevance_score": 0.9}]}
    found, pool, log = reranked(gateway, ([0, 1], False), ([0, 1, 2, 3], False))
    assert found[0] is None  # one document is too few
    assert pool.ranking.targets == [0, 2]
    assert gateway.asked == [("rerank", {"query": "wine", "documents": ["red wine"]})]
    assert pool.ranking.scores == {0: 0.9, 2: 0.0}  # a blank text is not sent
    assert found[1] == ([0, 2, 1, 3], [0.9, 0.0, 0.0, 0.0])
    assert pool.ranking.relevances([2, 1, 0], pool) == [0.0, None, 0.9]
    assert log.told() == [("dedup", 4), ("rerank", 2)]


def test_passages_are_scored_whatever_their_document(gateway: StageGateway) -> None:
    scores = [{"index": 0, "relevance_score": 0.1}, {"index": 1, "relevance_score": 0.9}]
    gateway.says["rerank"] = {"results": scores}
    found, pool, _ = reranked(gateway, ([0, 1, 3], False), rerank_level="chunk")
    assert pool.ranking.targets == [0, 1]
    assert gateway.asked == [("rerank", {"query": "wine", "documents": ["red wine", "wine"]})]
    assert found == [([1, 0, 3], pytest.approx([0.1, 0.9, 0.04, 0.02]))]


def test_it_asks_once_and_may_turn_the_order(gateway: StageGateway) -> None:
    scores = [{"index": 1, "relevance_score": 1}, {"index": 0, "relevance_score": 0.5}]
    gateway.says["rerank"] = {"results": scores}
    orders = ([0, 1], False), ([0, 1, 3], False), ([0, 1, 3, 2], True)
    found, *_ = reranked(gateway, *orders)
    assert found[0] is None
    assert found[1] == ([3, 0, 1], pytest.approx([0.5, 0.3, 0.2, 1.0]))
    assert found[2][0] == [3, 0, 1, 2]
    assert gateway.asked == [("rerank", {"query": "wine", "documents": ["red wine", "sea"]})]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"results": []}, "the gateway gave 0 scores for 1 texts"),
        ({"scores": [1]}, "the gateway's answer has no results"),
        (http_answer(b"busy", "503 Unavailable"), "the model gateway answered 503: busy"),
    ],
)
def test_without_an_answer_the_order_stays(
    gateway: StageGateway, answer: Any, problem: str
) -> None:
    gateway.says["rerank"] = answer
    found, pool, log = reranked(gateway, ([0, 2, 3], False))
    assert found == [([0, 2, 3], FUSED.points)]
    assert log.degraded == [("rerank", problem)]
    assert (pool.ranking.scores, log.told()) == ({}, [("dedup", 3), ("rerank", 0)])


def test_scores_that_the_caller_gave(gateway: StageGateway) -> None:
    given = {"30": 0.75, "20": 1, "7": 1}
    found, pool, log = reranked(gateway, ([0, 2, 3], False), rerank_scores=given)
    assert pool.ranking.scores == {2: 0.75}  # 20 is no target
    assert found == [([2, 0, 3], pytest.approx([0.6, 0.45, 0.75, 0.15]))]
    assert log.stages[1].details == {"given": True}
    assert gateway.asked == []


def test_what_reranks_nothing(gateway: StageGateway) -> None:
    found, pool, log = reranked(gateway, ([3, 1], False), is_on=False)
    assert (found, log.stages) == ([([3, 1], FUSED.points)], [])
    found, pool, log = reranked(gateway, ([0, 2], False), traced="rerank")
    assert (found, pool.ranking.targets) == ([([0, 2], FUSED.points)], [0, 2])
    assert log.told() == [("dedup", 2)]
    assert read_texts(pool, [0, 3]) == ["red wine", "sea"]
    found, _, log = reranked(gateway, ([], True))
    assert (found, log.told()) == ([([], FUSED.points)], [("dedup", 0), ("rerank", 0)])
    assert gateway.asked == []


def test_long_passages_are_cut_at_a_word(
    gateway: StageGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TEXTS, 10, "wine " * 1000)
    _, pool, _ = reranked(gateway, ([0, 2], False), traced="rerank")
    assert read_texts(pool, [0]) == [("wine " * 800).strip()]
