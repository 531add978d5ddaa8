"""What a soak runs against: server, pgbouncer, model provider, gateway, serve and worker.

Each is the real process; clients are roles of their own, so that row security is at work.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb

from pgblend.cli.base.database import connect
from pgblend.cli.operate.cluster import Cluster
from pgblend.migrations import runner
from support.model_provider import GatewayProcess, ModelProvider
from support.pgbouncer import pgbouncer, pgbouncer_program
from support.serve_process import ServeProcess, token_of
from support.server import temporary_cluster

COLLECTIONS = ("walk", "files")  # written by SQL, and by `pgblend ingest`
READER, WRITER, GATEWAY, DOOR, TENANT = (
    f"soak_{name}" for name in ("reader", "writer", "gateway", "door", "tenant")
)
PASSWORD = "secret"
POOL = 4
DIMENSIONS = 384
PATIENT = dict.fromkeys(("answer", "embed", "expand", "lexical", "rerank", "total"), 60_000)
# As little as fills soon: what grows after that is a leak.
_GATEWAY = ("--cache-size", "1", "--breaker-failures", "1000")
_DAMAGE = re.compile(
    "PANIC|invalid page|could not read block|cache lookup failed|corrupt|deadlock detected"
)
_SERVER = {"shared_buffers": "'256MB'", "autovacuum_naptime": "'5s'", "max_connections": "60"}


@dataclass
class Site:
    """Where everything is, and the processes that may be started anew."""

    cluster: Cluster
    port: int  # of the server, in all its lives
    pooled_port: int
    pooler: int  # process id, as those below
    provider: ModelProvider
    gateway: GatewayProcess
    door: ServeProcess
    token: str
    folder: Path
    worker: "subprocess.Popen[bytes] | None" = None

    def url(self, user: str | None = None, port: int | None = None) -> str:
        """Return the database's URL: as the superuser, or as a role; `port`: by pgbouncer."""
        parameters = {**self.cluster.connection_parameters(), "port": port or self.port}
        if user:
            parameters |= {"user": user, "password": PASSWORD}
        return make_conninfo("", **parameters)

    def start_server(self) -> None:
        """Start the server where it was before."""
        self.cluster.start(self.port)

    def start_worker(self) -> None:
        """Start a worker; what it says is kept in its log."""
        with (self.folder / "worker.log").open("a") as log:
            self.worker = subprocess.Popen(
                [*pgblend(self.url()), "worker"], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def stop_worker(self) -> None:
        """Kill the worker, as a machine that fails does."""
        if self.worker is not None:
            self.worker.kill()
            self.worker.wait()

    def damage(self) -> list[str]:
        """Keep the server's log, and return what it tells of panic, damage and deadlocks."""
        files = sorted(self.cluster.log_directory.iterdir(), key=lambda file: file.stat().st_mtime)
        text = "\n".join(file.read_text(errors="replace") for file in files if file.is_file())
        (self.folder / "server.log").write_text(text)
        return [line for line in text.splitlines() if _DAMAGE.search(line)]

    def logs(self) -> dict[str, str]:
        """Return what each process has said."""
        return {
            "gateway": self.gateway.stderr,
            "serve": self.door.stderr,
            "worker": (self.folder / "worker.log").read_text(),
        }


def pgblend(url: str) -> list[str]:
    """Return the beginning of a command line."""
    return [sys.executable, "-m", "pgblend.cli.main", "--database-url", url]


@contextmanager
def open_site(folder: Path) -> Iterator[Site]:
    """Start everything; stop it at the end."""
    program = pgbouncer_program()
    if program is None:
        sys.exit("there is no pgbouncer: apt-get install pgbouncer")
    with ExitStack() as stack:
        cluster = stack.enter_context(temporary_cluster(durable=True, **_SERVER))
        parameters = cluster.connection_parameters()
        url = make_conninfo("", **parameters)
        runner.upgrade(url)
        provider = stack.enter_context(ModelProvider())
        admin = stack.enter_context(connect(url))
        _make_roles(admin)
        token = token_of(admin, TENANT)
        passwords = dict.fromkeys((READER, WRITER), PASSWORD)
        place = (str(parameters["host"]), parameters["port"])
        pooled_port, pooler = stack.enter_context(pgbouncer(program, *place, passwords, POOL))
        own = {"user": GATEWAY, "password": PASSWORD}
        environment = {"PGBLEND_GATEWAY_DATABASE_URL": make_conninfo(url, **own)}
        gateway = GatewayProcess(*_GATEWAY, provider=provider, environment=environment)
        stack.enter_context(gateway)
        _set_up(admin, gateway.url, provider.model)
        login = make_conninfo(url, user=DOOR, password=PASSWORD)
        door = ServeProcess(login, "--pool-size", str(POOL), "--concurrency", "64")
        stack.enter_context(door)
        admin.close()
        site = Site(
            cluster=cluster,
            port=int(parameters["port"]),
            pooled_port=pooled_port,
            pooler=pooler.pid,
            provider=provider,
            gateway=gateway,
            door=door,
            token=token,
            folder=folder,
        )
        (folder / "worker.log").unlink(missing_ok=True)
        site.start_worker()
        stack.callback(site.stop_worker)
        yield site


def _make_roles(admin: psycopg.Connection[Any]) -> None:
    """Make the clients' roles and the collections, and let the ones use the others."""
    statements = [
        f"CREATE ROLE {READER} LOGIN PASSWORD '{PASSWORD}' IN ROLE pgblend_reader",
        f"CREATE ROLE {WRITER} LOGIN PASSWORD '{PASSWORD}' IN ROLE pgblend_writer",
        f"CREATE ROLE {GATEWAY} LOGIN PASSWORD '{PASSWORD}' IN ROLE pgblend_gateway",
        f"CREATE ROLE {TENANT} IN ROLE pgblend_reader",
        f"CREATE ROLE {DOOR} LOGIN NOINHERIT PASSWORD '{PASSWORD}' IN ROLE pgblend_serve, {TENANT}",
    ]
    for statement in statements:
        admin.execute(statement.encode())
    for collection in COLLECTIONS:
        admin.execute("SELECT add_collection(%s, 'simple')", [collection])
        for role, privilege in ((READER, "read"), (TENANT, "read"), (WRITER, "write")):
            admin.execute("SELECT grant_collection(%s, %s, %s)", [collection, role, privilege])


def _set_up(admin: psycopg.Connection[Any], gateway_url: str, model: str) -> None:
    """Name the gateway, and make the first space."""
    settings = {"gateway_url": gateway_url, "timeouts_ms": PATIENT, "embedding_prefix": "none"}
    for name, value in settings.items():
        admin.execute("SELECT set_setting(%s, %s)", [name, Jsonb(value)])
    admin.execute("SELECT create_embedding_space('blue', %s, %s)", [model, DIMENSIONS])
