"""`pgblend config`: settings that live in the database and hold at once."""

import json

import click

from pgblend.cli import output
from pgblend.cli.database import call, fetch_rows, open_database
from pgblend.cli.parameters import json_or_text, shorten

_COLUMNS = ("name", "value", "source", "scope", "description")
_LIST = "SELECT * FROM pgblend.settings ORDER BY name"
_GET = "SELECT pgblend.get_setting(%(name)s::text)"
_SET = "SELECT pgblend.set_setting(%(name)s::text, %(value)s::jsonb)"
_RESET = "SELECT pgblend.reset_setting(%(name)s::text)"


@click.group()
def command() -> None:
    """Show and change settings in the database."""


@command.command("list")
@output.output_options("json", "csv", "md")
@click.pass_obj
def list_settings(database_url: str | None, output_format: str) -> None:
    """List every setting with its value and meaning."""
    with open_database(database_url) as connection:
        rows = fetch_rows(connection, _LIST)
    output.echo_list("settings", rows, _COLUMNS, output_format)


@command.command()
@click.argument("name")
@output.output_options("json")
@click.pass_obj
def get(database_url: str | None, name: str, output_format: str) -> None:
    """Print the value of a setting; nothing where it has none."""
    value = call(database_url, _GET, {"name": name})
    if output_format == "json":
        output.echo_json({"name": name, "value": value})
    else:
        click.echo(output.cell_text(value))


@command.command("set")
@click.argument("name")
@click.argument("value")
@click.pass_obj
def set_value(database_url: str | None, name: str, value: str) -> None:
    """Set a value, live at once.

    VALUE is JSON; text that is not JSON stands for itself, so strings need no quotes.
    """
    try:
        parsed = json_or_text(value)
    except ValueError as error:
        raise click.BadParameter(f"{shorten(value)} is not JSON ({error})") from error
    call(database_url, _SET, {"name": name, "value": json.dumps(parsed)})
    click.echo(f"{name} is now {shorten(value)}", err=True)


@command.command()
@click.argument("name")
@click.pass_obj
def reset(database_url: str | None, name: str) -> None:
    """Put a setting back to its default."""
    call(database_url, _RESET, {"name": name})
    click.echo(f"{name} is back to its default", err=True)
