"""`pgblend warm`: read what searches read into the server's memory."""

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import fetch_rows, open_database

_COLUMNS = ("part", "bytes", "memory", "note")
_WARM = "SELECT * FROM blend.warm(server => true)"


@click.command()
@output.output_options("json", "csv", "md")
@click.pass_obj
def command(database_url: str | None, output_format: str) -> None:
    """Read what searches read into the server's memory, after a restart.

    It needs the extension pg_prewarm, which comes with PostgreSQL (CREATE EXTENSION pg_prewarm).
    The index of vectors goes first, then the lexical index, vectors and passages: into
    shared_buffers as far as they fit, the rest into the system's cache. A connection is made ready
    by SELECT warm() in it.

    \b
    Examples:
      pgblend warm
    """
    with open_database(database_url) as connection:
        rows = fetch_rows(connection, _WARM)
    output.echo_list("parts", rows, _COLUMNS, output_format)
