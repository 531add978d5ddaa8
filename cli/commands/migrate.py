"""`pgblend migrate`: create, upgrade or remove pgblend's database objects."""

from pathlib import Path

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import resolve_database_url


@click.group()
def command() -> None:
    """Create, upgrade or remove pgblend's database objects.

    \b
    Examples:
      pgblend migrate status
      pgblend migrate up
    """


@command.command()
@click.argument("revision", default="head")
@click.option(
    "--managed",
    is_flag=True,
    help="For a server without PL/Python, or an owner who is no superuser: the program runs in "
    "clients. It is taken out of a database that has it; one without it needs the option no more.",
)
@click.pass_obj
def up(database_url: str | None, revision: str, managed: bool) -> None:
    """Upgrade the database, to the newest revision unless one is named; its shards before it.

    \b
    Examples:
      pgblend migrate up
      pgblend migrate up --managed
      pgblend --database-url postgresql://me@host/db migrate up
    """
    from pgblend.cli.shards.members import places_before
    from pgblend.migrations import runner

    url = resolve_database_url(database_url)
    for place in places_before(url):
        runner.upgrade(place.url, revision)
        click.echo(f"shard {place.name} is upgraded", err=True)
    runner.upgrade(url, revision, managed=managed)
    click.echo(f"the database is at revision {runner.status(url)['current']}", err=True)


@command.command()
@click.argument("revision")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def down(database_url: str | None, revision: str, yes: bool) -> None:
    """Undo revisions down to the one named; `base` removes everything, documents included.

    \b
    Examples:
      pgblend migrate down base --yes
    """
    from pgblend.migrations import runner

    url = resolve_database_url(database_url)
    if not yes:
        click.confirm(
            f"Undo all revisions after {revision}, with their data?", abort=True, err=True
        )
    for line in runner.downgrade(url, revision):
        click.echo(line, err=True)
    click.echo(f"the database is at revision {runner.status(url)['current'] or 'base'}", err=True)


@command.command()
@output.output_options("json")
@click.pass_obj
def status(database_url: str | None, output_format: str) -> None:
    """Show the database's revision and what is still to be applied.

    \b
    Examples:
      pgblend migrate status --json
    """
    from pgblend.migrations import runner

    found = runner.status(resolve_database_url(database_url))
    if output_format == "json":
        output.echo_json(found)
        return
    click.echo(f"current: {found['current'] or 'base'}")
    click.echo(f"newest: {found['head']}")
    click.echo(f"pending: {', '.join(found['pending']) or 'none'}")
    click.echo(f"routines changed by hand: {'yes' if found['drift'] else 'no'}")


@command.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.pass_obj
def dump(database_url: str | None, folder: Path) -> None:
    """Write the documents of a database, at any revision, as JSON lines; print the paths.

    A file for each collection, which `pgblend ingest FILE --collection NAME` brings into a new
    database: text, titles, keys, metadata. The database is only read. Where the files that it was
    filled from are there, ingest these: pages and lines are in them alone.

    \b
    Examples:
      pgblend migrate dump documents
      pgblend --database-url postgresql://me@host/old migrate dump documents
    """
    from pgblend.migrations.dump import dump as dump_documents

    for path, count in dump_documents(resolve_database_url(database_url), folder).items():
        click.echo(path)
        click.echo(f"{count:,} documents", err=True)


@command.command()
@click.pass_obj
def apply(database_url: str | None) -> None:
    """Replace the routines by those of the working tree, while developing.

    \b
    Examples:
      pgblend migrate apply
    """
    from pgblend.migrations import runner

    runner.apply(resolve_database_url(database_url))
    click.echo("applied the routines of sql/", err=True)


@command.command()
def freeze() -> None:
    """Freeze the newest revision for a release: its routines, as a snapshot, never change again.

    \b
    Examples:
      pgblend migrate freeze
    """
    from pgblend.migrations import runner

    click.echo(runner.freeze())


@command.command()
@click.argument("message")
def revise(message: str) -> None:
    """Make a new revision after a released one, and print its path.

    \b
    Examples:
      pgblend migrate revise 'add shards'
    """
    from pgblend.migrations import runner

    click.echo(runner.revise(message))


@command.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def extension(folder: Path) -> None:
    """Write pgblend as an extension of PostgreSQL, for CREATE EXTENSION, and print the paths.

    `make -C FOLDER install` puts it into the server's folders; docs/operate.md says the rest.

    \b
    Examples:
      pgblend migrate extension pgblend-extension
    """
    from pgblend.migrations.as_extension.build import build

    for path in build(folder):
        click.echo(path)
