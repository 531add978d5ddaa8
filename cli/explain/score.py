"""How a result's score came about: the arms' contributions, then what each stage made of it."""

from dataclasses import dataclass
from math import isclose

from pgblend.cli.explain.figures import label
from pgblend.cli.explain.trace import Result


@dataclass(frozen=True)
class ScoreStep:
    """A result's score in [0, 1] after a stage; `parts` are the arms' shares of it."""

    name: str
    value: float
    parts: tuple[tuple[str, float], ...] = ()

    @property
    def label(self) -> str:
        """What people read."""
        return label(self.name)


def score_steps(result: Result) -> list[ScoreStep]:
    """List the scores after the stages that have one, and the final score if it is another."""
    parts = tuple(
        (name, float(arm["contribution"]))
        for name, arm in result.arms.items()
        if arm.get("contribution") is not None
    )
    if result.bonus:
        parts = (*parts, ("bonus", result.bonus))
    steps = [
        ScoreStep(name, value, parts if name == "fuse" else ())
        for name, value in result.scores.items()
    ]
    if parts and not any(step.name == "fuse" for step in steps):
        steps.insert(0, ScoreStep("fuse", sum(value for _, value in parts), parts))
    if steps and isclose(steps[-1].value, result.score, abs_tol=1e-9):
        return steps
    return [*steps, ScoreStep("result", result.score)]
