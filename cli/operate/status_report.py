"""What runs, where and in which version: the content of `pgblend status`."""

import platform
import re
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pgblend.cli.base.database import Connection, connect, fetch_rows, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.revision import check_revision
from pgblend.cli.embed.summaries import count_summaries
from pgblend.cli.operate.account import token_for
from pgblend.cli.operate.bring_up import GET_GATEWAY_URL
from pgblend.cli.operate.cluster import Cluster
from pgblend.cli.operate.services import (
    CommandsProcess,
    DoorProcess,
    GatewayProcess,
    WorkerProcess,
    ask_health,
)
from pgblend.cli.operate.state import load_state

LIBRARIES = ("pgblend", "psycopg", "alembic", "litellm")
EXTENSIONS = """
    SELECT extname, extversion FROM pg_catalog.pg_extension
    WHERE extname IN ('vector', 'pg_trgm', 'plpython3u') ORDER BY extname
"""
HAS_REVISION = "SELECT pg_catalog.to_regclass('pgblend_data.alembic_version') IS NOT NULL"
REVISION = "SELECT version_num FROM pgblend_data.alembic_version"
SPACES = """
    SELECT s.name, s.active, s.model, s.dimensions, s.storage, c.chunks, c.vectors, c.waiting,
        c.dead, c.missing, s.bridged_from
    FROM blend.embedding_spaces AS s
    CROSS JOIN LATERAL blend.count_vectors(s.name) AS c
    ORDER BY s.name
"""

Report = dict[str, Any]


def report_private_server(directory: Path) -> Report:
    """Describe the private server of a data folder, whether it runs or not."""
    cluster = Cluster(directory)
    state = load_state(cluster.directory)
    place = {
        "data_directory": str(cluster.data),
        "port": state.port if state else None,
        "socket_directory": state.socket_directory if state else None,
    }
    if state is None or not cluster.running:
        found: Report = {"running": False, "url": cluster.url if state else None}
        gateway_url = None
    else:
        found, gateway_url = _ask(cluster.url)
        found = {**found, "running": True, "url": cluster.url}
    own = GatewayProcess(cluster.directory).find()
    url = gateway_url or (own.url if own else None)
    report = _report({**found, **place}, url, token_for(url, cluster.directory))
    services = {
        "page": DoorProcess(cluster.directory).find(),
        "worker": WorkerProcess(cluster.directory).find(),
        "commands": CommandsProcess(cluster.directory).find(),
    }
    for name, service in services.items():
        report[name] = {
            "running": service is not None,
            "url": service.url or None if service else None,
            "pid": service.pid if service else None,
            "version": service.version if service else None,
        }
    return report


def report_named_server(url: str) -> Report:
    """Describe a server that the user named."""
    found, gateway_url = _ask(url)
    return _report({**found, "url": without_password(url)}, gateway_url, token_for(gateway_url))


def without_password(url: str) -> str:
    """Take the password out of a URL or connection string."""
    url = re.sub(r"(://[^:/@?]*):[^@/]*@", r"\1@", url)
    return re.sub(r"([?&\s]|^)password=('(\\.|[^'\\])*'|[^&\s]*)", r"\1password=…", url)


def _report(database: Report, gateway_url: str | None, token: str | None) -> Report:
    health = ask_health(gateway_url, token) if gateway_url else None
    nothing = dict.fromkeys(
        ("version", "data_directory", "port", "socket_directory", "migration", "error")
    )
    return {
        "database": {
            **nothing,
            "extensions": {},
            "embedding_spaces": [],
            "summaries": None,
            **database,
        },
        "gateway": {
            "running": health is not None,
            "url": gateway_url,
            "pid": (health or {}).get("pid"),
            "version": (health or {}).get("version"),
        },
        "page": None,
        "worker": None,
        "commands": None,
        "versions": dict(_installed()) | {"python": platform.python_version()},
    }


def _installed() -> Iterator[tuple[str, str]]:
    """Yield the main libraries and their versions, without those of extras that are not there."""
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            yield name, version(name)


def _ask(url: str) -> tuple[Report, str | None]:
    """Ask the database about itself; return that and its gateway's address."""
    try:
        with connect(url, check=False) as connection:
            return _ask_database(connection)
    except UserError as error:
        return {"running": False, "error": error.message}, None


def _ask_database(connection: Connection) -> tuple[Report, str | None]:
    migrated = fetch_value(connection, HAS_REVISION)
    revision = fetch_value(connection, REVISION) if migrated else None
    found = {
        "running": True,
        "version": connection.info.parameter_status("server_version"),
        "port": connection.info.port,
        "extensions": {
            row["extname"]: row["extversion"] for row in fetch_rows(connection, EXTENSIONS)
        },
        "migration": revision,
    }
    if revision is None:
        return found, None
    try:
        check_revision(revision)
    except UserError as error:
        return {**found, "error": f"{error.message} ({error.hint})"}, None
    found["embedding_spaces"] = fetch_rows(connection, SPACES)
    found["summaries"] = count_summaries(connection)
    return found, fetch_value(connection, GET_GATEWAY_URL)
