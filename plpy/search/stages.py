"""What the stages of one search share."""

from collections.abc import Mapping
from time import monotonic, perf_counter, time
from typing import Any

from pgblend.plpy.models.stages import ModelStages, model_stages
from pgblend.plpy.search.plan import Request, search_plan
from pgblend.plpy.search.trace import stage_log
from pgblend.plpy.session import Database

_DEGRADE = "SELECT pgblend._degrade($1, $2, 'PB008', $3, $4) AS notes"
_DEGRADE_TYPES = ["text", "text", "text", "jsonb"]


class Search:
    """One search under way: its plan, the log of its stages, what it goes on without."""

    def __init__(self, db: Database, request: Request) -> None:
        self.began = monotonic()
        # The first search of a session imports and compiles; its stages begin after that.
        warmed = db.kept("warmed")
        # The process may have to wait between the clocks: the largest difference is right.
        origin = request.started_at + max(perf_counter() - time() for _ in range(3))
        self.stages, self.done, self.skip, self.warm = stage_log(
            perf_counter, origin, "search" not in warmed
        )
        warmed["search"] = True
        self.db, self.request = db, request
        self.plan = search_plan(db, request)
        self.settings = self.plan.settings
        self.degraded: list[str] = []

    def degrade(self, stage: str, outcome: Mapping[str, Any]) -> None:
        """Name what the search goes on without; fail by strict, or where rows need the vector."""
        problem, hint = outcome["problem"], outcome["hint"]
        needs_vector = self.settings["only_arm"] == "vector"
        if stage == "vector" and (needs_vector or self.settings["graph"].get("combine") == "sum"):
            hint = f"{hint}\nlexical_search needs no vectors."
            self.db.fail(f"VECTORS_UNAVAILABLE: {problem}", "PB008", hint)
        values = [stage, problem, hint, self.request.settings]
        self.degraded += self.db.run(_DEGRADE, _DEGRADE_TYPES, *values)[0]["notes"]

    def models(self) -> ModelStages:
        """Return what asks models; leaving its `with` block ends calls that are under way."""
        calls, limits = self.db.kept("calls"), self.settings["timeouts_ms"]
        return model_stages(self.db.run, calls, limits, self.plan.deadline, monotonic)
