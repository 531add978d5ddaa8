"""What an embedding space would take: hours of the model, cost, bytes, and the index's build.

The model is asked for vectors of some chunks, which are thrown away. A coordinator's shards are
counted together for the model, and the largest alone for what one machine needs.
"""

import importlib.util
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple
from uuid import uuid4

from pgblend.cli.base.database import Connection, fetch_rows
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.places import databases_with_documents
from pgblend.cli.documents.ingest_report import Report
from pgblend.cli.embed.embedding_client import GatewayClient, GatewayUnavailableError
from pgblend.cli.embed.queue import BATCHES_IN_FLIGHT, EmbeddedTexts
from pgblend.cli.embed.spaces import SpaceCounts, get_setting, read_spaces
from pgblend.cli.embed.summaries import MAX_TOKENS, MOST_TOKENS, waiting_for_summaries

# What models cost by litellm's price table.

_TABLE = "model_prices_and_context_window_backup.json"


def embedding_cost(model: str, tokens: int) -> float | None:
    """Return US dollars, 0 for a local model; None where the price is not known."""
    if model.startswith("local/"):
        return 0.0
    return _price(model, {"input_cost_per_token": tokens})


def chat_cost(model: str, asked: int, answered: int) -> float | None:
    """Return US dollars for tokens that a chat model is asked with and answers."""
    return _price(model, {"input_cost_per_token": asked, "output_cost_per_token": answered})


def _price(model: str, tokens: dict[str, int]) -> float | None:
    """Add up by the table, which is read without litellm: its import takes two seconds."""
    litellm = importlib.util.find_spec("litellm")
    if not litellm or not litellm.origin:
        return None
    path = Path(litellm.origin).parent / _TABLE
    if not path.is_file():
        return None
    prices = json.loads(path.read_text(encoding="utf-8"))
    entry = prices.get(model) or prices.get(model.partition("/")[2]) or {}
    if not tokens.keys() <= entry.keys():
        return None
    return sum(float(entry[name]) * count for name, count in tokens.items())


_CALLS = 8
# Student's t: 95 percent of means of _CALLS values lie within so many standard errors.
_STUDENT_95 = 2.365
_COLLECTION = "SELECT id FROM blend.collections WHERE name = %(collection)s::text"
_CHUNKS = """
    SELECT count(*) AS chunks, coalesce(sum(c.token_count), 0)::bigint AS tokens
    FROM pgblend_data.chunk AS c
    WHERE %(collection_id)s::bigint IS NULL OR c.collection_id = %(collection_id)s::bigint
"""
# In an order that has to do with nothing, and is the same each time.
_SAMPLE = """
    SELECT i.chunk_id, i.input, length(i.input) AS characters,
        greatest(length(c.content), 1) AS own_characters,
        greatest(c.token_count, 1) AS tokens, hashint8(c.id) AS hash
    FROM pgblend._embedding_inputs(ARRAY(
        SELECT s.id FROM pgblend_data.chunk AS s
        WHERE %(collection_id)s::bigint IS NULL OR s.collection_id = %(collection_id)s::bigint
        ORDER BY hashint8(s.id), s.id LIMIT %(sample)s)) AS i
    INNER JOIN pgblend_data.chunk AS c ON c.id = i.chunk_id
    ORDER BY hashint8(c.id), c.id
"""
_STORAGES = """
    SELECT s.storage, s.most_dimensions, s.table_bytes, s.index_bytes, s.build_bytes,
        s.build_seconds / 3600 AS build_hours, s.fits,
        pg_size_bytes(current_setting('maintenance_work_mem')) AS maintenance_work_mem
    FROM pgblend._storages(%(chunks)s, %(dimensions)s) AS s ORDER BY s.most_dimensions
"""
_FIGURES = ("table_bytes", "index_bytes", "build_bytes", "build_hours")

Row = dict[str, Any]


class _Call(NamedTuple):
    """One call for vectors: seconds, and the tokens of its chunks' own text."""

    seconds: float
    tokens: int
    refused: int


def plan_space(
    connection: Connection, model: str, storage: str, collection: str | None, sample: int
) -> Row:
    """Return what `pgblend space plan --json` prints.

    UserError where there is no such collection, no gateway or no chunk, or where the model fails.
    """
    which = {"collection_id": _collection_id(connection, collection), "sample": sample}
    with databases_with_documents(connection) as databases:
        counts = [fetch_rows(database, _CHUNKS, which)[0] for database in databases]
        counted = {name: sum(count[name] for count in counts) for name in ("chunks", "tokens")}
        if not counted["chunks"]:
            raise UserError("there is no chunk to plan for", hint="run: pgblend ingest FOLDER")
        url = get_setting(connection, "gateway_url")
        if not url:
            raise UserError(
                "no model gateway is set",
                hint="start one (`pgblend gateway`) and name it: pgblend config set gateway_url "
                "URL",
            )
        rows = [row for database in databases for row in fetch_rows(database, _SAMPLE, which)]
        rows = sorted(rows, key=lambda row: (row["hash"], row["chunk_id"]))[:sample]
        try:
            with GatewayClient(url) as client:
                dimensions, calls, seconds = measure(client, model, rows)
        except GatewayUnavailableError as error:
            raise UserError(error.reason, hint=error.hint) from None
        largest = max(range(len(counts)), key=lambda place: int(counts[place]["chunks"]))
        most = int(counts[largest]["chunks"])
        given = {"chunks": most, "dimensions": dimensions}
        figures = fetch_rows(databases[largest], _STORAGES, given)
        shards = len(databases) if databases != [connection] else None
    chosen = _chosen(figures, storage, dimensions)
    # What is put before a chunk, such as its title, is embedded and paid for as well.
    more = sum(row["characters"] for row in rows) / sum(row["own_characters"] for row in rows)
    limit = get_setting(connection, "embedding_texts_per_minute")
    plan = {
        "model": model,
        "dimensions": dimensions,
        "collection": collection,
        **counted,
        "tokens": round(counted["tokens"] * more),
        "cost_usd": embedding_cost(model, round(counted["tokens"] * more)),
        "embedding_hours": hours_for(calls, counted["tokens"]),
        "limit_hours": counted["chunks"] / limit / 60 if limit else None,
        "sample": {
            "chunks": len(rows),
            "refused": sum(call.refused for call in calls),
            "calls": len(calls),
            "seconds": seconds,
        },
        "largest_shard": {"shards": shards, "chunks": most} if shards else None,
        "maintenance_work_mem": chosen["maintenance_work_mem"],
        "storages": [
            {"storage": row["storage"], "chosen": row is chosen}
            | {name: row[name] for name in _FIGURES}
            for row in figures
            if dimensions <= row["most_dimensions"]
        ],
    }
    return plan | {"notes": _notes(plan, chosen)}


def _collection_id(connection: Connection, name: str | None) -> int | None:
    if name is None:
        return None
    found = fetch_rows(connection, _COLLECTION, {"collection": name})
    if not found:
        raise UserError(f"there is no collection {name!r}", hint="run: pgblend collection list")
    return int(found[0]["id"])


def measure(
    client: GatewayClient, model: str, rows: Sequence[Row]
) -> tuple[int, list[_Call], float]:
    """Embed the sample as `space fill` does; return dimensions, the calls, and seconds of all."""
    # The first call has the model loaded, and is not measured.
    dimensions = client.embed(model, [_uncached("Is this model there?")])[0].dimensions()
    space = SpaceCounts("plan", model, dimensions, len(rows))
    parts = [part for n in range(_CALLS) if (part := rows[n::_CALLS])]

    def ask(part: Sequence[Row]) -> _Call:
        batch = EmbeddedTexts(space)
        seconds = _seconds(
            lambda: batch.embed(client, {row["chunk_id"]: _uncached(row["input"]) for row in part})
        )
        return _Call(seconds, sum(row["tokens"] for row in part), len(batch.reasons))

    calls: list[_Call] = []
    with ThreadPoolExecutor(BATCHES_IN_FLIGHT) as threads:
        seconds = _seconds(lambda: calls.extend(threads.map(ask, parts)))
    return dimensions, calls, seconds


def _uncached(text: str) -> str:
    """Return a text that the gateway has no vector of yet."""
    return f"{text}\n{uuid4().hex[:8]}"


def _seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def hours_for(calls: Sequence[_Call], tokens: int) -> dict[str, float | None]:
    """Return the hours for so many tokens, with the 95 percent interval of the mean call."""
    at_once = min(len(calls), BATCHES_IN_FLIGHT)
    each = [call.seconds / call.tokens / at_once * tokens / 3600 for call in calls]
    middle = mean(each)
    if len(each) < _CALLS:
        return {"mean": middle, "low": None, "high": None}
    error = _STUDENT_95 * stdev(each) / sqrt(len(each))
    return {"mean": middle, "low": max(middle - error, 0.0), "high": middle + error}


def _chosen(figures: Sequence[Row], storage: str, dimensions: int) -> Row:
    """Return the storage that was asked for; `auto` takes the first that fits."""
    found = (row for row in figures if storage in (row["storage"], "auto" if row["fits"] else None))
    row = next(found, figures[-1])
    if dimensions > row["most_dimensions"]:
        raise UserError(
            f"storage {storage} has room for {row['most_dimensions']} dimensions, "
            f"and the model's vectors have {dimensions}",
            hint="halfvec has room for 4000, binary for 16000. auto takes one that has",
        )
    return row


def _notes(plan: Row, chosen: Row) -> list[str]:
    """Return what to know, and to do, before the space is made."""
    notes = []
    if largest := plan["largest_shard"]:
        notes.append(
            "bytes, memory and hours of the index are those of the largest of "
            f"{largest['shards']} shards, which has {largest['chunks']:,} of the chunks: each "
            "builds its own"
        )
    if plan["cost_usd"] is None:
        notes.append(f"the price of {plan['model']} is not known: there is none in litellm's list")
    if plan["embedding_hours"]["low"] is None:
        notes.append(f"{plan['chunks']} chunks are too few to tell how sure the hours are")
    if plan["limit_hours"] and plan["limit_hours"] > plan["embedding_hours"]["mean"]:
        notes.append("embedding_texts_per_minute makes it take longer: see limit_hours")
    if chosen["build_bytes"] > chosen["maintenance_work_mem"]:
        notes.append(
            "the index is built several times slower where it outgrows maintenance_work_mem: "
            f"set that to {-(-chosen['build_bytes'] // 2**20)}MB for the build"
        )
    return notes


# What a run will take: hours of the embedding model, and what its models cost.
#
# The embedding model is asked for vectors of a few texts, which are thrown away. So a model that
# runs here is measured as it is.

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
    """Estimate from what a dry run counted: its chunks, tokens, documents and pictures.

    A run that embeds first sums up what waits for it, also of other collections.
    """
    active = [space.model for space in read_spaces(connection) if space.active]
    model = active[0] if active else str(get_setting(connection, "embedding_model"))
    costs = {model: embedding_cost(model, report.tokens)}
    vision = get_setting(connection, "vision_model")
    summary = get_setting(connection, "summary_model")
    seen = summed = None
    if vision and report.pictures:
        asked = report.pictures * _PICTURE_TOKENS, report.pictures * _PICTURE_ANSWER
        costs[vision] = seen = chat_cost(vision, *asked)
    new = sum(report.documents[status] for status in ("added", "replaced")) if summaries else 0
    waiting = []
    if summary and embeds:
        with databases_with_documents(connection) as databases:
            waiting = [waiting_for_summaries(database) for database in databases]
    count = new + sum(documents for documents, _ in waiting)
    if summary and count:
        tokens = min(report.tokens, new * MOST_TOKENS) + sum(tokens for _, tokens in waiting)
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
