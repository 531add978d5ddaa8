"""The stage that reranks, against a gateway over real HTTP."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from pgblend.plpy.search.candidates import Fused
from pgblend.plpy.search.rerank import RerankStage
from support.arm_lists import passage, settings_of
from support.raw_server import http_answer
from support.stage_gateway import FakeProgress, StageGateway, stage_gateway


@pytest.fixture
def gateway() -> Iterator[StageGateway]:
    with stage_gateway() as opened:
        yield opened


FUSED = Fused(
    chunk_ids=[10, 20, 30, 40], document_ids=[1, 1, 2, 3],
    sums=[0.8, 0.6, 0.4, 0.2], points=[0.8, 0.6, 0.4, 0.2],
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
    gateway: StageGateway, *orders: Any, is_on: bool = True, asks: bool = True, **more: Any
) -> tuple[list[Any], Any, FakeProgress, list[int]]:
    """Return what order() gives for each of `orders`, the stage, the log, and counts before."""
    log, before = FakeProgress(), []

    def texts(ids: Sequence[int]) -> dict[int, Any]:
        return {one: passage(one, TEXTS[one]) for one in ids if one in TEXTS}

    with gateway.models() as models:
        settings = settings_of(RERANKS | more)
        stage = RerankStage("wine", FUSED, settings, models, log, texts, before.append, is_on, asks)
        return [stage.order(*order) for order in orders], stage, log, before


def test_the_best_passage_of_each_document_is_scored(gateway: StageGateway) -> None:
    gateway.says["rerank"] = {"results": [{"index": 0, "relevance_score": 0.9}]}
    found, stage, log, before = reranked(gateway, ([0, 1], False), ([0, 1, 2, 3], False))
    assert found[0] is None  # one document is too few
    assert stage.targets == [0, 2]
    assert gateway.asked == [("rerank", {"query": "wine", "documents": ["red wine"]})]
    assert stage.scores == {0: 0.9, 2: 0.0}  # a blank text is not sent
    assert found[1] == ([0, 2, 1, 3], [0.9, 0.0, 0.0, 0.0])
    assert stage.relevances([2, 1, 0]) == [0.0, None, 0.9]
    assert (before, log.told()) == ([4], [("rerank", 2)])


def test_passages_are_scored_whatever_their_document(gateway: StageGateway) -> None:
    scores = [{"index": 0, "relevance_score": 0.1}, {"index": 1, "relevance_score": 0.9}]
    gateway.says["rerank"] = {"results": scores}
    found, stage, *_ = reranked(gateway, ([0, 1, 3], False), rerank_level="chunk")
    assert stage.targets == [0, 1]
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
    found, stage, log, _ = reranked(gateway, ([0, 2, 3], False))
    assert found == [([0, 2, 3], FUSED.points)]
    assert log.degraded == [("rerank", problem)]
    assert (stage.scores, log.told()) == ({}, [("rerank", 0)])


def test_scores_that_the_caller_gave(gateway: StageGateway) -> None:
    given = {"30": 0.75, "20": 1, "7": 1}
    found, stage, log, _ = reranked(gateway, ([0, 2, 3], False), rerank_scores=given)
    assert stage.scores == {2: 0.75}  # 20 is no target
    assert found == [([2, 0, 3], pytest.approx([0.6, 0.45, 0.75, 0.15]))]
    assert log.stages[0].details == {"given": True}
    assert gateway.asked == []


def test_what_reranks_nothing(gateway: StageGateway) -> None:
    found, stage, log, before = reranked(gateway, ([3, 1], False), is_on=False)
    assert (found, log.stages, before) == ([([3, 1], FUSED.points)], [], [])
    found, stage, log, _ = reranked(gateway, ([0, 2], False), asks=False)
    assert (found, stage.targets, log.stages) == ([([0, 2], FUSED.points)], [0, 2], [])
    assert stage.passages([0, 3]) == ["red wine", "sea"]
    found, _, log, before = reranked(gateway, ([], True))
    assert (found, before, log.told()) == ([([], FUSED.points)], [0], [("rerank", 0)])
    assert gateway.asked == []


def test_long_passages_are_cut_at_a_word(
    gateway: StageGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TEXTS, 10, "wine " * 1000)
    _, stage, _, _ = reranked(gateway, ([0, 2], False), asks=False)
    assert stage.passages([0]) == [("wine " * 800).strip()]
