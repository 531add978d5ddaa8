"""What a run will take: hours of the embedding model, and what its models cost.

The embedding model is asked for vectors of a few texts, which are thrown away, so that a model that
runs here is measured as it is.
"""

from dataclasses import dataclass
from typing import Any

from pgblend.cli.database import Connection
from pgblend.cli.ingest.gateway_client import GatewayClient, GatewayUnavailableError
from pgblend.cli.ingest.plan_space import hours_for, measure
from pgblend.cli.ingest.prices import chat_cost, embedding_cost
from pgblend.cli.ingest.report import Report
from pgblend.cli.ingest.spaces import get_setting, read_spaces
from pgblend.cli.ingest.summary_prompt import MAX_TOKENS, MOST_TOKENS

# Of a picture as vision models take it, and of what they write about one.
_PICTURE_TOKENS, _PICTURE_ANSWER = 1700, 500


@dataclass(frozen=True)
class Forecast:
    """Of what a run would do; None where nothing tells: no gateway, no price, nothing to do."""

    hours: dict[str, float | None] | None
    embedding_usd: float | None
    vision_usd: float | None
    summary_usd: float | None
    unpriced: tuple[str, ...] = ()


def forecast(connection: Connection, report: Report, summaries: bool, *, embeds: bool) -> Forecast:
    """Estimate from what a dry run counted: its chunks, tokens, documents and pictures."""
    active = [space.model for space in read_spaces(connection) if space.active]
    model = active[0] if active else str(get_setting(connection, "embedding_model"))
    costs = {model: embedding_cost(model, report.tokens)}
    vision = get_setting(connection, "vision_model")
    summary = get_setting(connection, "summary_model") if summaries else None
    seen = summed = None
    if vision and report.pictures:
        asked = report.pictures * _PICTURE_TOKENS, report.pictures * _PICTURE_ANSWER
        costs[vision] = seen = chat_cost(vision, *asked)
    count = sum(report.documents[status] for status in ("added", "replaced"))
    if summary and count:
        tokens = min(report.tokens, count * MOST_TOKENS)
        costs[summary] = summed = chat_cost(summary, tokens, count * MAX_TOKENS)
    return Forecast(
        _hours(connection, model, report) if embeds else None,
        costs[model],
        seen,
        summed,
        tuple(name for name, cost in costs.items() if cost is None),
    )


def _hours(connection: Connection, model: str, report: Report) -> dict[str, float | None] | None:
    """Return the hours of embedding by a measured sample, or by the limit where that is longer."""
    url = get_setting(connection, "gateway_url")
    if not url or not report.samples:
        return None
    rows: list[dict[str, Any]] = [
        {"chunk_id": place, "input": text, "tokens": max(tokens, 1)}
        for place, (text, tokens) in enumerate(report.samples)
    ]
    try:
        with GatewayClient(url, attempts=1) as client:
            _, calls, _ = measure(client, model, rows)
    except GatewayUnavailableError as error:
        report.degrade("hours", error.reason, error.hint)
        return None
    hours = hours_for(calls, report.tokens)
    limit = get_setting(connection, "embedding_texts_per_minute")
    at_least = report.chunks / limit / 60 if limit else 0.0
    return {name: None if value is None else max(value, at_least) for name, value in hours.items()}
