"""Vectors for the chunks that wait: after an ingest, and for a whole space."""

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from pgblend.cli.base.database import Connection, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.output import StartBar
from pgblend.cli.documents.ingest_report import Report, named
from pgblend.cli.embed.embedding_client import GatewayClient, GatewayUnavailableError
from pgblend.cli.embed.queue import Queue, QueueCounts, embed_waiting, ensure_first_space
from pgblend.cli.embed.spaces import SpaceCounts, get_setting, read_spaces
from pgblend.cli.embed.summaries import count_summaries, sum_up_waiting

# Vectors for all chunks that have none in one embedding space.

_QUEUE = "SELECT blend.queue_missing_vectors(%(space)s::text)"


@dataclass
class Filled:
    """How many chunks got a vector, how many the model refused, and why the last of these."""

    embedded: int = 0
    refused: int = 0
    reason: str = ""


def fill_space(
    sessions: Callable[[int], list[Connection]], name: str, start_bar: StartBar, filled: Filled
) -> None:
    """Embed what has no vector in the space, also what went past the queue, and count it.

    UserError where there is no such space, no gateway, or a model that fails; what was stored
    stays.
    """
    (connection,) = sessions(1)
    fetch_value(connection, _QUEUE, {"space": name})
    space = next(each for each in read_spaces(connection) if each.name == name)
    url = get_setting(connection, "gateway_url")
    if not url:
        raise UserError(
            "no model gateway is set",
            hint="start one (`pgblend gateway`) and name it: pgblend config set gateway_url URL",
        )
    move_bar = start_bar(f"Embedding {name}", space.waiting, "chunks")

    def advance(outcome: QueueCounts) -> None:
        filled.embedded += outcome.stored
        filled.refused += outcome.failed
        filled.reason = outcome.reason or filled.reason
        move_bar(outcome.claimed)

    try:
        with GatewayClient(url) as client:
            embed_waiting(space, client, sessions, advance)
    except GatewayUnavailableError as error:
        raise UserError(error.reason, hint=error.hint) from None


# Of the chunks that a run wrote: those that wait for a vector in the space that searches use.
_OWN_WAITING = """
    SELECT count(*)
    FROM pgblend_data.embedding_queue AS q
    INNER JOIN pgblend_data.embedding_space AS s ON s.name = q.space
    WHERE s.active AND q.collection_id = %(collection_id)s::bigint
        AND q.chunk_id > %(after)s::bigint
"""
# What may be taken now: neither given up nor to be tried later.
_WAITING = """
    SELECT count(*) FROM pgblend_data.embedding_queue AS q
    WHERE q.space = %(space)s AND q.dead_at IS NULL
        AND (q.not_before IS NULL OR q.not_before <= clock_timestamp())
        AND (%(collection_id)s::bigint IS NULL OR q.collection_id = %(collection_id)s::bigint)
"""
# Another process that embeds, or does so as soon as no ingest runs.
_OTHERS_EMBED = """
    SELECT EXISTS (
        SELECT FROM pgblend_data.embedding_worker AS w
        WHERE w.id = ANY(pgblend._live_workers())
            AND (w.host, w.process) <> (%(host)s::text, %(process)s::integer))
"""
_KEY_OF_CHUNK = """
    SELECT d.source_key FROM pgblend_data.chunk AS c
    INNER JOIN pgblend_data.document AS d ON d.id = c.document_id
    WHERE c.id = %(chunk)s
"""
_FAILED_SUMMARIES = """
    SELECT d.source_key, coalesce(d.collection_id = %(collection_id)s::bigint, false)
    FROM pgblend_data.document AS d WHERE d.id = ANY(%(ids)s::bigint[]) ORDER BY d.id
"""
_EMBEDDINGS = "embeddings"
_SUMMARIES = "summaries"


class ChunksOfRun(NamedTuple):
    """The chunks that a run of ingest made: those of its collection after the last one before."""

    collection_id: int | None
    after: int


class EmbedStep:
    """Asks the gateway that the settings name; without one it says so in the report.

    Spaces are made at `front_url`. Threads work in `sessions` of their own, as many as are asked
    for.
    """

    def __init__(
        self,
        connection: Connection,
        sessions: Callable[[int], list[Connection]],
        front_url: str,
        own: ChunksOfRun,
        report: Report,
        start_bar: StartBar,
    ) -> None:
        self._own = own
        self._stored = 0
        self._connection = connection
        self._sessions = sessions
        self._front_url = front_url
        self._report = report
        self._start_bar = start_bar

    def run(self) -> None:
        """Give vectors to all chunks that wait; without a gateway the text stays findable."""
        url = get_setting(self._connection, "gateway_url")
        if not url:
            self._report.degrade(
                _EMBEDDINGS,
                "no model gateway is set",
                "start one (`pgblend gateway`), name it (`pgblend config set gateway_url "
                "http://host:port`), then run this again",
            )
            return
        try:
            with GatewayClient(url) as client:
                self._sum_up(self._connection, client)
                spaces = self._spaces(self._connection, client)
                self._embed_all(spaces, client)
        except GatewayUnavailableError as error:
            self._report.degrade(_EMBEDDINGS, error.reason, error.hint)

    def _sum_up(self, connection: Connection, client: GatewayClient) -> None:
        """Have documents summed up first: their summaries are part of what is embedded."""
        waiting = count_summaries(connection)["waiting"]
        model = get_setting(connection, "summary_model")
        if not waiting:
            return
        if not model:
            self._report.degrade(
                _SUMMARIES,
                f"{waiting:,} documents wait for one, and no model makes them",
                "name one (`pgblend config set summary_model NAME`), then run this again",
            )
            return
        advance = self._start_bar("Summaries", waiting, "documents")
        with Queue(connection) as queue:
            summed = sum_up_waiting(queue, client, model, advance)
        if summed.failed:
            given = {"ids": summed.failed, "collection_id": self._own.collection_id}
            failed = connection.execute(_FAILED_SUMMARIES, given).fetchall()
            self._report.refused += sum(is_own for _, is_own in failed)
            documents = f"{len(failed):,} document{' was' if len(failed) == 1 else 's were'}"
            self._report.degrade(
                _SUMMARIES,
                f"{documents} not summed up ({named(key for key, _ in failed)}): {summed.reason}",
                "pgblend worker, or the next run, tries them again",
            )

    def _spaces(self, connection: Connection, client: GatewayClient) -> list[SpaceCounts]:
        """Return the embedding spaces; the first one is made for the model of the settings."""
        if not ensure_first_space(connection, client, self._front_url):
            self._report.degrade(
                _EMBEDDINGS,
                "there is no embedding space yet, and only an admin can make one",
                "have a member of pgblend_admin run this command once",
            )
        return [space for space in read_spaces(connection) if space.waiting]

    def _embed_all(self, spaces: list[SpaceCounts], client: GatewayClient) -> None:
        """Embed what waits, the collection first, and count what of it is this run's, always.

        Other collections are left to another process that embeds, where there is one. A space
        whose model fails stops no other; what only a person can mend is raised at the end.
        """
        errors: list[UserError] = []
        # The own passages in the space that searches use, then what else waits.
        turns = [(space, self._own.collection_id) for space in spaces if space.active]
        own = {"host": socket.gethostname(), "process": os.getpid()}
        others_embed = fetch_value(self._connection, _OTHERS_EMBED, own)
        rest = self._own.collection_id if others_embed else None
        turns += [(space, rest) for space in spaces if not (space.active and others_embed)]
        waiting = fetch_value(self._connection, _OWN_WAITING, self._own._asdict())
        try:
            for space, collection_id in turns:
                try:
                    self._embed_space(space, client, collection_id)
                except GatewayUnavailableError as error:
                    self._report.degrade(_EMBEDDINGS, error.reason, error.hint)
                except UserError as error:
                    errors.append(error)
        finally:
            embedded = waiting - fetch_value(self._connection, _OWN_WAITING, self._own._asdict())
            self._report.embedded += embedded
            self._report.embedded_others += max(self._stored - embedded, 0)
        if errors:
            raise errors[0]

    def _embed_space(
        self, space: SpaceCounts, client: GatewayClient, collection_id: int | None
    ) -> None:
        given = {"space": space.name, "collection_id": collection_id}
        waiting = fetch_value(self._connection, _WAITING, given)
        if not waiting:
            return
        title = "Embedding" if collection_id is not None else "Embedding what waited before"
        move_bar = self._start_bar(title, waiting, "chunks")
        refused: list[QueueCounts] = []

        def advance(outcome: QueueCounts) -> None:
            self._stored += outcome.stored
            if outcome.failed:
                refused.append(outcome)
            move_bar(outcome.claimed)

        some = replace(space, waiting=waiting)
        embed_waiting(some, client, self._sessions, advance, collection_id)
        if refused:
            count = sum(outcome.failed for outcome in refused)
            self._report.refused += count if collection_id is not None else 0
            chunk = {"chunk": refused[0].refused}
            key = fetch_value(self._connection, _KEY_OF_CHUNK, chunk)
            self._report.degrade(
                _EMBEDDINGS,
                f"the model refused {count:,} of the chunks, one of {key!r}: {refused[0].reason}",
                "pgblend worker tries them again. See blend.embedding_progress and "
                "blend.embedding_dead_letters",
            )
