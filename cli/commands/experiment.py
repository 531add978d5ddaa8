"""`pgblend experiment`: two profiles compared on live searches."""

from typing import Any

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import call, fetch_rows, open_database

_COLUMNS = (
    "experiment_id",
    "profile",
    "rival",
    "started_at",
    "stopped_at",
    "searches",
    "clicked",
    "profile_votes",
    "rival_votes",
    "evidence",
    "verdict",
)
_START = "SELECT blend.start_experiment(%(profile)s::text, %(rival)s::text)"
_STOP = "SELECT blend.stop_experiment(%(profile)s::text)"
_STATUS = "SELECT * FROM blend.experiment_status(%(profile)s::text)"


@click.group()
def command() -> None:
    """Compare two profiles on live searches, by what people open.

    Searches by a profile show rows of its rival as well, interleaved, and each row says whose it
    is. What is opened (blend.click, POST /v1/click, the search page) is a vote.

    \b
    Examples:
      pgblend experiment start balanced tuned
      pgblend experiment status
      pgblend experiment stop balanced
    """


@command.command()
@click.argument("profile")
@click.argument("rival")
@click.pass_obj
def start(database_url: str | None, profile: str, rival: str) -> None:
    """Let searches by PROFILE show rows of RIVAL as well.

    Searches have to be logged. They take about twice as long while it runs, and neither profile can
    be changed.

    \b
    Examples:
      pgblend experiment start balanced tuned
    """
    number = call(database_url, _START, {"profile": profile, "rival": rival})
    click.echo(f"experiment {number}: {profile} against {rival}", err=True)


@command.command()
@click.argument("profile", required=False)
@output.output_options("json", "csv", "md")
@click.pass_obj
def status(database_url: str | None, profile: str | None, output_format: str) -> None:
    """Show what experiments came to so far; with PROFILE only its own.

    The verdict is empty below 30 votes, and while the evidence, the Bayes factor of the votes
    against chance, is below 20. Between equal profiles it is ever named with a chance of at most
    1/20, however often one looks.

    \b
    Examples:
      pgblend experiment status
      pgblend experiment status balanced --json
    """
    with open_database(database_url) as connection:
        rows = fetch_rows(connection, _STATUS, {"profile": profile})
    output.echo_list("experiments", [_short(row, output_format) for row in rows], _COLUMNS,
                     output_format)  # fmt: skip


@command.command()
@click.argument("profile")
@click.pass_obj
def stop(database_url: str | None, profile: str) -> None:
    """End the experiment of PROFILE, and say what it came to.

    Nothing else changes: `pgblend config set default_profile NAME` makes the better one the
    default.

    \b
    Examples:
      pgblend experiment stop balanced
    """
    outcome = call(database_url, _STOP, {"profile": profile})
    votes = f"{outcome['profile_votes']} votes to {outcome['rival_votes']}"
    click.echo(f"{outcome['verdict'] or 'no verdict'} ({votes})")


def _short(row: dict[str, Any], output_format: str) -> dict[str, Any]:
    """Cut figures and times for reading; JSON and CSV keep them whole."""
    if output_format in ("json", "csv"):
        return row
    times = {name: row[name] and row[name].strftime("%Y-%m-%d %H:%M")
             for name in ("started_at", "stopped_at")}  # fmt: skip
    return {
        **row,
        **times,
        "evidence": round(row["evidence"], 2),
        "verdict": row["verdict"] or "no verdict",
    }
