"""The best passages scored against the query, and blended with their fused scores."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pgblend.plpy.blended_order import blended_order
from pgblend.plpy.checked_scores import checked_scores
from pgblend.plpy.cut_at_word import cut_at_word
from pgblend.plpy.rerank_targets import rerank_targets

MOST_CHARACTERS = 4000


class RerankStage:
    """Asks once, and puts any number of items in order by the answer."""

    def __init__(
        self,
        query: str,
        fused: Mapping[str, Any],
        settings: Mapping[str, Any],
        models: Any,
        tools: Mapping[str, Callable[..., Any]],
    ) -> None:
        self.query, self.fused, self.settings = query, fused, settings
        self.models, self.tools = models, tools
        self.targets: list[int] | None = None
        self.scores: dict[int, float] = {}
        self.addends: dict[int, dict[str, float]] = {}  # of the final scores (blend_addends)

    def order(self, items: Sequence[int], is_all: bool) -> tuple[list[int], Sequence[float]] | None:
        """Return items and scores in their final order; None until enough documents are there."""
        if not self.settings["stages"]["rerank"]:
            return list(items), self.fused["points"]
        if self.targets is None:
            depth = self.settings["rerank_depth"]
            targets = rerank_targets(items, self.fused["document_ids"], depth)
            if len(targets) < depth and not is_all:
                return None
            self.targets = targets
            self.tools["before"](len(items))
            if self.settings["traced"] != "rerank":
                self.rerank(targets)
        if not self.scores:
            return list(items), self.fused["points"]
        ordered, points, self.addends = blended_order(
            items, self.scores, self.fused, self.settings["blend"], self.settings["fused_scale"]
        )
        return ordered, points

    def passages(self, targets: Sequence[int]) -> list[str]:
        """Return what a reranker reads of the targets."""
        ids = [self.fused["chunk_ids"][item] for item in targets]
        texts = self.tools["texts_of"](ids)
        return [
            cut_at_word((texts.get(one) or {}).get("content") or "", MOST_CHARACTERS) for one in ids
        ]

    def rerank(self, targets: list[int]) -> None:
        """Learn the scores of the targets, from the caller or from the gateway."""
        given = self.settings["rerank_scores"]
        details: dict[str, Any] = {"given": True} if given else {}
        if given:
            ids = self.fused["chunk_ids"]
            self.scores = {
                item: float(given[str(ids[item])]) for item in targets if str(ids[item]) in given
            }
        elif targets:
            self.scores, details = self.ask(targets)
        self.tools["done"]("rerank", len(self.scores), details=details)

    def ask(self, targets: list[int]) -> tuple[dict[int, float], dict[str, Any]]:
        """Return the model's scores of the targets, and details; a blank text has 0."""
        texts = dict(zip(targets, self.passages(targets), strict=True))
        read = {item: text for item, text in texts.items() if text.strip()}
        self.models.begin("rerank", {"query": self.query, "documents": list(read.values())})
        outcome = self.models.answer("rerank")
        details = {"model_ms": outcome["ms"]}
        scores = checked_scores(outcome["answer"], len(read)) if "answer" in outcome else []
        if isinstance(scores, str):
            hint = "Does the model of the setting rerank_model score passages?"
            outcome, scores = {"problem": scores, "hint": hint}, []
        if "problem" in outcome:
            self.tools["degrade"]("rerank", outcome)
            return {}, details
        return {**dict.fromkeys(targets, 0.0), **dict(zip(read, scores, strict=True))}, details

    def relevances(self, items: Sequence[int]) -> list[float | None]:
        """Return the reranker's scores, None of items that it did not see."""
        return [self.scores.get(item) for item in items]


def rerank_stage(
    query: str,
    fused: Mapping[str, Any],
    settings: Mapping[str, Any],
    models: Any,
    tools: Mapping[str, Callable[..., Any]],
) -> RerankStage:
    """Return the stage of a search that reranks, where settings say so.

    `fused` is what fuse_lists returns, `models` what model_stages does. `tools`: texts_of(chunk
    ids), before(how many items there were), done, degrade. The setting rerank_scores has scores by
    chunk id, in place of a model's. Without an answer items keep their fused order.
    """
    return RerankStage(query, fused, settings, models, tools)
