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


command.add_command(import_set.command)
command.add_command(run.command)
command.add_command(gate.command)
command.add_command(compare.command)
command.add_command(explain.command)
command.add_command(report.command)
command.add_command(learn.command)
command.add_command(tune.command)
command.add_command(audit.command)
command.add_command(list_runs.command)
command.add_command(show.command)
