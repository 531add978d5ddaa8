"""The expansion of a query."""

from collections.abc import Mapping, Sequence
from typing import Any

from pgblend.plpy.base.catalog import GivenExpansion, Said, SearchSettings
from pgblend.plpy.base.session import Json
from pgblend.plpy.base.stages import Progress
from pgblend.plpy.models.outcome import IS_IT, ModelStages, Outcome


def checked_expansion(answer: Any) -> GivenExpansion | None:
    """Return {lexicalQueries, vectorQueries, hyde} of an answer, None where it has another shape.

    Missing lists are empty. Blank texts and a blank hyde are left out, and a list has at most ten
    texts. There are subQuestions, at most four, where the answer has some.
    """
    if not isinstance(answer, Mapping):
        return None
    hyde = answer.get("hyde")
    found = []
    for name, most in (("lexicalQueries", 10), ("vectorQueries", 10), ("subQuestions", 4)):
        texts = answer.get(name) or []
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            return None
        found.append([text for text in texts if text.strip()][:most])
    if hyde is not None and not isinstance(hyde, str):
        return None
    kept = hyde if hyde and hyde.strip() else None
    expansion: GivenExpansion = {
        "lexicalQueries": found[0],
        "vectorQueries": found[1],
        "hyde": kept,
    }
    return {**expansion, "subQuestions": found[2]} if found[2] else expansion


def expansion_question(
    query: str, hyde: str, history: Sequence[Said], most: int
) -> tuple[str, dict[str, Any]]:
    """Return task and question for a gateway: by the settings hyde, history and sub_questions.

    A chat before the query asks for one sub-question at least: the query, complete in itself.
    """
    if hyde == "query":
        return "hyde", {"query": query}
    chat = {"history": history} if history else {}
    more = {**chat, "sub_questions": max(most, 1)} if history or most else {}
    return "expand", {"query": query, **more}


def embedded_texts(expansion: GivenExpansion) -> dict[str, str]:
    """Return the texts of an expansion that have vectors, in the order in which these are given.

    By the names of their lists: its vectorQueries, hyde, then its subQuestions.
    """
    texts = {
        f"vector_variant_{place}": text
        for place, text in enumerate(expansion.get("vectorQueries") or (), 1)
    }
    if hyde := expansion.get("hyde"):
        texts["hyde"] = hyde
    return texts | {
        f"vector_question_{place}": text
        for place, text in enumerate(expansion.get("subQuestions") or (), 1)
    }


def joined_to(query: str, hyde: str) -> str:
    """Return the text whose vector takes the place of the query's, by the setting hyde 'query'."""
    return f"{query}\n\n{hyde}"


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
    asked = expansion.get("subQuestions") or []
    texts = [*expansion["lexicalQueries"], *expansion["vectorQueries"], expansion["hyde"], *asked]
    told = ("queryLanguage", "promptVersion", "cached")
    details: dict[str, Json] = {
        "lexicalQueries": expansion["lexicalQueries"],
        "vectorQueries": expansion["vectorQueries"],
        "hyde": expansion["hyde"],
        **({"subQuestions": asked} if asked else {}),
        **{name: outcome.answer[name] for name in told if outcome.answer.get(name) is not None},
        **({"given": True} if given else {"model_ms": outcome.ms}),
    }
    log.done("expand", sum(text is not None for text in texts), details)
    if given:
        expansion["embeddings"] = given.get("embeddings") or []
    return expansion
