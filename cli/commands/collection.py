"""`pgblend collection`: list, add, remove and share collections."""

import json
from typing import Any

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import fetch_rows, open_database
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.parameters import merge_pairs, pairs_option
from pgblend.cli.base.places import change

_COLUMNS = (
    "name",
    "text_search_config",
    "documents",
    "chunks",
    "chunks_without_vector",
    "settings",
    "created_at",
)


@click.group()
def command() -> None:
    """List, add, remove and share collections.

    \b
    Examples:
      pgblend collection add docs
      pgblend collection grant docs alice
    """


@command.command("list")
@output.output_options("json", "csv", "md")
@click.pass_obj
def list_collections(database_url: str | None, output_format: str) -> None:
    """List the collections that you may read.

    \b
    Examples:
      pgblend collection list
    """
    with open_database(database_url) as connection:
        rows = fetch_rows(connection, "SELECT * FROM blend.collections ORDER BY name")
    output.echo_list("collections", rows, _COLUMNS, output_format)


@command.command()
@click.argument("name")
@click.option(
    "--text-config",
    default="english",
    show_default=True,
    metavar="NAME",
    help="Text search configuration of its documents (pg_ts_config).",
)
@pairs_option("--setting", "Collection setting (repeatable), such as chunk_size_tokens=200.")
@click.option(
    "--shards",
    metavar="NAME[,NAME…]",
    help="The coordinator's shards that have its documents, for good. Default: all.",
)
@click.pass_obj
def add(
    database_url: str | None,
    name: str,
    text_config: str,
    setting: tuple[tuple[str, Any], ...],
    shards: str | None,
) -> None:
    """Make a collection.

    \b
    Examples:
      pgblend collection add docs --setting chunk_size_tokens=200
      pgblend collection add tenant_a --shards b1
    """
    given = {
        "name": name,
        "config": text_config,
        "settings": json.dumps(merge_pairs(setting)),
        "shards": None if shards is None else [one.strip() for one in shards.split(",")],
    }
    change(
        database_url,
        "SELECT blend.add_collection("
        "%(name)s::text, %(config)s::text, %(settings)s::jsonb, %(shards)s::text[])",
        given,
    )
    click.echo(f"added collection {name}", err=True)


@command.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def remove(database_url: str | None, name: str, yes: bool) -> None:
    """Delete a collection with all its documents.

    \b
    Examples:
      pgblend collection remove docs --yes
    """
    if not yes:
        click.confirm(f"Delete collection {name} with all its documents?", abort=True, err=True)
    sql = "SELECT blend.remove_collection(%(name)s::text)"
    if not change(database_url, sql, {"name": name}):
        raise UserError(f"there is no collection {name!r}", hint="run: pgblend collection list")
    click.echo(f"removed collection {name}", err=True)


_privilege_option = click.option(
    "--privilege",
    type=click.Choice(["read", "write"]),
    default="read",
    show_default=True,
    help="What the role may do; write includes read.",
)


@command.command()
@click.argument("name")
@click.argument("role")
@_privilege_option
@click.pass_obj
def grant(database_url: str | None, name: str, role: str, privilege: str) -> None:
    """Let a database role read or write a collection.

    \b
    Examples:
      pgblend collection grant docs alice --privilege write
    """
    change(
        database_url,
        "SELECT blend.grant_collection(%(name)s::text, %(role)s::name, %(privilege)s::text)",
        {"name": name, "role": role, "privilege": privilege},
    )
    click.echo(f"{role} may {privilege} {name}", err=True)


@command.command()
@click.argument("name")
@click.argument("role")
@_privilege_option
@click.pass_obj
def revoke(database_url: str | None, name: str, role: str, privilege: str) -> None:
    """Take a grant on a collection back; taking read takes write as well.

    \b
    Examples:
      pgblend collection revoke docs alice
    """
    was_granted = change(
        database_url,
        "SELECT blend.revoke_collection(%(name)s::text, %(role)s::name, %(privilege)s::text)",
        {"name": name, "role": role, "privilege": privilege},
    )
    outcome = "may no longer" if was_granted else "had no grant to"
    click.echo(f"{role} {outcome} {privilege} {name}", err=True)
