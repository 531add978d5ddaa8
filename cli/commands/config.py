"""`pgblend config`: settings that live in the database and hold at once."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from pgblend.cli import output
from pgblend.cli.database import call, fetch_rows, fetch_value, open_database
from pgblend.cli.parameters import json_or_text, shorten
from pgblend.cli.shards.front import change, changing_front

_COLUMNS = ("name", "value", "source", "scope", "description")
_HISTORY_COLUMNS = (
    "changed_at",
    "changed_by",
    "scope",
    "subject",
    "name",
    "old_value",
    "new_value",
)
_LIST = "SELECT * FROM blend.settings ORDER BY name"
_GET = "SELECT blend.get_setting(%(name)s::text)"
_SET = "SELECT blend.set_settings(%(settings)s::jsonb)"
_SET_PROFILE = (
    "SELECT blend.set_profile(%(name)s::text, %(description)s::text, %(settings)s::jsonb)"
)
_SET_COLLECTION = "SELECT blend.set_collection_settings(%(collection)s::text, %(settings)s::jsonb)"
_HISTORY = """
    SELECT * FROM (
        SELECT * FROM pgblend_data.setting_history AS h
        WHERE (%(name)s::text IS NULL OR h.name = %(name)s::text)
            AND (%(scope)s::text IS NULL OR h.scope = %(scope)s::text)
            AND (%(subject)s::text IS NULL OR h.subject = %(subject)s::text)
        ORDER BY h.id DESC LIMIT %(limit)s::bigint
    ) AS h ORDER BY h.id
"""
# Addresses of this machine, which are wrong on every other.
_OF_MACHINE = ["gateway_url", "log_address"]
_EXPORT = """
    SELECT json_build_object(
        'settings', (
            SELECT coalesce(json_object_agg(s.name, s.value ORDER BY s.name), '{}')
            FROM pgblend_data.setting AS s WHERE s.name <> ALL(%(of_machine)s::text[])
        ),
        'profiles', (
            SELECT coalesce(json_object_agg(p.name, json_build_object(
                'description', p.description, 'settings', p.settings) ORDER BY p.name), '{}')
            FROM pgblend_data.profile AS p WHERE NOT p.built_in
        ),
        'collections', (
            SELECT coalesce(json_object_agg(c.name, c.settings ORDER BY c.name), '{}')
            FROM pgblend_data.collection AS c WHERE c.settings <> '{}'
        )
    )
"""


@click.group()
def command() -> None:
    """Show and change settings in the database.

    \b
    Examples:
      pgblend config list
      pgblend config set candidate_depth 200
    """


def _collection_option(function: Callable[..., None]) -> Callable[..., None]:
    """Add the collection whose own setting is meant."""
    return click.option(
        "-c",
        "--collection",
        metavar="NAME",
        help="For this collection only, not for the whole database.",
    )(function)


@command.command("list")
@output.output_options("json", "csv", "md")
@click.pass_obj
def list_settings(database_url: str | None, output_format: str) -> None:
    """List every setting with its value and meaning.

    \b
    Examples:
      pgblend config list --md
    """
    with open_database(database_url) as connection:
        rows = fetch_rows(connection, _LIST)
    output.echo_list("settings", rows, _COLUMNS, output_format)


@command.command()
@click.argument("name")
@output.output_options("json")
@click.pass_obj
def get(database_url: str | None, name: str, output_format: str) -> None:
    """Print the value of a setting; nothing where it has none.

    \b
    Examples:
      pgblend config get candidate_depth
    """
    value = call(database_url, _GET, {"name": name})
    if output_format == "json":
        output.echo_json({"name": name, "value": value})
    else:
        click.echo(output.cell_text(value))


@command.command("set")
@click.argument("name")
@click.argument("value")
@_collection_option
@click.pass_obj
def set_value(database_url: str | None, name: str, value: str, collection: str | None) -> None:
    """Set a value, live at once.

    VALUE is JSON; text that is not JSON stands for itself, so strings need no quotes.

    \b
    Examples:
      pgblend config set weights '{"vector": 2}'
      pgblend config set chunk_size_tokens 200 -c docs
    """
    try:
        parsed = json_or_text(value)
    except ValueError as error:
        raise click.BadParameter(f"{shorten(value)} is not JSON ({error})") from error
    _store(database_url, {name: parsed}, collection)
    click.echo(f"{name} is now {shorten(value)}{_of(collection)}", err=True)


@command.command()
@click.argument("name")
@_collection_option
@click.pass_obj
def reset(database_url: str | None, name: str, collection: str | None) -> None:
    """Put a setting back to its default, or a collection's to the database's.

    \b
    Examples:
      pgblend config reset candidate_depth
    """
    _store(database_url, {name: None}, collection)
    click.echo(f"{name} is back to its default{_of(collection)}", err=True)


@command.command()
@click.argument("name", required=False)
@_collection_option
@click.option("--profile", metavar="NAME", help="Of this profile only.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, 100_000),
    default=50,
    show_default=True,
    help="Most changes to list; the latest count.",
)
@output.output_options("json", "csv", "md")
@click.pass_obj
def history(
    database_url: str | None,
    name: str | None,
    collection: str | None,
    profile: str | None,
    limit: int,
    output_format: str,
) -> None:
    """List who changed what and when, latest last.

    Of the database, collections and profiles; NAME restricts it to one setting.

    \b
    Examples:
      pgblend config history candidate_depth
    """
    if collection and profile:
        raise click.UsageError("--collection and --profile exclude each other")
    parameters = {
        "name": name,
        "scope": "collection" if collection else "profile" if profile else None,
        "subject": collection or profile,
        "limit": limit,
    }
    with open_database(database_url) as connection:
        rows = fetch_rows(connection, _HISTORY, parameters)
    rows = [{column: row[column] for column in _HISTORY_COLUMNS} for row in rows]
    output.echo_list("changes", rows, _HISTORY_COLUMNS, output_format)


@command.command("export")
@output.output_options("json")
@click.pass_obj
def export_settings(database_url: str | None, output_format: str) -> None:
    """Print what was set as YAML: settings, profiles of your own, collections' settings.

    The addresses gateway_url and log_address are left out: they are those of this machine.

    \b
    Examples:
      pgblend config export > pgblend.yaml
    """
    from pgblend.cli.settings_file import write_settings_file

    sections = call(database_url, _EXPORT, {"of_machine": _OF_MACHINE})
    if output_format == "json":
        output.echo_json(sections)
    else:
        click.echo(write_settings_file(sections), nl=False)


@command.command("import")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option(
    "--env", is_flag=True, help="Read variables such as PGBLEND_SETTING_RRF_K=20 instead."
)
@click.option("--dry-run", is_flag=True, help="Check everything, and change nothing.")
@click.pass_obj
def import_settings(database_url: str | None, file: Path | None, env: bool, dry_run: bool) -> None:
    """Set what FILE (.yaml, .toml or .json) says, all of it or nothing.

    FILE has what `config export` prints. What it does not name stays; null puts a default back.

    \b
    Examples:
      pgblend config import pgblend.yaml --dry-run
      PGBLEND_SETTING_RRF_K=20 pgblend config import --env
    """
    from pgblend.cli.settings_file import read_settings_environment, read_settings_file

    if (file is None) != env:
        raise click.UsageError("give a FILE or --env")
    sections = read_settings_environment(os.environ) if file is None else read_settings_file(file)
    with (
        changing_front(database_url) as connection,
        connection.transaction(force_rollback=dry_run),
    ):
        for name, profile in sections["profiles"].items():  # first: a setting may name one
            given = profile.get("settings")
            values = {"name": name, "description": profile.get("description")}
            values["settings"] = json.dumps({} if given is None else given)
            fetch_value(connection, _SET_PROFILE, values)
        fetch_value(connection, _SET, {"settings": json.dumps(sections["settings"])})
        for name, settings in sections["collections"].items():
            values = {"collection": name, "settings": json.dumps(settings)}
            fetch_value(connection, _SET_COLLECTION, values)
    counts = ", ".join(f"{len(values)} {section}" for section, values in sections.items())
    click.echo(f"{'would set' if dry_run else 'set'} {counts}", err=True)


def _store(database_url: str | None, settings: dict[str, Any], collection: str | None) -> None:
    """Set values for the database or for one collection."""
    parameters = {"settings": json.dumps(settings), "collection": collection}
    change(database_url, _SET if collection is None else _SET_COLLECTION, parameters)


def _of(collection: str | None) -> str:
    """Name the collection that a message is about."""
    return "" if collection is None else f" in collection {collection}"
