"""What makes a session wait, however fast or slow the machine is."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import psycopg
from psycopg import sql

from support.waiting import wait_until

_Answer = TypeVar("_Answer")
_WAITS = "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = %s AND NOT granted)"


def waits(admin: psycopg.Connection, session: psycopg.Connection) -> bool:
    """Tell whether a session waits for a lock."""
    row = admin.execute(_WAITS, [session.info.backend_pid]).fetchone()
    return row is not None and bool(row[0])


def answered_late(
    admin: psycopg.Connection,
    session: psycopg.Connection,
    table: str,
    seconds: float,
    call: Callable[[], _Answer],
) -> _Answer:
    """Return what `call` gives in a session that waits so long when it reads a table of the store.

    An error of the call is raised. The session must read the table.
    """
    with ThreadPoolExecutor() as threads:
        with admin.transaction():
            lock = sql.SQL("LOCK TABLE {}").format(sql.Identifier("pgblend_data", table))
            admin.execute(lock)
            answer = threads.submit(call)
            wait_until(lambda: answer.done() or waits(admin, session))
            assert not answer.done(), f"nothing was read of {table}: {answer.result()}"
            time.sleep(seconds)
        return answer.result()
