"""`pgblend door`: SQL clients of a server without PL/Python."""

import ipaddress
import multiprocessing
import os
import signal
import socket
import ssl
from pathlib import Path

import click

from pgblend.cli.base.errors import UserError
from pgblend.cli.base.files import write_ready_file
from pgblend.cli.models.json_log import LOG_LEVELS, log_to

_MOST_PROCESSES = 4  # by themselves: each takes some 50 MB
_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)


class _Place(click.ParamType[tuple[str, int]]):
    """HOST:PORT; a host in brackets may have colons, a folder is that of a Unix socket."""

    name = "host:port"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        host, _, port = value.rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
            self.fail(f"{value!r}: expected HOST:PORT, such as db.example.com:5432", param, ctx)
        return host.removeprefix("[").removesuffix("]"), int(port)


@click.command()
@click.option("--server", type=_Place(), required=True, help="Where PostgreSQL listens.")
@click.option(
    "--listen",
    type=_Place(),
    default="127.0.0.1:6432",
    show_default=True,
    help="Where clients connect to; port 0 takes any free one.",
)
@click.option("--tls-cert", type=_FILE, help="PEM file of the door's certificate, with its chain.")
@click.option("--tls-key", type=_FILE, help="PEM file of its key.")
@click.option(
    "--plain", is_flag=True, help="Listen without TLS where other machines can connect as well."
)
@click.option(
    "--server-tls",
    type=click.Choice(["verify", "require", "off"]),
    help="Whether the server's certificate is checked, or TLS asked for at all: `verify`, but for "
    "a server of this machine.",
)
@click.option("--server-ca", type=_FILE, help="PEM file of who signs it, instead of the system's.")
@click.option(
    "--connections",
    type=click.IntRange(1, 10_000),
    default=300,
    show_default=True,
    help="Sessions at a time; more are refused.",
)
@click.option(
    "--processes",
    type=click.IntRange(1, 64),
    help="How many searches run at a time: one for each core, 4 at most.",
)
@click.option(
    "--grace-seconds",
    type=click.FloatRange(0, 3600),
    default=30,
    show_default=True,
    help="After SIGTERM, how long transactions may take.",
)
@click.option(
    "--ready-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write url, pid and version here as JSON once connections are accepted.",
)
@click.option(
    "--log-level",
    type=click.Choice(LOG_LEVELS),
    default="warning",
    show_default=True,
    help="What is logged to standard error as lines of JSON.",
)
def command(
    server: tuple[str, int],
    listen: tuple[str, int],
    tls_cert: Path | None,
    tls_key: Path | None,
    plain: bool,
    server_tls: str | None,
    server_ca: Path | None,
    connections: int,
    processes: int | None,
    grace_seconds: float,
    ready_file: Path | None,
    log_level: str,
) -> None:
    """Let any SQL client search on a server without PL/Python.

    Clients connect to it with the name and password of the server, and it hands every message on.
    Where a statement calls a routine that needs the program, the door runs it over that session:
    psql -h 127.0.0.1 -p 6432 mydb -c "SELECT * FROM hybrid_search('how do I deploy')".

    \b
    Examples:
      pgblend door --server db.example.com:5432
      pgblend door --server db.example.com:5432 --listen 0.0.0.0:6432 --plain
    """
    from pgblend.cli.doors.wire.listener import (
        PostgresDoor,
        ServerPlace,
        Siblings,
        forked,
        wait_for,
    )
    from pgblend.cli.doors.wire.told import answers_of

    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("--tls-cert and --tls-key go together")
    listener = _listening(*listen)
    if not (tls_cert or plain or _is_loopback(listener)):
        listener.close()
        raise UserError(
            f"{listen[0]} can be reached from other machines, and what is found would cross the "
            "network in plain text",
            hint="add --tls-cert and --tls-key\nor listen on 127.0.0.1\nor, where the network is "
            "a private one: --plain",
        )
    log_to(level=log_level)
    place = ServerPlace(*server, _server_tls(server[0], server_tls, server_ca))
    # Where processes cannot be forked off there is one.
    count = (processes or min(_cores(), _MOST_PROCESSES)) if hasattr(os, "fork") else 1
    shared = multiprocessing.get_context("fork").Semaphore(connections) if count > 1 else None
    siblings = Siblings(count) if count > 1 else None
    own_tls = _own_tls(tls_cert, tls_key)
    door = PostgresDoor(place, own_tls, connections, answers_of, shared, siblings)
    url = f"{'[' + listen[0] + ']' if ':' in listen[0] else listen[0]}:{listener.getsockname()[1]}"

    def stop(*_: object) -> None:
        listener.close()

    def serve(number: int = 0) -> None:
        if siblings:
            siblings.hear(number, door.cancel)
        door.serve(listener)
        door.close(grace_seconds)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    running = forked(count, serve) if count > 1 else set()
    click.echo(f"pgblend door listening on {url}", err=True)
    if ready_file:
        write_ready_file(ready_file, f"postgresql://{url}")
    if not running:
        serve()
        return
    listener.close()
    if not wait_for(running):
        raise UserError(
            "a process of the door ended, and the others with it",
            hint="start it again; its log says more with --log-level info",
        )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
    except OSError as error:
        raise UserError(
            f"cannot listen on {host}:{port}: {error.strerror}",
            hint="name an address of this machine and a port that is free; 0 takes any",
        ) from None


def _is_loopback(listener: socket.socket) -> bool:
    return ipaddress.ip_address(listener.getsockname()[0].split("%")[0]).is_loopback


def _own_tls(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    if certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.set_alpn_protocols(["postgresql"])
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise UserError(
            f"{certificate} and {key} are no certificate and its key: {error}",
            hint="give PEM files, the key without a password",
        ) from None
    return context


def _server_tls(host: str, mode: str | None, ca: Path | None) -> ssl.SSLContext | None:
    """Return what checks the server; None where nothing is encrypted."""
    is_here = host.startswith("/") or host in ("localhost", "127.0.0.1", "::1")
    mode = mode or ("off" if is_here and ca is None else "verify")
    if mode == "off":
        return None
    try:
        context = ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise UserError(f"--server-ca {ca}: {error}", hint="give a PEM file") from None
    if mode == "require":
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
