"""What a search goes on without."""

from pgblend.plpy.session import Database, UserError

_CALLED = {
    **{arm: f"the {arm} arm" for arm in ("lexical", "vector", "fuzzy")},
    "shards": "some shards",
}


def go_on_without(
    db: Database, stage: str, problem: str, hint: str | None, sqlstate: str, strict: bool
) -> str:
    """Warn that a search goes on without a stage, and return the text for `degraded`.

    By the setting strict it is an error instead. The hint says what to do; it follows as a sentence
    of its own where the problem is one, else after a semicolon.
    """
    if strict:
        raise UserError(
            f"{stage}: {problem}", "Leave out the option strict to go on without it.", sqlstate
        )
    reason = problem
    if hint is not None:
        reason += f" {hint}" if problem.endswith((".", "!", "?")) else f"; {hint}"
    without = _CALLED.get(stage, f"the {stage} stage")
    db.warn(f"searching without {without}: {reason}")
    return f"{stage}: {reason}"
