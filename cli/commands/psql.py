"""`pgblend psql`: psql on the database."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import click

from pgblend.cli.base.errors import ExitCode, UserError


@click.command(
    context_settings={
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
        "help_option_names": [],
    }
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGS]...")
@click.pass_obj
def command(database_url: str | None, arguments: tuple[str, ...]) -> None:
    """Open psql on the database; all arguments go to psql.

    With --database-url before `psql` on that one, else on the private server. On a server without
    PL/Python it comes through a door of this command.

    \b
    Examples:
      pgblend psql
      pgblend psql -c "SELECT title FROM hybrid_search('wine')"
    """
    from pgblend.cli.operate.postmaster import find_psql

    psql = find_psql()
    if database_url and (through := _through_door(database_url)):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is psql's
        told = [str(psql), f"--dbname={through}", *arguments]
        # Its folder and variables are the user's, as without a door.
        done = subprocess.call(told, cwd=Path.cwd(), env=os.environ, preexec_fn=_interrupts)
        sys.exit(done)
    if database_url:
        os.execv(psql, [str(psql), f"--dbname={database_url}", *arguments])
    os.execve(psql, [str(psql), *arguments], os.environ | _private_environment())


def _through_door(url: str) -> str | None:
    """Return the URL through this process's door; None where none is needed, or nobody connects."""
    from pgblend.cli.base.database import connect
    from pgblend.cli.doors.wire.nearby import url_through_door

    try:
        connection = connect(url)
    except UserError:
        return None
    with connection:
        place = connection.info.host
    return url_through_door(url, place)


def _interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _private_environment() -> dict[str, str]:
    """Name the private server by libpq's variables, so that `-d` and `-U` mean what they say."""
    from pgblend.cli.operate.cluster import Cluster
    from pgblend.cli.operate.state import DATABASE, HOST, ROLE, data_directory, password_file

    cluster = Cluster(data_directory())
    if not cluster.running:
        raise UserError(
            f"the private server in {cluster.directory} does not run",
            hint="run: pgblend up",
            exit_code=ExitCode.DATABASE,
        )
    return {
        "PGHOST": HOST,
        "PGPORT": str(cluster.port),
        "PGUSER": ROLE,
        "PGDATABASE": DATABASE,
        "PGPASSFILE": str(password_file(Path(cluster.directory))),
    }
