"""The expansion of a query."""

from collections.abc import Mapping
from typing import Any

from pgblend.plpy.models.stages import IS_IT, ModelStages, Outcome
from pgblend.plpy.session import Json
from pgblend.plpy.settings.catalog import GivenExpansion, SearchSettings
from pgblend.plpy.stages import Progress


def checked_expansion(answer: Any) -> GivenExpansion | None:
    """Return {lexicalQueries, vectorQueries, hyde} of an answer, None where it has another shape.

    Missing lists are empty; blank texts and a blank hyde are left out; at most ten texts a list.
    """
    if not isinstance(answer, Mapping):
        return None
    hyde = answer.get("hyde")
    found = []
    for name in ("lexicalQueries", "vectorQueries"):
        texts = answer.get(name) or []
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            return None
        found.append([text for text in texts if text.strip()][:10])
    if hyde is not None and not isinstance(hyde, str):
        return None
    kept = hyde if hyde and hyde.strip() else None
    return {"lexicalQueries": found[0], "vectorQueries": found[1], "hyde": kept}


def expanded_query(
    settings: SearchSettings, strong: bool, models: ModelStages, log: Progress
) -> GivenExpansion | None:
    """Return the expansion that was asked for before (or given), None where there is none.

    A strong signal leaves it.
    """
    given = settings.expansion
    task = "hyde" if settings.hyde == "query" else "expand"
    if strong:
        models.leave(task)
        log.skip("expand", "skipped_strong: the words alone have found the answer")
        return None
    outcome = Outcome(0.0, given) if given else models.answer(task)
    expansion = checked_expansion(outcome.answer)
    if expansion is None:
        problem = outcome.problem or "the gateway's answer is no expansion"
        hint = outcome.hint if outcome.problem else IS_IT
        log.degrade("expand", problem, hint)
        log.done("expand", 0, {"model_ms": outcome.ms})
        return None
    texts = [*expansion["lexicalQueries"], *expansion["vectorQueries"], expansion["hyde"]]
    told = ("queryLanguage", "promptVersion", "cached")
    details: dict[str, Json] = {
        "lexicalQueries": expansion["lexicalQueries"],
        "vectorQueries": expansion["vectorQueries"],
        "hyde": expansion["hyde"],
        **{name: outcome.answer[name] for name in told if outcome.answer.get(name) is not None},
        **({"given": True} if given else {"model_ms": outcome.ms}),
    }
    log.done("expand", sum(text is not None for text in texts), details)
    if given:
        expansion["embeddings"] = given.get("embeddings") or []
    return expansion
