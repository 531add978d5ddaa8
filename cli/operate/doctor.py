"""Checks of every part that a search needs: extras, server, database objects, models."""

import os
from collections.abc import Iterator
from typing import LiteralString

import psutil

from pgblend.cli.base.database import (
    Connection,
    connect,
    fetch_rows,
    fetch_value,
    find_revision,
)
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.extras import MODULES, how_to_install, missing
from pgblend.cli.base.revision import SERVES_OUTSIDE, known_revisions, unknown_revision
from pgblend.cli.operate import doctor_checks, doctor_models, doctor_objects
from pgblend.cli.operate.doctor_checks import Check, certificates, run

# Of the server, not of the connection: on a managed one that ends at this process's own door.
_WHERE: LiteralString = """
    SELECT pg_catalog.format(
        '%s at %s:%s, database %s',
        current_user,
        coalesce(pg_catalog.host(pg_catalog.inet_server_addr()), 'local socket'),
        pg_catalog.current_setting('port'),
        pg_catalog.current_database()
    )
"""


def run_checks(url: str) -> list[Check]:
    """Check everything; what cannot be reached ends the list, with what to do about it."""
    here = [extras(), *certificates()]
    try:
        connection = connect(url, application_name="pgblend doctor", check=False)
    except UserError as error:
        return [*here, Check("connection", "problem", error.message, error.hint)]
    with connection:
        checks = [*here, Check("connection", "ok", fetch_value(connection, _WHERE))]
        checks += run(doctor_checks.SERVER_CHECKS, connection)
        revision = find_revision(connection)
        if revision is not None and revision not in known_revisions():
            unknown = unknown_revision(revision)
            return [*checks, Check("migrations", "problem", unknown.message, unknown.hint)]

        def migrations(opened: Connection) -> Iterator[Check]:
            return doctor_objects.migrations(opened, url)

        checks += run((migrations,), connection)
        if doctor_objects.is_migrated(connection):
            # Before the models' checks, which read the index.
            checks += run(
                (*doctor_objects.CHECKS, *doctor_checks.CACHE_CHECKS, *doctor_models.CHECKS),
                connection,
            )
            checks += run(
                (*doctor_checks.DATABASE_CHECKS, serving),
                connection,
            )
    return checks


def extras() -> Check:
    """Name the extras that are installed here, and those that are not: no fault, but to know."""
    lacking = [extra for extra in MODULES if missing(extra)]
    found = ", ".join(extra for extra in MODULES if extra not in lacking) or "none"
    if lacking:
        found += f". Not installed: {', '.join(lacking)} ({how_to_install(','.join(lacking))})"
    return Check("extras", "ok", found)


_SERVING: LiteralString = """
    SELECT a.client_port FROM pg_catalog.pg_stat_activity AS a
    WHERE a.application_name = 'pgblend serve' AND a.datname = pg_catalog.current_database()
"""


def serving(connection: Connection) -> Iterator[Check]:
    """Tell where the searches of `pgblend serve` run, and the memory of those on this machine."""
    sessions = fetch_rows(connection, _SERVING)
    if not sessions:
        return
    is_outside = fetch_value(connection, SERVES_OUTSIDE)
    ports = {row["client_port"] for row in sessions}
    found = [f"searches run {'in its own process' if is_outside else 'in the server'}"]
    found.append(f"{len(sessions)} sessions")
    found += [
        f"process {process.pid} holds {process.memory_info().rss >> 20} MiB"
        for process in _own_processes()
        if ports & _ports_of(process)
    ]
    yield Check("serve", "ok", ", ".join(found))


def _own_processes() -> Iterator[psutil.Process]:
    """Yield this account's processes of `pgblend serve`."""
    for process in psutil.process_iter(["uids", "cmdline"]):
        words = process.info["cmdline"] or []
        if "serve" in words and process.info["uids"].real == os.getuid():
            yield process


def _ports_of(process: psutil.Process) -> set[int]:
    try:
        return {one.laddr.port for one in process.net_connections("tcp")}
    except psutil.Error:
        return set()
