"""`pgblend sync`: what is new in files and exports of messages."""

from pathlib import Path

import click

from pgblend.cli.commands.ingest import run_request, source_options
from pgblend.cli.documents.ingestion import IngestRequest
from pgblend.cli.documents.parse_settings import Limits


@click.command()
@source_options
@click.pass_obj
def command(
    database_url: str | None,
    paths: tuple[Path, ...],
    collection: str,
    language: str,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    root: Path | None,
    follow_links: bool,
    readers: tuple[str, ...],
    readers_from: str | None,
    time_budget: float | None,
    embed: bool,
    prune: bool,
    dry_run: bool,
    progress_every: float,
    as_json: bool,
) -> None:
    """Bring in what is new: files that changed, messages that came.

    To be run again and again over folders and the exports of Slack, Linear and mail, whole ones or
    those of the days since. A conversation is one document over all exports: the messages that it
    lacks are appended, and nothing of it is deleted or embedded twice; messages that were changed
    or deleted at their source stay. The view blend.conversations
    tells up to when each conversation is in: what to export since.

    \b
    Examples:
      pgblend sync slack-export.zip --collection chat
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
        sync=True,
        limits=Limits(run_seconds=time_budget),
        follow_links=follow_links,
        readers=readers,
        readers_from=readers_from,
    )
    run_request(database_url, request, progress_every, as_json)
