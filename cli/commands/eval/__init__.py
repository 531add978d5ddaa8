"""`pgblend eval`: judged sets, runs on them, and what the runs say."""

import click

from pgblend.cli.commands.eval import (
    audit,
    compare,
    explain,
    gate,
    import_set,
    learn,
    list_runs,
    report,
    run,
    show,
    tune,
)


@click.group()
def command() -> None:
    """Measure search quality on judged queries, inside the database.

    \b
    Examples:
      pgblend eval import beir/scifact --set scifact
      pgblend eval run --set scifact
      pgblend eval compare 1 2
    """


for _module in (
    import_set,
    run,
    gate,
    compare,
    explain,
    report,
    learn,
    tune,
    audit,
    list_runs,
    show,
):
    command.add_command(_module.command)
