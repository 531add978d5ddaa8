"""What is done to a space: vectors adopted, its index followed, a switch while it is filled."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg

from pgblend.cli.base.database import Connection, connect, fetch_rows, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.output import StartBar
from pgblend.cli.embed.embedding_client import GatewayClient, GatewayUnavailableError
from pgblend.cli.embed.queue import BATCH_SIZE, BATCHES_IN_FLIGHT, EmbeddedTexts, store_vectors
from pgblend.cli.embed.spaces import SpaceCounts, get_setting, read_spaces

_TABLES = """
    SELECT a.relation, a.pages FROM pgblend._adoptable(
        %(space)s::text, %(table)s::text, %(key)s::text, %(vectors)s::text, %(collection)s::text
    ) AS a
"""
_REPEATED = "SELECT r.keys, r.examples FROM pgblend._repeated_keys(%(table)s, %(key)s) AS r"
_ADOPT = """
    SELECT a.* FROM pgblend._adopt_vectors(
        %(space)s::text, %(relation)s::regclass, %(key)s::text, %(vectors)s::text,
        %(collection)s::text, %(first_page)s::bigint, %(pages)s::bigint, %(replace)s::boolean
    ) AS a
"""
_BATCH_ROWS = 1000
_FIRST_PAGES = 4
_MOST_PAGES = 4096
_MOST_EXAMPLES = 5


@dataclass
class Adopted:
    """What became of the rows of the table, with the first of those that are wrong.

    Keys are `repeated` that more than one row has: their passages get the vector of one of them.
    """

    found: int = 0
    stored: int = 0
    present: int = 0
    wrong: int = 0
    examples: list[str] = field(default_factory=list)
    repeated: int = 0
    repeated_keys: list[str] = field(default_factory=list)

    def add(self, batch: Mapping[str, Any]) -> None:
        """Count a batch."""
        self.found += batch["looked_at"]
        self.stored += batch["stored"]
        self.present += batch["present"]
        self.wrong += batch["wrong"]
        self.examples = [*self.examples, *(batch["examples"] or ())][:_MOST_EXAMPLES]


def adopt_vectors(
    connection: Connection, given: Mapping[str, Any], start_bar: StartBar, adopted: Adopted
) -> None:
    """Take over all vectors, some pages in a transaction of their own, and count them.

    The server moves them: none comes here. Pages are read by their numbers, which needs no index.
    """
    tables = fetch_rows(connection, _TABLES, dict(given))
    (repeated,) = fetch_rows(connection, _REPEATED, dict(given))
    adopted.repeated, adopted.repeated_keys = repeated["keys"], repeated["examples"] or []
    move_bar = start_bar(
        f"Vectors of {given['table']}", sum(row["pages"] for row in tables), "pages"
    )
    for row in tables:
        page, pages = 0, _FIRST_PAGES
        while page < row["pages"]:
            place = {"relation": row["relation"], "first_page": page, "pages": pages}
            (batch,) = fetch_rows(connection, _ADOPT, {**given, **place})
            adopted.add(batch)
            move_bar(min(pages, row["pages"] - page))
            page += pages
            wanted = pages * _BATCH_ROWS // max(batch["looked_at"], 1)
            pages = max(1, min(wanted, 4 * pages, _MOST_PAGES))


_LOOK_SECONDS = 0.1
_PROGRESS = """
    SELECT p.tuples_done AS done
    FROM pg_catalog.pg_stat_progress_create_index AS p WHERE p.pid = %(pid)s
"""


@contextmanager
def following_build(
    url: str, builder: Connection, advance: Callable[[int], None]
) -> Iterator[None]:
    """Tell the rows that `builder` puts into an index meanwhile, as they come to be there.

    The figures are PostgreSQL's own. Where it gives none, the build goes on without them.
    """
    ended = threading.Event()
    pid = builder.info.backend_pid

    def look() -> None:
        told = 0
        try:
            with connect(url, application_name="pgblend progress", check=False) as watcher:
                while not ended.wait(_LOOK_SECONDS):
                    for row in fetch_rows(watcher, _PROGRESS, {"pid": pid}):
                        done = row["done"] or 0
                        advance(max(done - told, 0))
                        told = max(done, told)
        except (psycopg.Error, UserError):
            return

    watching = threading.Thread(target=look, daemon=True)
    watching.start()
    try:
        yield
    finally:
        ended.set()
        watching.join()


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
