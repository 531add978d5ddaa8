"""`pgblend reindex`: the lexical index: its state, sealing, making it anew, save and load."""

from itertools import count
from pathlib import Path
from typing import Any

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import Connection, fetch_rows, fetch_value, open_database
from pgblend.cli.base.errors import UserError

_COLUMNS = (
    "collection_name",
    "status",
    "chunks",
    "sealed",
    "pending",
    "dead",
    "segments",
    "bytes",
    "sealed_at",
    "last_error",
)
_STATUS = "SELECT * FROM blend.lexical_status(%(collection)s::text)"
_SEAL = "SELECT blend.lexical_seal(%(collection)s::text)"
_RENEW = "SELECT pgblend._renew_lexemes(%(collection)s::text, %(block)s::bigint)"
_REBUILD = "SELECT blend.lexical_rebuild(%(collection)s::text)"


@click.command()
@click.option("-c", "--collection", metavar="NAME", help="This collection only.")
@click.option("--rebuild", is_flag=True, help="Make words and index anew from the texts.")
@click.option("--status", is_flag=True, help="Change nothing, only show the index.")
@click.option(
    "--save",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the collection's index to a file.",
)
@click.option(
    "--load",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Put the index of a file in place of the collection's.",
)
@output.output_options("json", "csv", "md")
@click.pass_obj
def command(
    database_url: str | None,
    collection: str | None,
    rebuild: bool,
    status: bool,
    save: Path | None,
    load: Path | None,
    output_format: str,
) -> None:
    """Bring the lexical index up to date, and show it.

    What was ingested is found at once; sealing makes it faster, and happens by itself. --rebuild
    makes words and index anew from the stored texts, and embeds nothing: stopped halfway, it is run
    again. --save and --load keep an index in a file. Searches go on meanwhile, and a failure leaves
    the index as it was.

    \b
    Examples:
      pgblend reindex --status
      pgblend reindex -c docs --rebuild
    """
    if rebuild + status + (save is not None) + (load is not None) > 1:
        raise click.UsageError("--rebuild, --status, --save and --load exclude each other")
    if (save or load) and collection is None:
        raise click.UsageError("--save and --load need --collection")
    with open_database(database_url) as connection:
        failed = False
        if collection is not None and (save or load):
            _exchange(connection, collection, save, load)
        elif not status:
            failed = _index(connection, _names(connection, collection), rebuild)
        rows = fetch_rows(connection, _STATUS, {"collection": collection})
    output.echo_list("collections", rows, _COLUMNS, output_format)
    if failed:
        raise UserError("the index was left as it was", hint="see last_error")


def _names(connection: Connection, collection: str | None) -> list[str]:
    """Return the collections that are asked for."""
    if collection is not None:
        return [collection]
    rows = fetch_rows(connection, "SELECT name FROM blend.collections ORDER BY name")
    return [row["name"] for row in rows]


def _index(connection: Connection, names: list[str], rebuild: bool) -> bool:
    """Seal or rebuild collections, each in its own transactions; tell whether one failed."""
    done: list[Any] = [
        _rebuild(connection, name)
        if rebuild
        else fetch_value(connection, _SEAL, {"collection": name})
        for name in names
    ]
    return None in done


def _rebuild(connection: Connection, name: str) -> Any:
    """Make a collection's words and index anew; return how many chunks it holds.

    Each block of words is a transaction, the last one with the index. Until then the newest
    passages have the words from before, by which doctor tells that it was not finished.
    """
    for block in count():
        with connection.transaction():
            if not fetch_value(connection, _RENEW, {"collection": name, "block": block}):
                return fetch_value(connection, _REBUILD, {"collection": name})
    return None


def _exchange(
    connection: Connection, collection: str, save: Path | None, load: Path | None
) -> None:
    """Save the index, what is pending sealed first, or load it."""
    from pgblend.cli.operate import lexical_file

    if save is not None:
        fetch_value(connection, _SEAL, {"collection": collection})
        lexical_file.save(connection, collection, save)
        click.echo(f"saved the lexical index of {collection} in {save}", err=True)
    elif load is not None:
        count = lexical_file.load(connection, collection, load)
        click.echo(f"loaded the lexical index of {collection}: {count:,} chunks", err=True)
