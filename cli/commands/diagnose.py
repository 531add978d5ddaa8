"""`pgblend diagnose`: why a document is or is not among the results of a search."""

from typing import Any

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import call
from pgblend.cli.search.search_commands import SearchRequest, search_options
from pgblend.cli.search.statements import DIAGNOSE

_MARKS = {True: ("✓", "green"), False: ("✗", "red"), None: ("·", "dim")}


@click.command()
@search_options
@click.argument("document")
@click.option("--profile", metavar="NAME", help="Named set of search options, such as balanced.")
@output.output_options("json")
@click.pass_obj
def command(
    database_url: str | None,
    request: SearchRequest,
    document: str,
    profile: str | None,
    output_format: str,
) -> None:
    """Say why a document is or is not found.

    Runs the search that `pgblend query` runs with the same options, and follows DOCUMENT (an id,
    a source key or a URI) through its stages: where it was lost, and what it would have needed.

    \b
    Examples:
      pgblend diagnose 'how do I undo everything' sql-rollback.html
    """
    parameters = request.parameters() | {"document": document, "profile": profile}
    diagnosis = call(database_url, DIAGNOSE, parameters)
    if output_format == "json":
        output.echo_json(diagnosis)
    else:
        _echo(diagnosis)


def _echo(diagnosis: dict[str, Any]) -> None:
    """Print the verdict, what to do, and each stage up to the one where the document is lost."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    head = Text(output.one_line(diagnosis["verdict"]), style="bold")
    if diagnosis["suggestion"]:
        head.append(f"\n{output.one_line(diagnosis['suggestion'])}", style="not bold")
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for stage in diagnosis["stages"]:
        mark, style = _MARKS[stage["passed"]]
        name = Text(stage["stage"].replace("_", " "))
        table.add_row(Text(mark, style=style), name, Text(output.one_line(stage["finding"])))
    output.echo_renderable(Group(head, Text(), table))
