"""The worker: sessions that embed what waits, sleep until there is more, and end when asked to."""

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum

import psycopg

from pgblend.cli.base.database import (
    Connection,
    connect,
    ended_after,
    fetch_rows,
    fetch_value,
    same_url,
    translate,
)
from pgblend.cli.base.errors import ExitCode, UserError
from pgblend.cli.base.extras import missing, require
from pgblend.cli.base.places import StorePlace, find_places, push_changes
from pgblend.cli.embed.embedding_client import GatewayClient, GatewayUnavailableError
from pgblend.cli.embed.queue import Queue, QueueCounts, embed_batch, ensure_first_space
from pgblend.cli.embed.spaces import SpaceCounts, get_setting
from pgblend.cli.embed.summaries import sum_up_batch
from pgblend.cli.shards.outbox import deliver_batch, settle_graph, settle_some

# Attached tables that no trigger could follow: partitions that came with rows, or went.

# Whose role may not fill tables has others do it: doctor names what waits.
_MAY_FILL = "SELECT has_function_privilege('pgblend._stale_tables()', 'EXECUTE')"
_STALE = "SELECT t.table_name, t.anew FROM pgblend._stale_tables() AS t"
_FILL = "SELECT blend.fill_table(%(table)s::text, 500, %(anew)s::boolean)"


# For a batch: reading rows runs code of their table's owner.
_FILL_SECONDS = 120.0


def stale_tables(connection: Connection) -> list[tuple[str, bool]]:
    """Name the tables that are to be filled, and whether with all rows anew."""
    if not fetch_value(connection, _MAY_FILL):
        return []
    return [(row["table_name"], row["anew"]) for row in fetch_rows(connection, _STALE)]


def fill_table(url: str, table: str, stopping: threading.Event, *, anew: bool) -> int:
    """Fill a table batch by batch, in a session of its own; return how many rows it looked at.

    Where a writer stands in the way the rest is left for the next time.
    """
    total = 0
    with (
        connect(url, application_name="pgblend worker") as connection,
        suppress(psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected),
    ):
        while not stopping.is_set():
            with ended_after(connection, _FILL_SECONDS):
                count = fetch_value(connection, _FILL, {"table": table, "anew": anew})
            if not count:
                break
            total, anew = total + count, False
    return total


# How long to leave a model alone that does not answer.

FIRST_SECONDS = 1.0
LONGEST_SECONDS = 300.0


class Backoff:
    """Waits grow twofold, each by up to half at random, so that workers do not come all at once."""

    def __init__(self) -> None:
        self._failures = 0
        self._until = 0.0

    def is_over(self) -> bool:
        """Whether the model may be asked (again)."""
        return time.monotonic() >= self._until

    def fail(self, retry_after: float | None = None) -> float:
        """Note a failure; return the seconds to wait: what the gateway asked for, or more."""
        seconds: float = min(FIRST_SECONDS * 2**self._failures, LONGEST_SECONDS)
        seconds = max(seconds, retry_after or 0.0) * random.uniform(1.0, 1.5)
        self._failures = min(self._failures + 1, 30)
        self._until = time.monotonic() + seconds
        return seconds

    def succeed(self) -> None:
        """Forget the failures."""
        self._failures = 0


# The active space first: searches wait for it.
_MAY_SETTLE = """
    SELECT pg_catalog.has_function_privilege(
        pg_catalog.to_regprocedure('pgblend._settle_waiting(integer)'), 'EXECUTE')
"""
_SETTLE = "SELECT s.* FROM pgblend._settle_waiting(100) AS s"
# What gives way takes nothing while an ingest runs, and nothing of what came within two seconds.
# Nor does it before there is a passage. So the first space is made for the model that is named
# until then. An ingest that was silent for a minute, such as `pgblend sync` between two changes, is
# none.
_WAITS = """
    SELECT NOT EXISTS (SELECT FROM pgblend_data.chunk)
        OR EXISTS (
            SELECT FROM pg_catalog.pg_stat_activity AS a
            WHERE a.application_name = 'pgblend ingest' AND a.datname = current_database()
                AND (a.state <> 'idle' OR a.state_change > clock_timestamp() - interval '1 minute'))
        OR EXISTS (SELECT FROM pgblend_data.embedding_queue)
        AND NOT EXISTS (
            SELECT FROM pgblend_data.embedding_queue AS q
            WHERE q.queued_at < clock_timestamp() - interval '2 seconds')
"""
_SPACES = """
    SELECT s.name, s.model, s.dimensions, 0, s.active, s.asked_dimensions
    FROM pgblend_data.embedding_space AS s
    WHERE s.asks_model
    ORDER BY s.active DESC, s.name
"""
_SEAL_AT_LEAST = 1000
# No name of a space.
_SUMMARIES = "the model of summaries"
_CALIBRATE_SECONDS = 600.0
_TABLES_SECONDS = 20.0
_SLICE_SECONDS = 0.5
_FRONT_SECONDS = 1.0
# A notification may be missed, and what failed comes due without one: look by itself.
_LONGEST_REST_SECONDS = 30.0


class Until(Enum):
    """When a worker ends by itself: never, with nothing to take now, or with nothing waiting."""

    STOPPED = "stopped"
    ONCE = "once"
    DRAINED = "drained"


@dataclass
class Totals:
    """What a worker did."""

    stored: int = 0
    failed: int = 0
    dead: int = 0
    sealed: int = 0
    started: float = field(default_factory=time.monotonic)


class Worker:
    """`concurrency` sessions, each with one batch at a time; `say` tells people what goes wrong.

    On a coordinator it has as many for each of its shards, and gives these what changes. One that
    `gives_way` embeds nothing while an ingest does so itself.
    """

    def __init__(
        self,
        url: str,
        until: Until,
        concurrency: int,
        batch_size: int,
        say: Callable[[str], None],
        *,
        gives_way: bool = False,
    ) -> None:
        self.front_url = url
        self.gives_way = gives_way
        self._until = until
        self._concurrency = concurrency
        self._batch_size = batch_size
        self._say = say
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._backoffs: dict[str, Backoff] = {}
        self._errors: list[BaseException] = []
        self._calibrates_at = 0.0
        self._fills_at = 0.0
        self._ended = self._moved = False
        self._places: list[StorePlace] = []
        self.totals = Totals()

    def stop(self) -> None:
        """Take nothing more; what is at the model is still stored."""
        self._ended = True
        self._stopping.set()

    def run(self) -> None:
        """Work until the end; the first error that no waiting mends is raised."""
        while not self._ended:
            self._moved = False
            self._stopping.clear()
            self._served(self._read_places)
            if not self._ended:
                self._serve(self._places)
            if not self._moved:
                break
        if self._errors:
            raise self._errors[0]

    def _serve(self, places: list[StorePlace]) -> None:
        """Have sessions work, until all have ended."""
        urls = [place.url for place in places] or [self.front_url]
        threads = [
            threading.Thread(target=self._session, args=[url, number == 0], daemon=True)
            for url in urls
            for number in range(self._concurrency)
        ]
        threads += [
            threading.Thread(target=self._follow_tables, args=[place], daemon=True)
            for place in places
        ]
        if places and self._until is Until.STOPPED:
            threads.append(threading.Thread(target=self._follow_graph, daemon=True))
        keeper = threading.Thread(target=self._keep_front, daemon=True)
        if places:
            keeper.start()
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():  # a signal is seen between two joins
                thread.join(_SLICE_SECONDS)
        self._stopping.set()
        if places:
            keeper.join()

    def _session(self, url: str, seals: bool) -> None:
        """Serve a database."""

        def serve(connection: Connection) -> None:
            with Queue(connection) as queue:
                _Session(self, queue, seals).serve()

        self._served(serve, url)

    def _read_places(self, front: Connection) -> None:
        self._places = find_places(front)

    def _keep_front(self) -> None:
        """Give shards what changes; have all begin anew where there are other shards."""

        def keep(front: Connection) -> None:
            while not self._stopping.is_set():
                if push_changes(front):
                    self._say("gave shards what has changed")
                if find_places(front) != self._places:
                    self._moved = True
                    self._stopping.set()
                elif self._until is Until.STOPPED:
                    self.calibrate(front)
                self._stopping.wait(_FRONT_SECONDS)
            if self._until is not Until.STOPPED and not self._moved:
                settle_graph(front)
                self.calibrate(front)

        self._served(keep)

    def _follow_tables(self, place: StorePlace) -> None:
        """Bring a shard what changes in attached tables."""

        def follow(front: Connection) -> None:
            if self._until is not Until.STOPPED:
                push_changes(front)  # which the shard must have before rows
            with connect(place.url, application_name="pgblend worker") as shard:
                while not self._stopping.is_set():
                    if deliver_batch(front, shard, place):
                        continue
                    if self._until is not Until.STOPPED:
                        return
                    self._stopping.wait(_FRONT_SECONDS)

        self._served(follow)

    def _follow_graph(self) -> None:
        """Bring edges from one shard to another up to date with what changes."""

        def follow(front: Connection) -> None:
            while not self._stopping.is_set():
                if not settle_some(front):
                    self._stopping.wait(_FRONT_SECONDS)

        self._served(follow)

    def _served(self, serve: Callable[[Connection], None], url: str = "") -> None:
        """Serve on a connection, and on a new one where the server was away."""
        backoff = Backoff()
        while not self._stopping.is_set():
            try:
                name = "pgblend worker"
                with connect(url or self.front_url, application_name=name) as connection:
                    backoff.succeed()
                    serve(connection)
                return
            except BaseException as error:
                advice = error if isinstance(error, UserError) else translate(error)
                if advice is None or self._until is not Until.STOPPED:
                    self._errors.append(error)
                    self.stop()
                    return
                self._wait(advice.message, backoff)

    def _wait(self, problem: str, backoff: Backoff, retry_after: float | None = None) -> None:
        seconds = backoff.fail(retry_after)
        self._say(f"{problem}, trying again in {seconds:.0f} s")
        self._stopping.wait(seconds)

    def backoff(self, name: str) -> Backoff:
        """Return what all sessions know of how a space's model fares."""
        with self._lock:
            return self._backoffs.setdefault(name, Backoff())

    def count(self, outcome: QueueCounts, space: SpaceCounts) -> None:
        """Add what became of a batch, and tell of texts that were given up."""
        with self._lock:
            self.totals.stored += outcome.stored
            self.totals.failed += outcome.failed
            self.totals.dead += outcome.dead
        if outcome.dead:
            self._say(f"gave up {outcome.dead:,} chunks of {space.name}: {outcome.reason}")

    def count_sealed(self, chunks: int) -> None:
        """Add chunks that were sealed."""
        with self._lock:
            self.totals.sealed += chunks

    def fill_tables(self, connection: Connection) -> None:
        """Fill attached tables that lack rows, now and then, as when partitions came or went."""
        now = time.monotonic()
        if now < self._fills_at:
            return
        self._fills_at = now + _TABLES_SECONDS
        for table, anew in stale_tables(connection):
            backoff = self.backoff(f"table {table}")
            if not backoff.is_over():
                continue
            try:
                rows = fill_table(same_url(connection), table, self._stopping, anew=anew)
            except (UserError, psycopg.Error) as error:  # other tables, and vectors, go on
                problem = translate(error) or error
                self._say(f"the attached table {table} cannot be filled: {problem}")
                backoff.fail()
                continue
            backoff.succeed()
            if rows:
                self._say(f"filled the attached table {table}: looked at {rows:,} rows")

    def calibrate(self, connection: Connection) -> None:
        """Fit relevance anew where judgements or passages have changed by enough, now and then."""
        now = time.monotonic()
        if now < self._calibrates_at or missing("eval"):
            return
        self._calibrates_at = now + _CALIBRATE_SECONDS
        require("eval")
        from pgblend.cli.measure.calibration import refresh, told_fit

        try:
            for one in refresh(connection):
                self._say(told_fit(one))
        except (UserError, psycopg.Error) as error:  # vectors wait for nothing of this
            self._say(f"relevance could not be fitted anew: {translate(error) or error}")

    @property
    def has_shards(self) -> bool:
        """Whether it serves a coordinator."""
        return bool(self._places)

    @property
    def ends_by_itself(self) -> bool:
        """Whether it ends when there is nothing left."""
        return self._until is not Until.STOPPED

    @property
    def until(self) -> Until:
        """When to end."""
        return self._until

    @property
    def batch_size(self) -> int:
        """Most texts of a call."""
        return self._batch_size

    @property
    def stopping(self) -> threading.Event:
        """Set when no more is to be taken."""
        return self._stopping

    def say(self, text: str) -> None:
        """Tell people."""
        self._say(text)


class _Session:
    """One session of a worker."""

    def __init__(self, worker: Worker, queue: Queue, seals: bool) -> None:
        self._worker = worker
        self._queue = queue
        self._connection: Connection = queue.connection
        self._seals = seals
        self._settles = seals and fetch_value(queue.connection, _MAY_SETTLE)
        self._listens = False

    def serve(self) -> None:
        """Embed batch after batch; rest where there is none."""
        self._connection.execute("LISTEN pgblend_embedding")
        rests = 0
        while not self._worker.stopping.is_set():
            if (self._settles and self._settle()) or self._embed_one():
                rests = 0
                self._listen(False)
            elif self._is_done():
                return
            elif not self._listens:
                self._listen(True)  # and look once more: what came before sent no notification
            else:
                notified = self._rest(min(2.0**rests, _LONGEST_REST_SECONDS))
                rests = 0 if notified else rests + 1

    def _settle(self) -> bool:
        """Do what plain SQL left to the program (sql/60_tables/settle.sql); tell whether any."""
        with self._connection.transaction():
            settled = self._connection.execute(_SETTLE).fetchall()
            for collection_id, _ in settled:
                self._connection.execute("SELECT pgblend._resolve_links(%s, NULL)", [collection_id])
        return bool(settled)

    def _embed_one(self) -> bool:
        """Embed a batch of the first space that has one; tell whether there was one."""
        if self._worker.gives_way and fetch_value(self._connection, _WAITS):
            return False
        url = get_setting(self._connection, "gateway_url")
        if not url:
            problem = UserError(
                "no model gateway is set",
                hint="start one (pgblend gateway), and name it: pgblend config set gateway_url URL",
                exit_code=ExitCode.VECTORS_UNAVAILABLE,
            )
            self._give_way("", problem)
            return False
        with GatewayClient(url, attempts=1) as client:
            try:
                ensure_first_space(self._connection, client, self._worker.front_url)
            except GatewayUnavailableError as error:
                self._unavailable("", error)
                return False
            rows = self._connection.execute(_SPACES).fetchall()
            if self._sum_up(client):
                return True
            return any(self._embed_batch(SpaceCounts(*row), client) for row in rows)

    def _sum_up(self, client: GatewayClient) -> bool:
        """Have some documents summed up; tell whether any was."""
        model = get_setting(self._connection, "summary_model")
        backoff = self._worker.backoff(_SUMMARIES)
        if not model or not backoff.is_over():
            return False
        summed = sum_up_batch(self._queue, client, model)
        if summed.failed:
            seconds = backoff.fail(None)
            self._worker.say(f"no summary: {summed.reason}, trying again in {seconds:.0f} s")
        elif summed.claimed:
            backoff.succeed()
        return summed.made + summed.known > 0

    def _embed_batch(self, space: SpaceCounts, client: GatewayClient) -> bool:
        backoff = self._worker.backoff(space.name)
        if not backoff.is_over():
            return False
        try:
            outcome = embed_batch(self._queue, client, space, self._worker.batch_size)
        except GatewayUnavailableError as error:
            self._unavailable(space.name, error)
            return False
        except UserError as error:  # vectors that the space does not hold
            self._give_way(space.name, error)
            return False
        if outcome.claimed:
            backoff.succeed()
            self._worker.count(outcome, space)
        return outcome.claimed > 0

    def _unavailable(self, name: str, error: GatewayUnavailableError) -> None:
        problem = UserError(error.reason, error.hint, ExitCode.VECTORS_UNAVAILABLE)
        self._give_way(name, problem, error.retry_after)

    def _give_way(self, name: str, problem: UserError, retry_after: float | None = None) -> None:
        """Leave a model alone for a while; a run that is to end by itself ends here."""
        backoff = self._worker.backoff(name)
        if self._worker.until is Until.ONCE:
            raise problem
        if backoff.is_over():  # sessions fail together: one of them says so
            seconds = backoff.fail(retry_after)
            self._worker.say(f"{problem.message}, trying again in {seconds:.0f} s")

    def _is_done(self) -> bool:
        if self._seals:
            sealed = self._connection.execute(
                "SELECT pgblend._seal_waiting(%s)", [_SEAL_AT_LEAST]
            ).fetchone()
            self._worker.count_sealed(sealed[0] if sealed else 0)
            self._worker.fill_tables(self._connection)
            if not self._worker.has_shards:  # whose relevance is the coordinator's
                self._worker.calibrate(self._connection)
        if self._worker.until is Until.STOPPED:
            return False
        spaces = [SpaceCounts(*row) for row in self._connection.execute(_SPACES).fetchall()]
        if self._worker.until is Until.ONCE:
            return not any(self._queue.is_limited(space) for space in spaces)
        return self._queue.remaining(spaces) == 0

    def _listen(self, listens: bool) -> None:
        """Let writers know that this session waits for a notification, or does not."""
        if listens != self._listens:
            self._queue.wait(listens)
            self._listens = listens

    def _rest(self, seconds: float) -> bool:
        """Wait for a notification; tell whether one came."""
        end = time.monotonic() + seconds
        while not self._worker.stopping.is_set() and time.monotonic() < end:
            for _ in self._connection.notifies(timeout=_SLICE_SECONDS, stop_after=1):
                return True
        return False
