"""The best passages scored against the query."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pgblend.plpy.base.catalog import SearchSettings
from pgblend.plpy.base.ports import Passage
from pgblend.plpy.base.session import Json
from pgblend.plpy.base.stages import Progress
from pgblend.plpy.lexical.words import cut_at_word
from pgblend.plpy.models.answer import mask_secrets
from pgblend.plpy.models.stages import ModelStages
from pgblend.plpy.search.candidates import Fused


def rerank_targets(
    items: Sequence[int], document_ids: Sequence[int], level: str, depth: int
) -> list[int]:
    """Return what a reranker reads of `items`, best first: the first `depth` passages.

    At level document they are the best one of each of the first documents.
    """
    if level == "chunk":
        return list(items[:depth])
    first: dict[int, int] = {}
    for item in items:
        first.setdefault(document_ids[item], item)
        if len(first) == depth:
            break
    return list(first.values())


def checked_scores(answer: Mapping[str, Any], count: int) -> list[float] | str:
    """Return a score in [0, 1] for each of `count` texts, or what is wrong with the answer.

    `answer` is {"results": [{"index", "relevance_score"}, …]}, in any order. The gateway has
    brought scores to [0, 1]; nothing is squeezed here once more.
    """
    results = answer.get("results")
    if not isinstance(results, list) or not all(isinstance(one, Mapping) for one in results):
        return "the gateway's answer has no results"
    scores: dict[int, float] = {}
    for one in results:
        index, score = one.get("index"), one.get("relevance_score")
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < count:
            shown = mask_secrets(repr(index))
            return f"the gateway's answer has a score for text {shown:.50} of {count}"
        if isinstance(score, bool) or not isinstance(score, int | float) or not is_finite(score):
            return f"the gateway's answer has {mask_secrets(repr(score)):.50} for a score"
        if not 0 <= score <= 1:
            return f"the gateway's answer has a score of {score:.6g}: expected 0 to 1"
        if index in scores:
            return f"the gateway's answer has two scores for text {index}"
        scores[index] = float(score)
    if len(scores) != count:
        return f"the gateway gave {len(scores)} scores for {count} texts"
    return [scores[index] for index in range(count)]


def is_finite(score: float) -> bool:
    """Tell whether a float can hold a number: a whole one of JSON may have thousands of digits."""
    return abs(score) <= 1e308


MOST_CHARACTERS = 4000


@dataclass(eq=False, repr=False)
class RerankStage:
    """Asks once, and puts any number of items in order by the answer.

    The setting rerank_scores has scores by chunk id, in place of a model's. Without an answer items
    keep their fused order. `is_on`: it reranks; `asks` is false where only what it would read is
    wanted. `before` is told how many items there are.
    """

    query: str
    fused: Fused
    settings: SearchSettings
    models: ModelStages
    log: Progress
    texts_of: Callable[[Sequence[int]], Mapping[int, Passage]]
    before: Callable[[int], None]
    is_on: bool
    asks: bool
    targets: list[int] | None = None
    scores: dict[int, float] = field(default_factory=dict)
    addends: dict[int, dict[str, float]] = field(default_factory=dict)  # of the final scores

    def order(self, items: Sequence[int], is_all: bool) -> tuple[list[int], Sequence[float]] | None:
        """Return items and scores in their final order; None until enough of them are there."""
        if not self.is_on:
            return list(items), self.fused.points
        if self.targets is None:
            depth, level = self.settings.rerank_depth, self.settings.rerank_level
            targets = rerank_targets(items, self.fused.document_ids, level, depth)
            if len(targets) < depth and not is_all:
                return None
            self.targets = targets
            self.before(len(items))
            if self.asks:
                self.rerank(targets)
        if not self.scores:
            return list(items), self.fused.points
        from pgblend.plpy.search.blend import blended_order  # of few searches

        ordered, points, self.addends = blended_order(
            items, self.scores, self.fused, self.settings.blend, self.settings.fused_scale
        )
        return ordered, points

    def passages(self, targets: Sequence[int]) -> list[str]:
        """Return what a reranker reads of the targets."""
        ids = self.fused.ids(targets)
        texts = self.texts_of(ids)
        return [
            cut_at_word(texts[one].content, MOST_CHARACTERS) if one in texts else "" for one in ids
        ]

    def rerank(self, targets: list[int]) -> None:
        """Learn the scores of the targets, from the caller or from the gateway."""
        given = self.settings.rerank_scores
        details: dict[str, Json] = {"given": True} if given else {}
        if given:
            ids = self.fused.chunk_ids
            self.scores = {
                item: float(given[str(ids[item])]) for item in targets if str(ids[item]) in given
            }
        elif targets:
            self.scores, details = self.ask(targets)
        self.log.done("rerank", len(self.scores), details)

    def ask(self, targets: list[int]) -> tuple[dict[int, float], dict[str, Json]]:
        """Return the model's scores of the targets, and details; a blank text has 0."""
        texts = dict(zip(targets, self.passages(targets), strict=True))
        read = {item: text for item, text in texts.items() if text.strip()}
        self.models.begin("rerank", {"query": self.query, "documents": list(read.values())})
        outcome = self.models.answer("rerank")
        details: dict[str, Json] = {"model_ms": outcome.ms}
        scores = outcome.problem or checked_scores(outcome.answer, len(read))
        if isinstance(scores, str):
            is_it = "Does the model of the setting rerank_model score passages?"
            self.log.degrade("rerank", scores, outcome.hint if outcome.problem else is_it)
            return {}, details
        return {**dict.fromkeys(targets, 0.0), **dict(zip(read, scores, strict=True))}, details

    def relevances(self, items: Sequence[int]) -> list[float | None]:
        """Return the reranker's scores, None of items that it did not see."""
        return [self.scores.get(item) for item in items]
