"""`pgblend up`: start the private server, the gateway, the worker and the page."""

from pathlib import Path

import click

from pgblend.cli.base.errors import ExitCode, UserError
from pgblend.cli.models.json_log import LOG_LEVELS
from pgblend.cli.operate.state import data_directory_option

_NEXT = """pgblend: try next:
  pgblend ingest FOLDER --collection docs
  pgblend query 'a question'
  pgblend doctor"""


@click.command()
@data_directory_option
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="Port for PostgreSQL; by default the one of last time, or a free one.",
)
@click.option("--no-gateway", is_flag=True, help="Leave gateway, worker and page out.")
@click.option(
    "--log-level",
    type=click.Choice(LOG_LEVELS),
    help="What the gateway writes to gateway.log in the data folder; info: every call and search. "
    "One that runs is started anew.  [default: warning]",
)
@click.pass_context
def command(
    ctx: click.Context, directory: Path, port: int | None, no_gateway: bool, log_level: str | None
) -> None:
    """Start the private server, the gateway, a worker and the page.

    Makes them at the first call, and brings the database to the newest revision. Prints the
    connection URL. What runs already is left alone. The gateway gets the environment of this
    command, and the keys in the file gateway.env (mode 0600) of the data folder.

    \b
    Examples:
      pgblend up
      pgblend up --port 5433 --log-level info
    """
    from pgblend.cli.operate.bring_up import (
        bring_up_commands,
        bring_up_door,
        bring_up_gateway,
        bring_up_schema,
        bring_up_server,
        bring_up_worker,
    )
    from pgblend.cli.operate.cluster import Cluster
    from pgblend.cli.operate.postmaster import locked

    cluster = Cluster(directory)
    cluster.prepare()
    with locked(cluster.directory):
        bring_up_server(cluster, port, _say)
        bring_up_schema(cluster, _say)
        click.echo(cluster.url)
        bring_up_commands(cluster, _say)
        if not no_gateway:
            try:
                bring_up_gateway(cluster, _say, log_level)
                bring_up_worker(cluster, _say)
                bring_up_door(cluster, _say)
            except UserError as error:
                _say(f"warning: {error.message}")
                _say("the database is up, without vectors; mend that and run again: pgblend up")
                _say(f"hint: {error.hint or 'the log is ' + str(directory / 'gateway.log')}")
                ctx.exit(ExitCode.PARTIAL)
    click.echo(_NEXT, err=True)
    if ctx.obj:
        _say("warning: other commands use the database of --database-url (PGBLEND_DATABASE_URL)")


def _say(message: str) -> None:
    click.echo(f"pgblend: {message}", err=True)
