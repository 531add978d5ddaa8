"""The gateway's own connection: rows go to the database in batches, and answers are looked up.

One thread does it all. Calls never wait for the database. Rows queue up to a limit, and a lookup
has half a second (a model takes longer). While the database cannot be reached, it is tried only
once in a while.
"""

import asyncio
import json
import logging
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any, LiteralString

from pgblend.cli.base.database import Connection, connect, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.cli.models.metrics import CallRecord, Metrics

_MOST_WAITING = 10_000  # rows
_BATCH = 500
_FLUSH_SECONDS = 1.0
_LOOKUP_SECONDS = 0.5
_CONNECT_AGAIN_SECONDS = 5.0
_CLEAN_SECONDS = 3600.0
_BAD_VALUE = ("22", "23")  # classes of SQLSTATEs
# Whoever it connects as, it does no more than the gateway's role may.
_SETTINGS = (
    "SET statement_timeout = '5s'; SET lock_timeout = '2s'; SET synchronous_commit = off;"
    " SET ROLE pgblend_gateway"
)
_FIND: LiteralString = """
    SELECT answer::text FROM pgblend_data.model_answer WHERE key = decode(%(key)s, 'hex')
"""
_INSERT: dict[str, LiteralString] = {
    "search_log": """
        INSERT INTO pgblend_data.search_log (
            search_id, searched_at, role_name, query, collections, profile, mode, result_count,
            milliseconds, stages, degraded, top_score, results, trace, purpose)
        SELECT search_id, searched_at, role_name, query, collections, profile, mode, result_count,
            milliseconds, stages, degraded, top_score, results, trace, purpose
        FROM jsonb_populate_recordset(NULL::pgblend_data.search_log, %(rows)s)
        ON CONFLICT DO NOTHING
    """,
    "model_call": """
        INSERT INTO pgblend_data.model_call (
            called_at, task, model, provider, outcome, attempts, input_tokens, output_tokens,
            cost_usd, milliseconds)
        SELECT called_at, task, model, provider, outcome, attempts, input_tokens, output_tokens,
            cost_usd, milliseconds
        FROM jsonb_populate_recordset(NULL::pgblend_data.model_call, %(rows)s)
    """,
    "model_answer": """
        INSERT INTO pgblend_data.model_answer (key, answer)
        SELECT decode(a.key, 'hex'), a.answer
        FROM jsonb_to_recordset(%(rows)s) AS a (key text, answer jsonb)
        ON CONFLICT DO NOTHING
    """,
}
_CLEAN: tuple[LiteralString, ...] = (
    "DELETE FROM pgblend_data.search_log"
    " WHERE searched_at < now() - make_interval(days => %(days)s)",
    "DELETE FROM pgblend_data.click WHERE clicked_at < now() - make_interval(days => %(days)s)",
    "DELETE FROM pgblend_data.model_call WHERE called_at < now() - make_interval(days => %(days)s)",
    "DELETE FROM pgblend_data.model_answer"
    " WHERE created_at < now() - make_interval(days => %(days)s)",
)
_log = logging.getLogger(__name__)


class DatabaseWriter:
    """Writes the ledger, the search log and kept answers; finds kept answers."""

    def __init__(self, url: str, keep_days: int, metrics: Metrics) -> None:
        self._url = url
        self._keep_days = keep_days
        self._metrics = metrics
        self._waiting: deque[tuple[str, dict[str, Any]]] = deque()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="database")
        self._connection: Connection | None = None
        self._connect_after = 0.0
        self._clean_after = 0.0
        self._flushing: asyncio.Task[None] | None = None

    @property
    def state(self) -> str:
        """One of connected, unreachable (or not asked yet)."""
        return "connected" if self._connection is not None else "unreachable"

    def start(self) -> None:
        """Begin to write what waits, every second."""
        self._flushing = asyncio.create_task(self._flush_for_ever())

    async def close(self) -> None:
        """Write what still waits, once, and close the connection."""
        if self._flushing:
            self._flushing.cancel()
        await self._in_thread(self._flush)
        await self._in_thread(self._disconnect)
        self._thread.shutdown()

    def add_call(self, record: CallRecord) -> None:
        """Take a call for the ledger."""
        self._add("model_call", {"called_at": record.called_at, **record.fields()})

    def add_search(self, row: dict[str, Any]) -> None:
        """Take a row for the search log."""
        self._add("search_log", row)

    def keep(self, key: bytes, answer: bytes) -> None:
        """Take the JSON of an answer."""
        self._add("model_answer", {"key": key.hex(), "answer": json.loads(answer)})

    async def find(self, key: bytes) -> bytes | None:
        """Return the JSON of a kept answer, None where there is none or no time to look."""
        try:
            async with asyncio.timeout(_LOOKUP_SECONDS):
                answer: bytes | None = await self._in_thread(self._find, key)
                return answer
        except TimeoutError:
            return None

    async def _in_thread(self, function: Any, *arguments: object) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    def _add(self, table: str, row: dict[str, Any]) -> None:
        if len(self._waiting) >= _MOST_WAITING:
            self._metrics.count_rows(table, "dropped", 1)
        else:
            self._waiting.append((table, row))

    async def _flush_for_ever(self) -> None:
        while True:
            if self._waiting or time.monotonic() >= self._clean_after:
                await self._in_thread(self._flush)
            await asyncio.sleep(_FLUSH_SECONDS)

    def _flush(self) -> None:
        """Write what waits; while the database cannot be reached it goes on waiting."""
        while self._waiting and self._connected():
            first = self._waiting[0][0]
            batch: list[dict[str, Any]] = []
            while self._waiting and len(batch) < _BATCH and self._waiting[0][0] == first:
                batch.append(self._waiting.popleft()[1])
            self._write(first, batch)
        if time.monotonic() >= self._clean_after and self._connected():
            self._clean_after = time.monotonic() + _CLEAN_SECONDS
            for statement in _CLEAN:
                self._run(statement, {"days": self._keep_days})

    def _write(self, table: str, rows: list[dict[str, Any]]) -> None:
        """Write a batch; where a value is refused, row by row, so that one spoils no other."""
        refused = self._run(_INSERT[table], {"rows": json.dumps(rows)})
        if refused is None:
            self._metrics.count_rows(table, "written", len(rows))
        elif self._connection is None:
            self._waiting.extendleft((table, row) for row in reversed(rows))
        elif len(rows) > 1 and refused.startswith(_BAD_VALUE):
            for row in rows:
                self._write(table, [row])
        else:
            self._metrics.count_rows(table, "dropped", len(rows))

    def _find(self, key: bytes) -> bytes | None:
        if not self._connected():
            return None
        assert self._connection
        try:
            answer = fetch_value(self._connection, _FIND, {"key": key.hex()})
        except Exception as error:
            self._failed(error)
            return None
        return None if answer is None else str(answer).encode()

    def _run(self, statement: LiteralString, parameters: dict[str, Any]) -> str | None:
        """Run a statement; return None, or the SQLSTATE of what went wrong."""
        assert self._connection
        try:
            self._connection.execute(statement, parameters)
        except Exception as error:
            return self._failed(error)
        return None

    def _connected(self) -> bool:
        if self._connection is not None:
            return True
        if time.monotonic() < self._connect_after:
            return False
        try:
            self._connection = connect(self._url, application_name="pgblend gateway", check=False)
            self._connection.execute(_SETTINGS)
        except Exception as error:
            self._failed(error)
            return False
        return True

    def _failed(self, error: Exception) -> str:
        """Log what is wrong, but no message, which may quote a value; connect anew if need be."""
        state = str(getattr(error, "sqlstate", None) or "")
        reason = error.message if isinstance(error, UserError) else type(error).__name__
        _log.warning("database_failed", extra={"fields": {"reason": reason, "sqlstate": state}})
        if self._connection is None or self._connection.closed:
            self._disconnect()
            self._connect_after = time.monotonic() + _CONNECT_AGAIN_SECONDS
        return state

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
