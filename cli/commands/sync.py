"""`pgblend sync`: what is new in files and exports of messages."""

from pathlib import Path

import click

from pgblend.cli.commands.ingest import run_request
from pgblend.cli.ingest.language import AUTO
from pgblend.cli.ingest.run import IngestRequest


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH…")
@click.option("--collection", required=True, metavar="NAME", help="Made where it does not exist.")
@click.option(
    "--lang",
    "language",
    default=AUTO,
    show_default=True,
    metavar="auto|NAME",
    help="Text search configuration of the documents.",
)
@click.option("--include", multiple=True, metavar="GLOB", help="In folders, take these files only.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="In folders, leave these files out.")
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Keys are paths below this folder, not below each PATH.",
)
@click.option("--embed/--no-embed", default=True, help="Ask the gateway for vectors.")
@click.option("--prune", is_flag=True, help="Delete documents whose file is gone from a PATH.")
@click.option("--dry-run", is_flag=True, help="Change nothing; tell documents, tokens and cost.")
@click.option("--json", "as_json", is_flag=True, help="Print a report as JSON.")
@click.pass_obj
def command(
    database_url: str | None,
    paths: tuple[Path, ...],
    collection: str,
    language: str,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    root: Path | None,
    embed: bool,
    prune: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Bring in what is new: files that changed, messages that came.

    To be run again and again over folders and the exports of Slack, Linear and mail, whole ones or
    those of the days since. A conversation is one document over all exports: the messages that it
    lacks are appended, and nothing of it is deleted or embedded twice; messages that were changed
    or deleted at their source stay. Files whose document has their time are not read.
    """
    request = IngestRequest(
        paths,
        collection,
        language=language,
        root=root,
        include=include,
        exclude=exclude,
        embed=embed,
        prune=prune,
        dry_run=dry_run,
        resume=True,
        sync=True,
    )
    run_request(database_url, request, as_json)
