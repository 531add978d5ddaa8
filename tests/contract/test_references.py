"""docs/reference is what commands, settings, functions and views say (`make docs` writes it)."""

import re
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from pgblend.cli.main import COMMANDS, cli
from pgblend.cli.operate.reference import commands_as_markdown
from pgblend.plpy.base import catalog
from support.setting_shapes import shape

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
MADE = "Made by `make docs` from {}; a test holds it to that.\n\n"

_SETTINGS = """
    SELECT name, scope, value_type, default_value::text, minimum, maximum, allowed_values,
        description
    FROM setting_catalog() ORDER BY scope = 'server', scope = 'collection', name
"""
_FUNCTIONS = """
    SELECT proname, proname || '(' || pg_get_function_arguments(oid) || ')',
        pg_get_function_result(oid), obj_description(oid, 'pg_proc')
    FROM pg_proc WHERE pronamespace = 'blend'::regnamespace ORDER BY 1, 2
"""
_COLUMNS = """
    SELECT c.relname,
        coalesce(obj_description(c.oid, 'pg_class'), obj_description(c.reltype, 'pg_type')),
        a.attname, format_type(a.atttypid, a.atttypmod), col_description(c.oid, a.attnum)
    FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0
    WHERE c.relnamespace = 'blend'::regnamespace ORDER BY c.relkind, c.relname, a.attnum
"""
_HOW_TO_READ = """\
A setting whose type bears its own name is an object or an array of JSON; its shape stands below it,
where a key with `?` may be left out.
"""
SHAPES = {one.name: shape(one.rule) for one in catalog.CATALOG.values()}
_SCOPES = {
    "search": "Options of a search; also of a profile, a collection or the database",
    "collection": "Of a collection, or of the database for all",
    "server": "Of the database",
}


@pytest.fixture
def hold(pytestconfig: pytest.Config):
    """Compare a text with a page of the reference; --update-golden writes it instead."""

    def compare(name: str, text: str) -> None:
        page = REFERENCE / name
        if pytestconfig.getoption("--update-golden"):
            page.write_text(text, encoding="utf-8")
        assert text == page.read_text(encoding="utf-8"), "if meant: make docs"

    return compare


def test_commands(hold) -> None:
    made = MADE.format("the commands' own help")
    hold("commands.md", f"# Commands\n\n{made}{commands_as_markdown()}\n")


def test_a_command_that_has_run_says_the_same() -> None:
    before = commands_as_markdown()
    for name in COMMANDS:
        CliRunner().invoke(cli, [name, "--help"])
    assert commands_as_markdown() == before


def test_settings(hold, catalogue: psycopg.Connection) -> None:
    parts = ["# Settings\n", MADE.format("`setting_catalog()`").rstrip() + "\n", _HOW_TO_READ]
    scope = None
    for name, its_scope, kind, default, low, high, allowed, text in catalogue.execute(_SETTINGS):
        if its_scope != scope:
            parts.append(f"## {_SCOPES[its_scope]}\n")
            scope = its_scope
        limits = f", from {low:g} to {high:g}" if low is not None and kind != "object" else ""
        values = f", one of `{'`, `'.join(allowed)}`" if allowed and kind == "text" else ""
        default = f", default `{default}`" if default != "null" else ""
        parts.append(f"### `{name}`\n\n{kind}{values}{limits}{default}. {_prose(text)}\n")
        if kind == name:
            parts.append(f"`{SHAPES[name]}`\n")
    hold("settings.md", "\n".join(parts))


def test_functions(hold, catalogue: psycopg.Connection) -> None:
    catalogue.execute("SET search_path = blend, public")
    parts = ["# Functions\n", MADE.format("the functions' comments").rstrip() + "\n"]
    name = None
    for its_name, signature, result, comment in catalogue.execute(_FUNCTIONS):
        if its_name != name:
            parts.append(f"## {its_name}\n")
            name = its_name
        parts.append(f"```\n{_broken(signature)}\n→ {_broken(result)}\n```\n\n{_prose(comment)}\n")
    hold("functions.md", "\n".join(parts))


def test_views(hold, catalogue: psycopg.Connection) -> None:
    parts = ["# Views\n", MADE.format("the views' comments").rstrip() + "\n"]
    name = None
    for its_name, comment, column, kind, text in catalogue.execute(_COLUMNS):
        if its_name != name:
            parts.append(
                f"\n## {its_name}\n\n{_prose(comment)}\n\n| column | type | |\n|---|---|---|"
            )
            name = its_name
        parts.append(f"| `{column}` | {kind} | {_prose(text or '').replace('|', chr(92) + '|')} |")
    hold("views.md", "\n".join(parts) + "\n")


def _prose(text: str) -> str:
    """Return a comment as one paragraph that Markdown shows as it stands."""
    return re.sub(r"([<*])", r"\\\1", " ".join(text.split()))


def _broken(text: str) -> str:
    """Return a signature with an argument a line where it is long."""
    return text if len(text) < 90 else text.replace(", ", ",\n    ")
