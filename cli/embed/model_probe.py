"""Asking models for something small, to see whether they serve their tasks."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from pgblend.cli.embed.embedding_client import GatewayClient, GatewayUnavailableError

_QUERY = "how do I deploy to production"
_PASSAGES = ["Run make deploy, then wait for the tests.", "Wine is made of grapes."]
# A picture of 1 x 1 points: enough for a model that takes pictures to say so.
_PICTURE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY"
    "42YAAAAASUVORK5CYII="
)


def probe_models(
    url: str, models: Iterable[Mapping[str, Any]], timeout_seconds: float
) -> list[dict[str, Any]]:
    """Ask each {"task", "model"} through the gateway; outcome is ok, failed or no_model."""
    with GatewayClient(url) as client:
        return [_probe(client, row["task"], row["model"], timeout_seconds) for row in models]


def _probe(
    client: GatewayClient, task: str, model: str | None, timeout_seconds: float
) -> dict[str, Any]:
    result: dict[str, Any] = {"task": task, "model": model, "milliseconds": None}
    if model is None:
        return {**result, "outcome": "no_model", "detail": "no model is set"}
    path, body = _request(task, model)
    start = time.perf_counter()
    try:
        answer = client.ask_once(path, body, timeout_seconds)
        detail = _read(task, answer)
    except GatewayUnavailableError as error:
        return {**result, "outcome": "failed", "detail": error.reason}
    except (KeyError, IndexError, TypeError, ValueError):
        return {**result, "outcome": "failed", "detail": f"{path} gave an answer of another shape"}
    milliseconds = round((time.perf_counter() - start) * 1000, 1)
    return {**result, "milliseconds": milliseconds, "outcome": "ok", "detail": detail}


def _request(task: str, model: str) -> tuple[str, dict[str, Any]]:
    """Return the path, and a body that no earlier test has left an answer to in a cache."""
    unlike = time.time_ns()
    if task == "embedding":
        return "/v1/embeddings", {"model": model, "input": f"{_QUERY} {unlike}"}
    if task == "expansion":
        return "/v1/expand", {"model": model, "query": f"{_QUERY} {unlike}"}
    if task == "rerank":
        query = f"{_QUERY} {unlike}"
        return "/v1/rerank", {"model": model, "query": query, "documents": _PASSAGES}
    content: str | list[dict[str, Any]] = "Answer with the one word: ready"
    if task == "vision":
        picture = {"type": "image_url", "image_url": {"url": _PICTURE}}
        content = [{"type": "text", "text": "Name the colour in one word."}, picture]
    messages = [{"role": "user", "content": content}]
    body = {"model": model, "messages": messages, "max_tokens": 20, "user": f"pgblend:{task}"}
    return "/v1/chat/completions", body


def _read(task: str, answer: dict[str, Any]) -> str:
    """Return what an answer shows in a few words."""
    if task == "embedding":
        return f"{len(answer['data'][0]['embedding'])} dimensions"
    if task == "expansion":
        number = len(answer["lexicalQueries"]) + len(answer["vectorQueries"])
        return f"{number} variants, {'a' if answer['hyde'] else 'no'} passage"
    if task == "rerank":
        best = answer["results"][0]
        return f"passage {best['index'] + 1} is best, with {best['relevance_score']:.2f}"
    said = str(answer["choices"][0]["message"]["content"])
    return f"it said: {' '.join(said.split())[:60]}"
