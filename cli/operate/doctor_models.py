"""Does the model gateway answer, and do the vectors fit?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from pgblend.cli.base.database import Connection, fetch_rows, fetch_value
from pgblend.cli.base.places import databases_with_documents
from pgblend.cli.operate.doctor_checks import Check

if TYPE_CHECKING:
    import httpx

_GATEWAY_URL = "SELECT blend.get_setting('gateway_url') #>> '{}'"
# A gateway just started loads its model first: that is slow, but no fault.
_EMBED = """
    SELECT vector_dims((blend.embed_text(ARRAY['pgblend doctor'], timeout_ms => 30000))[1])
"""
# Half an hour is long for a queue that somebody works on.
_QUEUE = """
    SELECT p.space, p.waiting, p.dead, p.oldest_at, p.workers,
        p.oldest_at < now() - interval '30 minutes' AS stuck,
        (SELECT l.reason FROM blend.embedding_dead_letters AS l
         WHERE l.space = p.space ORDER BY l.dead_at DESC LIMIT 1) AS reason
    FROM blend.embedding_progress AS p ORDER BY p.space
"""
_SPACES = """
    SELECT s.name, s.model, s.dimensions, s.active, s.brings_vectors, s.asks_model, c.vectors,
        c.waiting, c.missing, s.bridged_from
    FROM blend.embedding_spaces AS s
    CROSS JOIN LATERAL blend.count_vectors(s.name) AS c
    ORDER BY s.name
"""
_PROBE = """
    SELECT model, expected_dimensions, dimensions, likeness
    FROM blend.probe_embedding_space(%(space)s)
"""
# Another model does not come near; the same one by another runtime, or in 8 bits, has .9996.
_SAME_MODEL = 0.99
# The same one by the same runtime on another machine differs in the last digits.
_SAME_RUNTIME = 0.99999
_TIMEOUT_SECONDS = 5
# Below this share of the nearest passages, the vectors' part of a search is not what it could be.
LEAST_RECALL = 0.95
_RECALL_ROWS = 10
_RECALL = """
    SELECT a.recall FROM blend.audit_recall(
        sample_size => 10, result_limit => 10, filters => ARRAY[NULL]::jsonb[]) AS a
    WHERE a.recall IS NOT NULL
"""


def gateway(connection: Connection) -> Iterator[Check]:
    """Check that the gateway answers from here, and from inside the database."""
    url = fetch_value(connection, _GATEWAY_URL)
    if url is None:
        yield Check(
            "gateway",
            "warning",
            "gateway_url is not set: searches go without vectors",
            "run: pgblend up, or: pgblend config set gateway_url http://127.0.0.1:PORT",
        )
        return
    yield health(url)


def embedding(connection: Connection) -> Iterator[Check]:
    """Check that the database gets vectors of the size that its active space holds."""
    if fetch_value(connection, _GATEWAY_URL) is None:
        return
    if any(each["active"] and not each["asks_model"] for each in fetch_rows(connection, _SPACES)):
        return
    dimensions = fetch_value(connection, _EMBED)
    yield Check("embedding", "ok", f"the database gets vectors of {dimensions} dimensions")


def health(url: str) -> Check:
    """Ask a gateway for its health, as searches do: past any proxy of the environment."""
    import httpx

    from pgblend.cli.base.http_client import gateway_client
    from pgblend.cli.operate.account import token_for

    try:
        with gateway_client(url, token_for(url), _TIMEOUT_SECONDS) as client:
            response = client.get("/health").raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return Check(
            "gateway",
            "warning",
            f"{url} does not answer from here ({error})",
            "start it (pgblend up, or pgblend gateway), or correct it: "
            "pgblend config set gateway_url URL",
        )
    return _trouble(url, response) or Check("gateway", "ok", f"{url} answers from here")


def _trouble(url: str, response: httpx.Response) -> Check | None:
    """Read what pgblend's own gateway says of its models and its database; others say nothing."""
    from pgblend.cli.base.http_client import answer_json

    try:
        body = answer_json(response)
    except ValueError:
        return None
    if not isinstance(body, dict):
        return None
    if failing := body.get("failing"):
        message = f"{url} leaves models alone that failed: {', '.join(failing)}"
        return Check("gateway", "warning", message, "run: pgblend models test")
    if body.get("database") == "unreachable":
        message = f"{url} does not reach its database: searches and calls are not logged"
        return Check("gateway", "warning", message, "correct its --database-url, and see its log")
    return None


def embedding_spaces(connection: Connection) -> Iterator[Check]:
    """Check that there is an active space, and that every chunk has its vector in each space."""
    spaces = fetch_rows(connection, _SPACES)
    if not any(space["active"] for space in spaces):
        yield Check(
            "embedding space",
            "warning",
            "none yet",
            "run, with a gateway: pgblend worker",
        )
    for space in spaces:
        label = f"embedding space {space['name']}"
        found = f"{space['model']}, {space['dimensions']} dimensions"
        fill = f"run, with the gateway running: pgblend space fill {space['name']}"
        if space["brings_vectors"]:
            brought = f"{found}, {space['vectors']} vectors, which callers bring"
            yield Check(label, "ok", brought)
        elif space["missing"]:
            missing = f"{found}, {space['missing']} chunks have no vector and wait for none"
            yield Check(label, "problem", missing, fill)
        elif space["waiting"]:
            waiting = f"{found}, {space['waiting']} chunks wait for their vector"
            if space["bridged_from"]:
                waiting += f", and {space['bridged_from']} answers for them"
            yield Check(label, "warning", waiting, fill)
        else:
            yield Check(label, "ok", found)


def languages(connection: Connection) -> Iterator[Check]:
    """Check that the model of the vectors knows the languages of the documents."""
    from pgblend.cli.embed.spaces import HINT, told, unknown_languages

    with databases_with_documents(connection) as databases:
        unknown = {*chain.from_iterable(map(unknown_languages, databases))}
    if unknown:
        yield Check("languages", "warning", told(unknown), HINT)


def embedding_queue(connection: Connection) -> Iterator[Check]:
    """Check that the queue moves: nothing was given up, and nothing waits with nobody at work."""
    rows = fetch_rows(connection, _QUEUE)
    for row in rows:
        label = f"embedding queue {row['space']}"
        if row["dead"]:
            yield Check(
                label,
                "warning",
                f"{row['dead']} chunks were given up, the last because of: {row['reason']}",
                "see pgblend worker dead; mended, run: pgblend worker retry",
            )
        if row["stuck"]:
            yield Check(
                label,
                "warning",
                f"{row['waiting']} chunks wait, the oldest since "
                f"{row['oldest_at']:%Y-%m-%d %H:%M}, with {row['workers']} workers",
                "run: pgblend worker" if not row["workers"] else "see what pgblend worker says",
            )
    if rows and not any(row["dead"] or row["stuck"] for row in rows):
        yield Check("embedding queue", "ok", "it moves")


def summaries(connection: Connection) -> Iterator[Check]:
    """Check that summaries are of the model that makes them now."""
    from pgblend.cli.embed.summaries import count_summaries

    counts = count_summaries(connection)
    other, given_up = counts["other"], counts["given_up"]
    mend = "run: pgblend worker summaries --renew"
    if other:
        message = f"{other} of {counts['summaries']} are of another model or prompt"
        yield Check("summaries", "warning", message, mend)
    if given_up:
        yield Check("summaries", "warning", f"the model gave none for {given_up} documents", mend)
    if any(counts.values()) and not other and not given_up:
        yield Check("summaries", "ok", "made by the model that makes them now")


def embedding_models(connection: Connection) -> Iterator[Check]:
    """Check that behind each space's model is the one that the space was made with."""
    if fetch_value(connection, _GATEWAY_URL) is None:
        return
    for space in fetch_rows(connection, _SPACES):
        if not space["asks_model"]:
            continue
        label = f"model of {space['name']}"
        (probe,) = fetch_rows(connection, _PROBE, {"space": space["name"]})
        if probe["dimensions"] != probe["expected_dimensions"]:
            found = (
                f"{probe['model']} gives {probe['dimensions']} dimensions, the space holds "
                f"{probe['expected_dimensions']}"
            )
        elif probe["likeness"] is not None and probe["likeness"] < _SAME_MODEL:
            found = (
                f"{probe['model']} gives other vectors than when the space was made "
                f"(cosine {probe['likeness']:.2f})"
            )
        else:
            yield Check(label, "ok", _likeness(probe["model"], probe["likeness"]))
            continue
        yield Check(
            label,
            "problem",
            found,
            "give the gateway the model of then, or make a new space for the one of now: "
            "pgblend space create, fill, switch",
        )


def _likeness(model: str, likeness: float | None) -> str:
    """Say that a model is still the one of then, and whether its runtime or precision is."""
    if likeness is None or likeness >= _SAME_RUNTIME:
        return f"{model} gives what the space holds"
    return (
        f"{model} gives nearly what the space holds (cosine {likeness:.4f}): the same model by "
        "another runtime or in another precision, which old and new vectors can share"
    )


def index_recall(connection: Connection) -> Iterator[Check]:
    """Check on a small sample that the vector index finds what is nearest."""
    for row in fetch_rows(connection, _RECALL):
        found = f"the index finds {row['recall']:.0%} of the {_RECALL_ROWS} nearest passages"
        if row["recall"] < LEAST_RECALL:
            yield Check(
                "vector index",
                "warning",
                found,
                "let it look at more (pgblend space tune), or make the index anew (REINDEX)",
            )
        else:
            yield Check("vector index", "ok", found)


CHECKS = (
    gateway,
    embedding,
    embedding_spaces,
    embedding_models,
    languages,
    embedding_queue,
    summaries,
    index_recall,
)
