"""Attached tables that no trigger could follow: partitions that came with rows, or went."""

import threading
from collections.abc import Iterator

import psycopg

from pgblend.cli.database import Connection, fetch_rows, fetch_value

# Whose role may not fill tables has others do it: doctor names what waits.
_MAY_FILL = "SELECT has_function_privilege('pgblend._stale_tables()', 'EXECUTE')"
_STALE = "SELECT t.table_name, t.anew FROM pgblend._stale_tables() AS t"
_FILL = "SELECT blend.fill_table(%(table)s::text, 500, %(anew)s::boolean)"


def fill_stale(connection: Connection, stopping: threading.Event) -> Iterator[tuple[str, int]]:
    """Fill each table that is to be filled, batch by batch; yield its name and how many rows.

    Where a writer stands in the way the rest is left for the next time.
    """
    if not fetch_value(connection, _MAY_FILL):
        return
    for row in fetch_rows(connection, _STALE):
        total, anew = 0, row["anew"]
        try:
            while not stopping.is_set() and (
                count := fetch_value(connection, _FILL, {"table": row["table_name"], "anew": anew})
            ):
                total, anew = total + count, False
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
            continue
        if total:
            yield row["table_name"], total
