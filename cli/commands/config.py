"""`pgblend config`: settings that live in the database and hold at once."""

import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import yaml

from pgblend.cli.base import output
from pgblend.cli.base.database import call, fetch_rows, fetch_value, open_database
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.parameters import json_or_text, shorten
from pgblend.cli.base.places import change, changing_front

# Settings as a file or as environment variables: what `pgblend config import` reads.
#
# settings: # of the whole database rrf_k: 20 profiles: mine: {description: words first, settings:
# {weights: {lexical: 2}}} collections: # those that there are handbook: {language: german}

ENVIRONMENT_PREFIX = "PGBLEND_SETTING_"
_SECTIONS = ("settings", "profiles", "collections")
_PROFILE_KEYS = ("description", "settings")


class _Loader(yaml.SafeLoader):
    """YAML 1.2's idea of plain words: `off` and 2026-01-01 are text; a key given twice is an error.

    By YAML 1.1, `fuzzy: off` would be false.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Refuse what YAML's reader would leave out without a word."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if not isinstance(key, str) or keys.count(key) > 1:
                problem = "is given twice" if isinstance(key, str) else "is no text"
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} {problem}", node.start_mark
                )
        return super().construct_mapping(node, deep)


_PLAIN_WORDS = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _PLAIN_WORDS]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), ["t", "f"])


def read_settings_file(path: Path) -> dict[str, Any]:
    """Read a .toml, .yaml or .json file into the three sections, each a dictionary."""
    try:
        text = path.read_text(encoding="utf-8")
        found = tomllib.loads(text) if path.suffix == ".toml" else yaml.load(text, _Loader)
        json.dumps(found, allow_nan=False)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError, tomllib.TOMLDecodeError) as error:
        raise UserError(
            f"{path} is no {'TOML' if path.suffix == '.toml' else 'YAML or JSON'}: {error}",
            hint="pgblend config export shows what such a file looks like",
        ) from error
    except (TypeError, ValueError, RecursionError) as error:
        raise UserError(f"{path} holds a value that JSON cannot: {error}") from error
    return _checked(found, str(path))


def read_settings_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Read PGBLEND_SETTING_RRF_K=20 and its like; values are JSON, or text for itself."""
    settings = {}
    for name, value in environment.items():
        if name.startswith(ENVIRONMENT_PREFIX):
            try:
                settings[name.removeprefix(ENVIRONMENT_PREFIX).lower()] = json_or_text(value)
            except ValueError as error:
                raise UserError(f"{name}: {shorten(value)} is not JSON ({error})") from error
    return {"settings": settings, "profiles": {}, "collections": {}}


def write_settings_file(sections: Mapping[str, Any]) -> str:
    """Return the sections as YAML that read_settings_file reads."""
    text: str = yaml.safe_dump(dict(sections), sort_keys=False, allow_unicode=True)
    return text


def _checked(found: Any, path: str) -> dict[str, Any]:
    """Return the sections, an empty one where the file has none; the server checks the values."""
    given = _mapping(found, path, _SECTIONS)
    sections = {name: _mapping(given.get(name), f"{path}: {name}") for name in _SECTIONS}
    for section in ("profiles", "collections"):
        for name, value in sections[section].items():
            known = _PROFILE_KEYS if section == "profiles" else None
            place = f"{path}: {section}.{name}"
            sections[section][name] = given = _mapping(value, place, known)
            if known and not isinstance(given.get("description", ""), str):
                raise UserError(f"{place}.description is {given['description']!r}: expected text")
    return sections


def _mapping(value: Any, place: str, known: tuple[str, ...] | None = None) -> dict[str, Any]:
    """Return a mapping, an empty one for nothing, or say what stands there instead."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        expected = f"keys {', '.join(known)}" if known else "names with their values"
        raise UserError(f"{place} is {shorten(json.dumps(value))}: expected {expected}")
    for key in value:
        if known and key not in known:
            raise UserError(f"{place} has no key {shorten(key)}: expected {', '.join(known)}")
    return value


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
            FROM blend.collections AS c WHERE c.settings <> '{}'
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
    now = shorten(parsed) if isinstance(parsed, str) else output.one_line(value)
    click.echo(f"{name} is now {now}{_of(collection)}", err=True)


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
