"""`pgblend space switch NAME --now`: search by a space that is still being filled.

The database fits the matrix that older vectors answer by, and refuses one that would lose too much
(bridge_embedding_space). What is embedded for it are vectors of the space: none is made twice.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pgblend.cli.base.database import Connection, fetch_rows, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.output import StartBar
from pgblend.cli.embed.embed_waiting import BATCH_SIZE, BATCHES_IN_FLIGHT
from pgblend.cli.embed.embedding_client import GatewayClient, GatewayUnavailableError
from pgblend.cli.embed.queue import EmbeddedTexts, store_vectors
from pgblend.cli.embed.spaces import SpaceCounts, get_setting, read_spaces

_SAMPLE = 20  # texts that tell how long the others take

_STATE = """
    SELECT s.active, s.bridged_from, c.waiting + c.missing AS lacking,
        a.name AS older, a.table_name AS older_table
    FROM pgblend_data.embedding_space AS s
    CROSS JOIN LATERAL blend.count_vectors(s.name) AS c
    LEFT JOIN pgblend_data.embedding_space AS a ON a.active AND a.name <> s.name
    WHERE s.name = %(name)s
"""
# In an order that has to do with nothing, as the matrix takes its pairs. Of chunks that wait.
_WITHOUT = """
    SELECT s.chunk_id FROM (
        SELECT o.chunk_id FROM pgblend_data.{older} AS o
        ORDER BY hashint8(o.chunk_id), o.chunk_id LIMIT %(most)s) AS s
    INNER JOIN pgblend_data.embedding_queue AS q ON q.chunk_id = s.chunk_id AND q.space = %(name)s
    WHERE q.dead_at IS NULL
    ORDER BY hashint8(s.chunk_id), s.chunk_id
"""
_INPUTS = "SELECT i.chunk_id, i.input FROM pgblend._embedding_inputs(%(ids)s::bigint[]) AS i"
_BRIDGE = "SELECT * FROM blend.bridge_embedding_space(%(name)s::text)"
_SWITCH = "SELECT blend.switch_embedding_space(%(name)s::text)"


def switch_now(
    connection: Connection, name: str, most: int, start_bar: StartBar, tell: Callable[[str], None]
) -> str:
    """Let searches use a space at once; return what is so from now on.

    UserError where the space is not there, its model fails, or the matrix would lose too much.
    """
    found = fetch_rows(connection, _STATE, {"name": name})
    if not found:
        raise UserError(f"there is no embedding space {name!r}", hint="run: pgblend space list")
    state = found[0]
    if state["active"]:
        return _told(name, state["bridged_from"], state["lacking"])
    if state["older"] and state["lacking"]:
        without = _WITHOUT.format(older=state["older_table"])  # a space's name needs no quotes
        rows = fetch_rows(connection, without, {"name": name, "most": most})
        ids = [row["chunk_id"] for row in rows]
        space = next((one for one in read_spaces(connection) if one.name == name), None)
        if ids and space:
            _embed(connection, space, ids, start_bar, tell)
        lacking = fetch_rows(connection, _STATE, {"name": name})[0]["lacking"]
        if lacking:
            bridge = fetch_rows(connection, _BRIDGE, {"name": name})[0]
            told = _told(name, bridge["instead_of"], lacking)
            return f"{told}; {_kept(bridge['kept'], bridge['recall'], bridge['pairs'])}"
    before = fetch_value(connection, _SWITCH, {"name": name})
    return f"searches use {name}{f' instead of {before}' if before else ''}"


def _told(name: str, older: str | None, lacking: int) -> str:
    """Say by what searches find passages."""
    if older is None:
        return f"searches use {name}"
    return (
        f"searches use {name}, and {older} for the {lacking:,} passages that have no vector in it "
        "yet (pgblend worker makes them)"
    )


def _kept(kept: float, recall: float, pairs: int) -> str:
    return (
        f"by {pairs:,} passages that have both vectors, those keep {100 * kept:.1f} % of the five "
        f"nearest and {100 * recall:.1f} % of the ten nearest"
    )


def _embed(
    connection: Connection,
    space: SpaceCounts,
    ids: Sequence[int],
    start_bar: StartBar,
    tell: Callable[[str], None],
) -> None:
    """Embed passages, some first that tell how long it takes; what was stored stays."""
    url = get_setting(connection, "gateway_url")
    if not url:
        raise UserError(
            "no model gateway is set",
            hint="start one (`pgblend gateway`) and name it: pgblend config set gateway_url URL",
        )
    try:
        with GatewayClient(url) as client:
            client.embed(space.model, ["Is this model there?"], dimensions=space.asked_dimensions)
            began = time.monotonic()
            _embed_some(connection, client, space, ids[:_SAMPLE])
            each = (time.monotonic() - began) / len(ids[:_SAMPLE])
            rest = ids[_SAMPLE:]
            if rest:
                tell(f"embedding {len(rest):,} passages takes about {_duration(each * len(rest))}")
            advance = start_bar(f"Pairs for {space.name}", len(rest), "passages")
            for start in range(0, len(rest), BATCHES_IN_FLIGHT * BATCH_SIZE):
                some = rest[start : start + BATCHES_IN_FLIGHT * BATCH_SIZE]
                _embed_some(connection, client, space, some)
                advance(len(some))
    except GatewayUnavailableError as error:
        raise UserError(error.reason, hint=error.hint) from None


def _embed_some(
    connection: Connection, client: GatewayClient, space: SpaceCounts, ids: Sequence[int]
) -> None:
    """Embed passages, as many calls at once as `space fill` has; those refused go on waiting."""
    rows = fetch_rows(connection, _INPUTS, {"ids": list(ids)})
    parts = [part for n in range(BATCHES_IN_FLIGHT) if (part := rows[n::BATCHES_IN_FLIGHT])]
    batches = [EmbeddedTexts(space) for _ in parts]

    def ask(batch: EmbeddedTexts, part: Sequence[dict[str, Any]]) -> None:
        batch.embed(client, {row["chunk_id"]: row["input"] for row in part})

    try:
        with ThreadPoolExecutor(BATCHES_IN_FLIGHT) as threads:
            list(threads.map(ask, batches, parts))
    finally:
        for batch in batches:
            if batch.vectors:
                store_vectors(connection, space.name, batch.vectors)


def _duration(seconds: float) -> str:
    """Return a time for people."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
