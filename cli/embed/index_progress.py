"""How far the building of an index is, as PostgreSQL tells another connection."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg

from pgblend.cli.base.database import Connection, connect, fetch_rows
from pgblend.cli.base.errors import UserError

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
