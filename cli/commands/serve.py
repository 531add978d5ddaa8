"""`pgblend serve`: the HTTP door in the foreground, and the tokens that open it."""

import socket
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import answering_url, connect, open_database
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.extras import require
from pgblend.cli.doors.tokens import SCOPES, Grant, list_tokens, make_link, make_token, revoke_token
from pgblend.cli.models.gateway_options import CallLimits, ConnectionLimits, read_connection_limits
from pgblend.cli.models.json_log import LOG_LEVELS

# How much the door lets a caller take.

_CALLS = CallLimits()
_CONNECTIONS = ConnectionLimits()
_OPTIONS = [
    click.option(
        "--concurrency",
        type=click.IntRange(1, 10_000),
        default=_CALLS.concurrency,
        show_default=True,
        help="Calls of one token at a time, or of one address without; more get 429.",
    ),
    click.option(
        "--rate",
        type=click.FloatRange(0.01, 1_000_000),
        default=_CALLS.rate,
        show_default=True,
        help="Calls of one token a second, or of one address without; more get 429.",
    ),
    click.option(
        "--burst",
        type=click.IntRange(1, 1_000_000),
        default=_CALLS.burst,
        show_default=True,
        help="Calls that a token, or an address without, may save up.",
    ),
    click.option(
        "--body-bytes",
        type=click.IntRange(1024, 32 * 1024 * 1024),
        default=_CALLS.body_bytes,
        show_default=True,
        help="Most bytes of a body; more get 413.",
    ),
    click.option(
        "--header-timeout",
        type=click.FloatRange(0.1, 600),
        default=_CONNECTIONS.header_seconds,
        show_default=True,
        help="Seconds that the headers of a request may take; then 408.",
    ),
    click.option(
        "--body-timeout",
        type=click.FloatRange(0.1, 600),
        default=_CONNECTIONS.body_seconds,
        show_default=True,
        help="Seconds that its body may take; then 408.",
    ),
    click.option(
        "--connections",
        type=click.IntRange(1, 100_000),
        default=_CONNECTIONS.connections,
        show_default=True,
        help="Connections of one address at a time; more get 429.",
    ),
]


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that `read_call_limits` and `read_connection_limits` read."""
    return reduce(lambda decorated, option: option(decorated), reversed(_OPTIONS), command)


def read_call_limits(
    *, concurrency: int, rate: float, burst: int, body_bytes: int, **_: object
) -> CallLimits:
    """Return what a token may take, as the options say."""
    return CallLimits(concurrency, rate, burst, body_bytes)


_TOKEN_COLUMNS = ("id", "name", "role", "scopes", "groups", "expires_at", "created_by")
_DEFAULT_SCOPES = ("search", "ask")
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group(invoke_without_command=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8767,
    show_default=True,
    help="Port to listen on; 0 takes any free one.",
)
@click.option(
    "--fd",
    type=click.IntRange(0),
    help="Listen on this open socket instead, as systemd's socket activation passes it: a new "
    "process takes over from an old one, and no request is lost.",
)
@click.option(
    "--login-url",
    envvar="PGBLEND_SERVE_DATABASE_URL",
    show_envvar=True,
    metavar="URL",
    help="Database to connect to, as a role that may do nothing by itself: LOGIN NOINHERIT, a "
    "member of pgblend_serve and of the tokens' roles.",
)
@click.option(
    "--pool-size",
    type=click.IntRange(1, 1000),
    default=8,
    show_default=True,
    help="Most connections to the database, which all callers share; of them one token has three "
    "quarters at most.",
)
@click.option(
    "--pool-timeout",
    type=click.FloatRange(0.1, 600),
    default=5,
    show_default=True,
    help="Seconds that a call waits for one; then 503.",
)
@click.option(
    "--statement-timeout",
    type=click.FloatRange(0.1, 3600),
    default=60,
    show_default=True,
    help="Seconds that a statement of a call may take; then 504.",
)
@click.option("--tls-cert", type=_FILE, help="PEM file of the certificate, with its chain.")
@click.option("--tls-key", type=_FILE, help="PEM file of its key.")
@click.option(
    "--behind-proxy",
    is_flag=True,
    help="A proxy that callers reach it through has TLS; needed off loopback without --tls-cert.",
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="Name that callers call it by (repeatable), beside 127.0.0.1, localhost and ::1.",
)
@click.option(
    "--drain-seconds",
    type=click.FloatRange(0, 600),
    default=2,
    show_default=True,
    help="After SIGTERM, how long open connections may send what is on its way.",
)
@click.option(
    "--grace-seconds",
    type=click.IntRange(0, 3600),
    default=30,
    show_default=True,
    help="After that, how long running calls may take.",
)
@click.option(
    "--ready-file",
    type=_FILE,
    help="Write url, pid and version here as JSON once connections are accepted.",
)
@click.option(
    "--log-level",
    type=click.Choice(LOG_LEVELS),
    default="warning",
    show_default=True,
    help="What is logged to standard error as lines of JSON.",
)
@limit_options
def command(
    host: str,
    port: int,
    fd: int | None,
    login_url: str | None,
    pool_size: int,
    pool_timeout: float,
    statement_timeout: float,
    tls_cert: Path | None,
    tls_key: Path | None,
    behind_proxy: bool,
    allowed_hosts: tuple[str, ...],
    drain_seconds: float,
    grace_seconds: int,
    ready_file: Path | None,
    log_level: str,
    **limits: Any,
) -> None:
    """Let applications search over HTTP, each as a role of its own.

    POST /v1/search, /v1/context, /v1/ask, /v1/facets, /v1/explain, /v1/diagnose, /v1/feedback,
    /v1/click; GET /v1/documents/ID, /health, /metrics, /openapi.json. Chat clients ask through
    /v1/chat/completions, where each collection is a model; agents speak MCP at /mcp.

    \b
    Examples:
      pgblend serve --login-url postgresql://pgblend_door@localhost:5432/mydb
      pgblend serve --host 0.0.0.0 --tls-cert door.pem --tls-key door.key
    """
    if click.get_current_context().invoked_subcommand:
        return
    require("gateway")
    from pgblend.cli.doors.connection_pool import ConnectionPool
    from pgblend.cli.doors.door import Door
    from pgblend.cli.doors.gate import LOOPBACK_NAMES
    from pgblend.cli.doors.http_routes import create_app
    from pgblend.cli.doors.problems import Problem
    from pgblend.cli.doors.tokens import check_login_role
    from pgblend.cli.models.connection import limited_protocol
    from pgblend.cli.models.json_log import log_to
    from pgblend.cli.models.served_app import Service, is_loopback, listen_tcp, serve

    if login_url is None:
        raise UserError(
            "no database given to serve",
            hint="CREATE ROLE pgblend_door LOGIN NOINHERIT IN ROLE pgblend_serve\n"
            "then pass --login-url postgresql://pgblend_door@host:5432/database",
        )
    if (tls_cert is None) != (tls_key is None):
        raise click.UsageError("--tls-cert and --tls-key go together")
    with connect(login_url) as connection:
        check_login_role(connection)
        url = answering_url(login_url, connection)
    log_to(level=log_level)
    listener = listen_tcp(host, port) if fd is None else socket.socket(fileno=fd)
    if not (is_loopback(listener) or tls_cert or behind_proxy):
        listener.close()
        raise UserError(
            f"{host} can be reached from other machines, and tokens would cross the network"
            " in plain text",
            hint="add --tls-cert and --tls-key\nor listen on 127.0.0.1"
            "\nbehind a proxy that has TLS: --behind-proxy",
        )
    pool = ConnectionPool(url, pool_size, pool_timeout, statement_timeout)
    door = Door(pool, pool.program(login_url))
    hosts = frozenset(name.lower() for name in (*LOOPBACK_NAMES, *allowed_hosts))
    app = create_app(door, hosts, read_call_limits(**limits))
    protocol = limited_protocol(
        read_connection_limits(**limits), lambda error: Problem.of(error).response("")
    )
    service = Service("serve", grace_seconds, drain_seconds, tls_cert, tls_key)
    serve(app, listener, ready_file, protocol, service)


@command.command()
@click.option("--role", required=True, help="Database role that the page searches as.")
@click.option(
    "--url", default="http://127.0.0.1:8767", show_default=True, help="Where serve is reached."
)
@click.option(
    "--days",
    type=click.IntRange(1, 3650),
    default=30,
    show_default=True,
    help="How long the browser may search.",
)
@click.pass_obj
def link(database_url: str | None, role: str, url: str, days: int) -> None:
    """Make a link to the page, for one browser, and print it.

    It opens once, within ten minutes. `token list` shows the browser's token, and `token revoke`
    ends it. The role that serve connects as must be able to become ROLE.

    \b
    Examples:
      pgblend serve link --role shop
      pgblend serve link --role shop --url https://search.example.org --days 1
    """
    with open_database(database_url) as connection:
        made = make_link(connection, url.rstrip("/"), role, days)
    click.echo(made)


@command.group()
def token() -> None:
    """Make, list and revoke the tokens that callers show.

    \b
    Examples:
      pgblend serve token list
    """


@token.command("make")
@click.option("--role", required=True, help="Database role that calls with it are made as.")
@click.option("--name", required=True, help="What it is for.")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(list(SCOPES)),
    multiple=True,
    help=f"What it is good for (repeatable): {'; '.join(f'{n}: {w}' for n, w in SCOPES.items())}.  "
    "[default: search, ask]",
)
@click.option(
    "--days",
    type=click.IntRange(1, 3650),
    default=90,
    show_default=True,
    help="How long it is good.",
)
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="NAME",
    help="Group that its calls hold, a reader of documents (repeatable).",
)
@click.pass_obj
def make(
    database_url: str | None,
    role: str,
    name: str,
    scopes: tuple[str, ...],
    days: int,
    groups: tuple[str, ...],
) -> None:
    """Make a token and print it, once: the database keeps a digest of it.

    The role that serve connects as must be able to become ROLE: GRANT ROLE TO pgblend_door.

    \b
    Examples:
      pgblend serve token make --role shop --name 'search box'
      pgblend serve token make --role shop --name metrics --scope metrics --days 30
      pgblend serve token make --role shop --name 'personnel' --group hr
    """
    wanted = list(dict.fromkeys(scopes or _DEFAULT_SCOPES))
    with open_database(database_url) as connection:
        number, text = make_token(connection, Grant(name, role, wanted, days, groups))
    click.echo(text)
    click.echo(f"pgblend: token {number} of role {role}, for {', '.join(wanted)}", err=True)


@token.command("list")
@output.output_options("json", "csv", "md")
@click.pass_obj
def list_command(database_url: str | None, output_format: str) -> None:
    """List tokens, expired ones too; not their texts, which nobody knows.

    \b
    Examples:
      pgblend serve token list
    """
    with open_database(database_url) as connection:
        rows = list_tokens(connection)
    output.echo_list("tokens", rows, _TOKEN_COLUMNS, output_format)


@token.command()
@click.argument("number", type=click.IntRange(1))
@click.pass_obj
def revoke(database_url: str | None, number: int) -> None:
    """End the token of this number, as `token list` shows it, at once.

    \b
    Examples:
      pgblend serve token revoke 3
    """
    with open_database(database_url) as connection:
        name = revoke_token(connection, number)
    click.echo(f"revoked token {number} ({output.one_line(name)})", err=True)
