"""What `pgblend up` does, step by step; every step leaves alone what is already as it should be."""

import os
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlsplit

from pgblend.cli.base.database import Connection, connect, fetch_value
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.prefork import socket_path
from pgblend.cli.operate.account import TOKEN_VARIABLE, keep_token
from pgblend.cli.operate.cluster import Cluster
from pgblend.cli.operate.services import (
    CommandsProcess,
    DoorProcess,
    GatewayProcess,
    RunningService,
    WorkerProcess,
    is_current,
    log_address,
)

Say = Callable[[str], None]

GET_GATEWAY_URL = "SELECT blend.get_setting('gateway_url') #>> '{}'"
SET_GATEWAY_URL = "SELECT blend.set_setting('gateway_url', to_jsonb(%(url)s::text))"
GET_LOG_ADDRESS = "SELECT blend.get_setting('log_address') #>> '{}'"
SET_LOG_ADDRESS = "SELECT blend.set_setting('log_address', to_jsonb(%(address)s::text))"


def bring_up_server(cluster: Cluster, port: int | None, say: Say) -> None:
    """Make the cluster and start the server, where that has not been done."""
    if not cluster.exists:
        say(f"making a database cluster in {cluster.data}")
        cluster.create()
    running = cluster.postmaster
    if running is None:
        cluster.start(port)
        say(f"PostgreSQL {cluster.binaries.version} started on port {cluster.port}")
    elif port not in (None, running.port):
        raise UserError(
            f"the server runs already, on port {running.port}",
            hint=f"to move it, run: pgblend down && pgblend up --port {port}",
        )
    else:
        cluster.remember()
        say(f"PostgreSQL {cluster.binaries.version} runs already on port {running.port}")
    if token := os.environ.get(TOKEN_VARIABLE):
        keep_token(cluster.directory, cluster.account, token)


def bring_up_schema(cluster: Cluster, say: Say) -> None:
    """Bring the database to the newest revision."""
    from pgblend.migrations import runner

    before = runner.status(cluster.url)["current"]
    runner.upgrade(cluster.url)
    after = runner.status(cluster.url)["current"]
    if before != after:
        say(f"database at revision {after}")


def bring_up_gateway(
    cluster: Cluster, say: Say, log_level: str | None = None, *, anew: bool = False
) -> None:
    """Start the gateway, `anew` even where it runs, and tell the database where it is.

    An address that somebody set by hand stays, and needs no gateway of ours. For a log level, one
    that runs is started anew.
    """
    process = GatewayProcess(cluster.directory)
    gateway, known = process.find(), cluster.state.gateway_urls
    own = [*known, gateway.url] if gateway else known
    with connect(cluster.url) as connection:
        stored: str | None = fetch_value(connection, GET_GATEWAY_URL)
        if stored is not None and stored not in own:
            say(f"gateway_url is set to {stored}, so no gateway of pgblend's own is started")
            say("hint: for one, run: pgblend config reset gateway_url, then pgblend up")
            return
        if gateway is not None and is_current(gateway) and log_level is None and not anew:
            say(f"gateway runs already on {gateway.url}")
        else:
            port = cluster.state.ports.get("gateway")
            gateway = process.start(cluster.account, cluster.url, log_level, port)
            say(f"gateway started on {gateway.url}")
            _keep_port(cluster, "gateway", gateway, say)
        if gateway.url != stored or stored not in known:
            # Remembered first: an address that only the database knows would pass for the user's.
            urls = [url for url in (stored, gateway.url) if url is not None]
            replace(cluster.state, gateway_urls=urls).save(cluster.directory)
            connection.execute(SET_GATEWAY_URL, {"url": gateway.url})
        _report_searches_to(gateway.url, own, connection)


def bring_up_door(cluster: Cluster, say: Say) -> None:
    """Start the HTTP door with its page."""
    process = DoorProcess(cluster.directory)
    door = process.find()
    if door is not None and is_current(door):
        say(f"the page is on {door.url} already (pgblend open)")
        return
    with connect(cluster.url) as connection:
        door = process.start(connection, cluster.port, cluster.state.ports.get("page"))
    say(f"the page is on {door.url} (pgblend open)")
    _keep_port(cluster, "page", door, say)


def bring_up_worker(cluster: Cluster, say: Say) -> None:
    """Start the worker, so that what is written by SQL gets vectors."""
    process = WorkerProcess(cluster.directory)
    worker = process.find()
    if worker is None or not is_current(worker):
        process.start(cluster.url)
        say("worker started: what waits for vectors gets them")


def bring_up_commands(cluster: Cluster, say: Say) -> None:
    """Start the process in which searches of the command line find all that they need."""
    process = CommandsProcess(cluster.directory)
    running = process.find()
    if socket_path(cluster.directory) is None or (running and is_current(running)):
        return
    try:
        process.start()
    except UserError as error:
        say(f"warning: {error.message}. Searches of the command line are slower without it")


def _keep_port(cluster: Cluster, name: str, service: RunningService, say: Say) -> None:
    """Remember a service's first port; tell where it had to take another one for now."""
    first, now = cluster.state.ports.get(name), urlsplit(service.url).port
    if now is None or first == now:
        return
    if first is None:
        replace(cluster.state, ports=cluster.state.ports | {name: now}).save(cluster.directory)
        return
    say(f"another program has port {first} now, which is the {name}'s")
    if name == "gateway":
        say(
            f"hint: once that program has ended, pgblend gateway restart takes the port back;"
            f" until then other databases need: pgblend config set gateway_url {service.url}"
        )


def _report_searches_to(url: str, own: list[str], connection: Connection) -> None:
    """Let searches be logged by the gateway, unless somebody set another address by hand."""
    stored: str | None = fetch_value(connection, GET_LOG_ADDRESS)
    address = log_address(url)
    if stored != address and stored in (None, *map(log_address, own)):
        connection.execute(SET_LOG_ADDRESS, {"address": address})
