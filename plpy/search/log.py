"""What a search did: its stages, what it went on without, how often it was begun."""

from copy import copy
from time import perf_counter, time

from pgblend.plpy.base.session import Database, ProgramError
from pgblend.plpy.base.stages import StageLog
from pgblend.plpy.search.lexical import IndexState
from pgblend.plpy.search.plan import Plan
from pgblend.plpy.search.query import Request, Tries

_CALLED = {
    **{arm: f"the {arm} arm" for arm in ("lexical", "vector", "fuzzy")},
    "phrases": "the phrases",
    "replica": "the last changes",
    "shards": "some shards",
}


def sentences(problem: str, hint: str) -> str:
    """Return what happened and what to do about it, each as a sentence."""
    end = "" if problem.endswith((".", "!", "?")) else "."
    return f"{problem}{end} {hint}"


def go_on_without(
    db: Database, stage: str, problem: str, hint: str | None, sqlstate: str, strict: bool
) -> str:
    """Warn that a search goes on without a stage, and return the text for `degraded`.

    By the setting strict it is an error instead. The hint says what to do, in its own sentence.
    """
    if strict:
        raise ProgramError(
            f"{stage}: {problem}", "Leave out the option strict to go on without it.", sqlstate
        )
    reason = problem if hint is None else sentences(problem, hint)
    without = _CALLED.get(stage, f"the {stage} stage")
    db.warn(f"searching without {without}: {reason}")
    return f"{stage}: {reason}"


class Log(StageLog):
    """The log of one search; `index` is what it learnt of the lexical index.

    `plan` is set as soon as it is known: it says what a search may go on without.
    """

    plan: Plan

    def __init__(self, db: Database, request: Request) -> None:
        # The first search of a session imports and compiles; its stages begin after that.
        warmed = db.kept("warmed")
        # The process may have to wait between the clocks: the largest difference is right.
        origin = request.started_at + max(perf_counter() - time() for _ in range(3))
        super().__init__(perf_counter, origin, "search" not in warmed)
        warmed["search"] = True
        self.db = db
        self.degraded: list[str] = []
        self.tries: Tries = request.tries
        self.index = IndexState()

    def beside(self, plan: Plan) -> "Log":
        """Return a log for another search, which goes on from what is known here."""
        other = copy(self)
        other.plan, other.stages, other.degraded = plan, [], list(self.degraded)
        return other

    @property
    def had_time(self) -> bool:
        """Tell whether the lexical arm had the time that it needed."""
        return self.tries.problem != "PB009"

    def note(self, stage: str, problem: str, hint: str | None, sqlstate: str = "PB008") -> None:
        """Name what the search goes on without; by the setting strict it fails."""
        strict = self.plan.settings.strict
        self.degraded.append(go_on_without(self.db, stage, problem, hint, sqlstate, strict))

    def warn(self, message: str, hint: str | None = None) -> None:
        """Send a WARNING to the client."""
        self.db.warn(message, hint)

    def degrade(self, stage: str, problem: str, hint: str | None) -> None:
        """Name what a model failed to give; fail where rows need it."""
        if stage == "vector" and self.plan.needs_vectors:
            hint = f"{hint}\nlexical_search needs no vectors."
            raise ProgramError(f"VECTORS_UNAVAILABLE: {problem}", hint, "PB008")
        self.note(stage, problem, hint)
