"""How long a thorough search takes when its models answer: `bench_thorough.py DATABASE_URL`.

Query expansion, vectors, rerank and blend, through a real gateway; its provider takes 0.3 s for
each call and gives canned answers, so what is measured is everything but the models. The budget
is a 95th percentile of 5 s: beyond it the row is a failure. Uses the database of bench_peers.py and
takes its settings back.
"""

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import figures
from corpora import DIMENSIONS, queries_of
from timing import milliseconds, summary

from pgblend.cli.base.database import Connection, connect
from support.model_provider import Behaviour, GatewayProcess, ModelProvider

BUDGET_MS = 5000
MODEL_SECONDS = 0.3
QUERIES = 40
SEARCH = "SELECT degraded FROM blend.hybrid_search(%s, options => %s::jsonb)"
SET = "SELECT blend.set_setting(%s, to_jsonb(%s::text))"
EXPANSION = {
    "lexicalQueries": ["history and awards"],
    "vectorQueries": ["what happened and when"],
    "hyde": "It happened early in the century and was given several awards.",
    "notes": "",
    "subQuestions": [f"what happened in the {century} century" for century in ("18th", "19th")]
    + [f"which award did the {person} get" for person in ("writer", "painter")],
}
CASES: dict[str, dict[str, Any]] = {
    "fast, model asked for the vector": {"mode": "fast"},
    "default": {"mode": "default"},
    "thorough": {"mode": "thorough"},
    "thorough, four sub-questions": {"mode": "thorough", "sub_questions": {"most": 4}},
}


def main(url: str) -> None:
    """Search in each mode and write the figures."""
    with (
        ModelProvider() as provider,
        GatewayProcess(provider=provider) as gateway,
        connect(url) as connection,
    ):
        provider.reply = lambda _: json.dumps(EXPANSION)
        provider.behaviour = Behaviour(delay_seconds=MODEL_SECONDS, dimensions=DIMENSIONS)
        settings = {
            "gateway_url": gateway.url,
            "expansion_model": provider.chat_model,
            "rerank_model": provider.rerank_model,
        }
        try:
            for name, value in settings.items():
                connection.execute(
                    "SELECT blend.set_setting(%s, to_jsonb(%s::text))", [name, value]
                )
            connection.execute("SELECT blend.expand_query('x', timeout_ms => 60000)")
            connection.execute("SELECT blend.embed_text('{x}', timeout_ms => 60000)")
            connection.execute("SELECT blend.rerank_passages('x', '{x}', timeout_ms => 60000)")
            rows = [measured(connection, name, given) for name, given in CASES.items()]
        finally:
            for name in settings:
                connection.execute("SELECT blend.reset_setting(%s)", [name])
    figures.write("thorough", figures.with_ratios(rows, next(iter(CASES))))


def measured(connection: Connection, name: str, given: dict[str, Any]) -> figures.Row:
    """Search in one way; each question is asked in one way only, so nothing is in the cache."""
    place = list(CASES).index(name)
    questions = [row["text"] for row in queries_of("wiki_en")][place :: len(CASES)][:QUERIES]
    options = json.dumps(given | {"strong_signal": {"score": 1, "gap": 1}})
    left_out = 0
    times = []
    for question in questions:
        found: list[tuple[list[str]]] = []
        times.append(
            milliseconds(
                lambda question=question, found=found: found.extend(
                    connection.execute(SEARCH, [question, options])
                )
            )
        )
        left_out += any(degraded for (degraded,) in found)
    row: figures.Row = {
        "case": f"models take {MODEL_SECONDS} s a call",
        "system": name,
        **summary(times),
        "degraded": left_out,
    }
    if row["p95"] > BUDGET_MS:
        row["error"] = f"p95 is {row['p95']:.0f} ms, over the budget of {BUDGET_MS}"
    return row


if __name__ == "__main__":
    main(*sys.argv[1:])
