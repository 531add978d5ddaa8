"""`pgblend profile`: named ranking recipes."""

import json
from typing import Any

import click

from pgblend.cli.base import output
from pgblend.cli.base.database import Connection, fetch_rows, fetch_value, open_database
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.parameters import merge_pairs, pairs_option, shorten
from pgblend.cli.base.places import change, changing_front

_COLUMNS = ("name", "built_in", "description")
_LIST = "SELECT * FROM blend.profiles ORDER BY name"
_FIND = "SELECT * FROM blend.profiles WHERE name = %(name)s::text"
_SET = "SELECT blend.set_profile(%(name)s::text, %(description)s::text, %(settings)s::jsonb)"
_DROP = "SELECT blend.drop_profile(%(name)s::text)"


@click.group()
def command() -> None:
    """List, show, make and drop profiles: named ranking recipes.

    \b
    Examples:
      pgblend profile list
      pgblend profile set mine --from balanced --setting 'weights={"vector": 3}'
    """


@command.command("list")
@output.output_options("json", "csv", "md")
@click.pass_obj
def list_profiles(database_url: str | None, output_format: str) -> None:
    """List the profiles.

    \b
    Examples:
      pgblend profile list
    """
    with open_database(database_url) as connection:
        rows = fetch_rows(connection, _LIST)
    output.echo_list("profiles", rows, _COLUMNS, output_format)


@command.command()
@click.argument("name")
@output.output_options("json")
@click.pass_obj
def show(database_url: str | None, name: str, output_format: str) -> None:
    """Show a profile: its text and its settings.

    \b
    Examples:
      pgblend profile show balanced
    """
    with open_database(database_url) as connection:
        row = _find(connection, name)
    if output_format == "json":
        output.echo_json(row)
        return
    click.echo(f"{row['name']}: {output.one_line(row['description'])}".rstrip(": "))
    for key, value in sorted(row["settings"].items()):
        click.echo(f"  {key} = {json.dumps(value, ensure_ascii=False)}")


@command.command("set")
@click.argument("name")
@click.option("--description", help="What it does; without it the text that there is stays.")
@click.option("--from", "base", metavar="PROFILE", help="Begin with this profile's settings.")
@pairs_option(
    "--setting", "Search setting (repeatable), such as rrf_k=20; null leaves one of --from out."
)
@click.pass_obj
def set_profile(
    database_url: str | None,
    name: str,
    description: str | None,
    base: str | None,
    setting: tuple[tuple[str, Any], ...],
) -> None:
    """Make a profile, or replace its settings, live at once.

    \b
    Examples:
      pgblend profile set mine --from balanced --setting rrf_k=20
    """
    with changing_front(database_url) as connection:
        settings = _find(connection, base)["settings"] if base else {}
        settings |= merge_pairs(setting)
        settings = {key: value for key, value in settings.items() if value is not None}
        parameters = {
            "name": name,
            "description": description,
            "settings": json.dumps(settings),
        }
        fetch_value(connection, _SET, parameters)
    noun = "setting" if len(settings) == 1 else "settings"
    click.echo(f"profile {name} has {len(settings)} {noun}", err=True)


@command.command()
@click.argument("name")
@click.pass_obj
def drop(database_url: str | None, name: str) -> None:
    """Delete a profile of your own.

    \b
    Examples:
      pgblend profile drop mine
    """
    if not change(database_url, _DROP, {"name": name}):
        raise UserError(f"there is no profile {shorten(name)}", hint="run: pgblend profile list")
    click.echo(f"dropped profile {name}", err=True)


def _find(connection: Connection, name: str) -> dict[str, Any]:
    """Return the profile's row, or say that there is none."""
    rows = fetch_rows(connection, _FIND, {"name": name})
    if not rows:
        raise UserError(f"there is no profile {shorten(name)}", hint="run: pgblend profile list")
    return rows[0]
