"""`pgblend eval report`: a page about runs."""

from pathlib import Path

import click

from pgblend.cli.database import open_database
from pgblend.cli.extras import require
from pgblend.cli.files import writing


@click.command("report")
@click.option(
    "--set", "judged_set", multiple=True, metavar="NAME", help="Only this set (repeatable)."
)
@click.option("-c", "--collection", metavar="NAME", help="Only sets of this collection.")
@click.option("--run", "run_id", multiple=True, type=int, help="Only this run (repeatable).")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    required=True,
    help="The page to write.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Search the worst queries again, and link a page that shows how each is ranked.",
)
@click.pass_obj
def command(
    database_url: str | None,
    judged_set: tuple[str, ...],
    collection: str | None,
    run_id: tuple[int, ...],
    out: Path,
    explain: bool,
) -> None:
    """Write a page about the newest run of each way to search: metrics, pictures, worst queries.

    The pages of --explain go to a folder beside it, FILE without its ending and "-explained".

    \b
    Examples:
      pgblend eval report --set mine -o quality.html --explain
    """
    require("eval")
    from pgblend.cli.evaluate.report import read_runs, render_report, write_explanations

    with open_database(database_url) as connection:
        runs = read_runs(connection, judged_set, run_id, collection)
        folder = out.with_name(f"{out.stem}-explained")
        links = write_explanations(connection, runs, folder) if explain else {}
    page = render_report(runs, links)
    with writing(out):
        out.write_text(page, encoding="utf-8")
    click.echo(f"pgblend: wrote {out}: {len(runs)} runs", err=True)
