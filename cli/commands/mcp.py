"""`pgblend mcp`: search for agents over standard input and output, and how they are told of it."""

from pathlib import Path

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import answering_url, open_database, resolve_database_url
from pgblend.cli.base.extras import require
from pgblend.cli.doors.mcp.install import (
    CLIENTS,
    TOKEN_VARIABLE,
    http_entry,
    part_of,
    stdio_entry,
    write,
)
from pgblend.cli.doors.tokens import SCOPES

_NO_TOOLS = "metrics"
_DEFAULT_SCOPES = ("search", "ask")
_scope_option = click.option(
    "--scope",
    "scopes",
    type=click.Choice([scope for scope in SCOPES if scope != _NO_TOOLS]),
    multiple=True,
    help="What agents may do (repeatable): search, ask, feedback (judge passages), remember "
    "(store texts).  [default: search, ask]",
)


@click.group(invoke_without_command=True)
@_scope_option
@click.pass_obj
def command(database_url: str | None, scopes: tuple[str, ...]) -> None:
    """Let agents search, over the Model Context Protocol.

    An agent's program starts it and speaks to it on standard input and output; the database role
    of its connection says what it may read. `pgblend serve` has the same tools at /mcp, for each
    token's role. Tools: search, context, ask, open, explain, collections; with their scopes
    remember and feedback.

    \b
    Examples:
      pgblend mcp install --client claude-code
      pgblend mcp --scope search --scope remember
    """
    if click.get_current_context().invoked_subcommand:
        return
    require("mcp")
    require("gateway")  # which its extra includes, but the SDK alone does not bring
    from pgblend.cli.doors.mcp.server import serve_stdio

    # What is wrong with the connection is said before an agent waits.
    given = resolve_database_url(database_url)
    with open_database(database_url) as connection:
        url = answering_url(given, connection)
    serve_stdio(url, given, scopes or _DEFAULT_SCOPES)


@command.command()
@click.option(
    "--client",
    "program",
    type=click.Choice(list(CLIENTS)),
    required=True,
    help="The agent's program.",
)
@click.option("--write", "is_written", is_flag=True, help="Write it into the program's file.")
@click.option(
    "--user", is_flag=True, help="Take the account's file, for all projects, not this folder's."
)
@click.option("--name", default="pgblend", show_default=True, help="What the program calls it.")
@click.option(
    "--url",
    metavar="URL",
    help="Call a `pgblend serve` at this address instead, such as http://127.0.0.1:8767/mcp, with "
    f"the token of the environment variable {TOKEN_VARIABLE} (vscode asks for it).",
)
@_scope_option
@click.pass_obj
def install(
    database_url: str | None,
    program: str,
    is_written: bool,
    user: bool,
    name: str,
    url: str | None,
    scopes: tuple[str, ...],
) -> None:
    """Show the configuration that an agent's program needs, or write it.

    All else in the file stays; it is replaced as a whole, so that nobody reads half of it. No
    password and no token is written: passwords belong into ~/.pgpass.

    \b
    Examples:
      pgblend mcp install --client claude-code
      pgblend mcp install --client cursor --user --write
      pgblend mcp install --client vscode --url http://127.0.0.1:8767/mcp
    """
    if url and scopes:
        raise click.UsageError("--scope goes without --url: a token has its own scopes")
    client = CLIENTS[program]
    path = client.user_file() if user else Path(client.project_file)
    entry = http_entry(url, client) if url else stdio_entry(database_url, scopes)
    part = part_of(client, name, entry)
    if not is_written:
        output.echo_json(part)
        click.echo(f"pgblend: this belongs into {path}; --write puts it there", err=True)
    elif write(path, part):
        click.echo(f"pgblend: wrote {path}", err=True)
    else:
        click.echo(f"pgblend: {path} has it already", err=True)
