"""The PostgreSQL server of the benches, and their databases on it."""

import argparse
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import psycopg

from pgblend.cli.operate.cluster import MEGABYTE, machine_memory
from support.server import throwaway_server

# pg_prewarm is one of PostgreSQL's own extensions.
_READ = """
    SELECT count(pg_prewarm(c.oid)) FROM pg_class AS c
    WHERE c.relkind IN ('r', 'i', 't') AND c.relnamespace <> 'pg_catalog'::regnamespace
"""


def server_url(text: str) -> str:
    """Return the URL of a server that answers a superuser, as the type of an option."""
    try:
        with psycopg.connect(f"{text}/postgres", connect_timeout=10) as connection:
            is_superuser = connection.info.parameter_status("is_superuser") == "on"
    except psycopg.Error as error:
        why = str(error).strip()
    else:
        why = "" if is_superuser else "its role is no superuser"
    if why:
        wanted = (
            "expected a superuser's URL without a database, postgresql://postgres@localhost:5432"
        )
        raise argparse.ArgumentTypeError(f"{text!r} cannot be used: {why}\n{wanted}")
    return text


def measured_server() -> AbstractContextManager[dict[str, str]]:
    """Make and start a server as those in use are, with buffers that hold what is measured."""
    half = machine_memory() // 2 // MEGABYTE
    return throwaway_server(durable=True, shared_buffers=f"'{half}MB'")


def filled_database(
    server: str,
    name: str,
    fill: Callable[[str], None],
    refresh: Callable[[str], bool] = lambda _: True,
) -> tuple[str, float]:
    """Return a database's URL and how many seconds filling it took.

    One that is there is taken if `refresh` agrees; its comment has the seconds. It is read into
    memory, where a new one is already. A new one gets its name when it is full, so an interrupted
    run leaves none that is half filled.
    """
    url = f"{server}/{name}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as postgres:
        found = postgres.execute(
            "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s",
            [name],
        ).fetchone()
        if found and found[0] and refresh(url):
            _read_into_memory(url)
            return url, float(found[0])
        postgres.execute(f"DROP DATABASE IF EXISTS {name}")
        postgres.execute(f"DROP DATABASE IF EXISTS {name}_new")
        postgres.execute(f"CREATE DATABASE {name}_new")
        start = time.perf_counter()
        fill(f"{url}_new")
        seconds = time.perf_counter() - start
        postgres.execute(f"COMMENT ON DATABASE {name}_new IS '{seconds:.1f}'")
        postgres.execute(f"ALTER DATABASE {name}_new RENAME TO {name}")
    return url, seconds


def _read_into_memory(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm")
        connection.execute(_READ)


def database_name(system: str, corpus: str) -> str:
    """Return the name of a system's database for a corpus."""
    return f"bench_{system}_{corpus.replace('-', '_')}"
