"""The expansion of a query."""

from collections.abc import Callable, Mapping
from typing import Any


def checked_expansion(answer: Any) -> dict[str, Any] | None:
    """Return {lexicalQueries, vectorQueries, hyde} of an answer, None where it has another shape.

    Missing lists are empty; blank texts and a blank hyde are left out; at most ten texts a list.
    """
    if not isinstance(answer, Mapping):
        return None
    hyde = answer.get("hyde")
    found: dict[str, Any] = {}
    for name in ("lexicalQueries", "vectorQueries"):
        texts = answer.get(name) or []
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            return None
        found[name] = [text for text in texts if text.strip()][:10]
    if hyde is not None and not isinstance(hyde, str):
        return None
    return {**found, "hyde": hyde if hyde and hyde.strip() else None}


_NO_EXPANSION = {
    "problem": "the gateway's answer is no expansion",
    "hint": "Is gateway_url the address of a model gateway?",
}


def expanded_query(
    settings: Mapping[str, Any],
    strong: bool,
    models: Any,
    tools: Mapping[str, Callable[..., Any]],
) -> dict[str, Any] | None:
    """Return the expansion that was asked for before (or given), None where there is none.

    A strong signal leaves it. `tools` are done, skip and degrade; what the gateway failed to do is
    named by degrade(stage, outcome).
    """
    given = settings["expansion"]
    task = "hyde" if settings["hyde"] == "query" else "expand"
    if strong:
        models.leave(task)
        tools["skip"]("expand", "skipped_strong: the words alone have found the answer")
        return None
    outcome = {"answer": given, "ms": 0.0} if given else models.answer(task)
    expansion = checked_expansion(outcome.get("answer"))
    if expansion is None:
        tools["degrade"]("expand", outcome if "problem" in outcome else _NO_EXPANSION)
        tools["done"]("expand", 0, details={"model_ms": outcome["ms"]})
        return None
    if given:
        expansion["embeddings"] = given.get("embeddings")
    texts = [*expansion["lexicalQueries"], *expansion["vectorQueries"], expansion["hyde"]]
    more = {
        name: outcome["answer"].get(name) for name in ("queryLanguage", "promptVersion", "cached")
    }
    tools["done"](
        "expand",
        sum(text is not None for text in texts),
        details={
            **{name: value for name, value in expansion.items() if name != "embeddings"},
            **{name: value for name, value in more.items() if value is not None},
            **({"given": True} if given else {"model_ms": outcome["ms"]}),
        },
    )
    return expansion
