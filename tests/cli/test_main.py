"""The command group: help for everything, nothing heavy imported, exit codes."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from importlib.resources import files

import click
import psycopg
import pytest
from click.testing import CliRunner

from pgblend.cli.main import COMMANDS, cli
from support.command_lines import unknown_parts

MAIN = (sys.executable, "-m", "pgblend.cli.main")
HEAVY = {
    "litellm",
    "torch",
    "onnxruntime",
    "alembic",
    "sqlalchemy",
    "tiktoken",
    "sentence_transformers",
}


def _commands(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    yield " ".join(path), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from _commands(child, (*path, name))


def _run(*arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
    start = (sys.executable, "-c", code) if code else MAIN
    return subprocess.run([*start, *arguments], capture_output=True, text=True, timeout=60)


def test_the_table_of_commands_names_every_module() -> None:
    folder = files("pgblend.cli.commands")
    names = [entry.name for entry in folder.iterdir() if not entry.name.startswith("__")]
    assert {name.removesuffix(".py") for name in names} == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_short_help_in_the_table_is_the_commands_own(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.get_short_help_str(limit=100) == COMMANDS[name]


def test_every_command_and_every_option_has_help() -> None:
    found = list(_commands(cli))
    assert len(found) > len(COMMANDS)
    for path, command in found:
        assert command.help, path
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{path} {parameter.opts}"


@pytest.mark.parametrize(("path", "command"), list(_commands(cli))[1:], ids=str)
def test_every_help_text_ends_with_examples_of_its_own(path: str, command: click.Command) -> None:
    _, found, examples = str(command.help).partition("Examples:\n")
    assert found
    lines = examples.strip().splitlines()
    for line in lines:
        shown = line.strip().removeprefix("PGBLEND_SETTING_RRF_K=20 ").partition(" > ")[0]
        assert shown.startswith("pgblend ")
        assert not unknown_parts(shown), line
        assert path.split()[0] in shown.split()
    assert lines


GROUPS = {path: command for path, command in _commands(cli) if isinstance(command, click.Group)}


@pytest.mark.parametrize("path", GROUPS, ids=lambda path: path or "pgblend")
def test_a_wrong_command_names_the_nearest(path: str) -> None:
    name = GROUPS[path].list_commands(click.Context(GROUPS[path]))[-1]
    result = CliRunner().invoke(cli, [*path.split(), f"{name[:1]}{name}"])
    assert result.exit_code == 2
    assert f"No such command '{name[:1]}{name}'" in result.stderr
    assert f"'{name}'" in result.stderr


@pytest.mark.parametrize("path", [path for path, _ in _commands(cli) if path != "psql"])
def test_a_wrong_option_names_the_two_nearest(path: str) -> None:
    """However far they are, and in the group's own options as well."""
    result = CliRunner().invoke(cli, [*path.split(), "--hepl"])
    assert result.exit_code == 2
    named = re.search(r"No such option '--hepl'\. (.*)", result.stderr)
    assert named
    assert "'--help'" in named[1]
    own = [one for one in dict(_commands(cli))[path].params if isinstance(one, click.Option)]
    assert named[1].count("'--") == min(2, len(own) + 1)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("search --limt 3 x", "'--limit' or '--filter'"),
        ("ingest --colection a x", "'--collection' or "),
        ("up --prot 3", "'--port' or "),
        ("serch", "'search' or 'vsearch'"),
    ],
)
def test_the_nearest_comes_first(call: str, said: str) -> None:
    assert f"Did you mean {said}" in CliRunner().invoke(cli, call.split()).stderr


def test_every_command_with_json_has_a_schema_and_every_schema_a_command() -> None:
    shared = dict.fromkeys(
        ("search", "vsearch", "query", "graph search", "eval explain"), "search-results"
    )
    names = {**shared, "ingest": "ingest-report", "sync": "ingest-report"}
    with_json = {
        names.get(path, path.replace(" ", "-"))
        for path, command in _commands(cli)
        if any("--json" in parameter.opts for parameter in command.params)
    }
    schemas = {
        entry.name.removesuffix(".schema.json")
        for entry in files("pgblend.cli.schemas").iterdir()
        if entry.name.endswith(".schema.json")
    }
    # In search-results, with --explain; what a model is asked for.
    inside_others = {"search-explain", "expansion"}
    assert with_json | inside_others == schemas


def test_help_lists_all_commands() -> None:
    result = CliRunner().invoke(cli, ["--help"])
    assert result.exit_code == 0
    for name, short_help in COMMANDS.items():
        assert f"  {name} " in result.stdout
        assert short_help in result.stdout


def test_version() -> None:
    result = _run("--version")
    assert result.stdout == f"pgblend, version {version('pgblend')}\n"


def test_an_unknown_command_is_wrong_usage() -> None:
    result = _run("serach")
    assert result.returncode == 2
    assert "No such command 'serach'" in result.stderr
    assert result.stdout == ""


_IMPORTED = """
import sys
from pgblend.cli.main import cli
cli(sys.argv[1:], standalone_mode=False)
print("imported:", *{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""


@pytest.mark.parametrize("arguments", [["--help"], ["search", "sea"]])
def test_nothing_heavy_is_imported(arguments: list[str], database_url: str) -> None:
    result = _run("--database-url", database_url, *arguments, code=_IMPORTED)
    assert result.returncode == 0, result.stderr
    imported = set(result.stderr.rpartition("imported:")[2].split())
    assert "click" in imported
    assert not imported & HEAVY


def test_help_does_not_even_import_psycopg() -> None:
    imported = _run("--help", code=_IMPORTED).stderr.split()
    assert "click" in imported
    assert "psycopg" not in imported


_WAITING = """
import sys, click
from types import ModuleType
from pgblend.cli.main import main
from pgblend.cli.base.database import open_database

@click.command()
@click.pass_obj
def command(url):
    with open_database(url) as connection:
        connection.execute("SELECT pg_sleep(60)")

module = ModuleType("pgblend.cli.commands.status")
module.command = command
sys.modules[module.__name__] = module
main()
"""


def _count_sleeping(connection: psycopg.Connection) -> int:
    row = connection.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)'"
        " AND datname = current_database() AND state = 'active'"
    ).fetchone()
    assert row is not None
    count: int = row[0]
    return count


def test_control_c_ends_the_query_and_the_command_with_130(
    database_url: str, connection: psycopg.Connection
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _WAITING, "--database-url", database_url, "status"],
        stderr=subprocess.PIPE,
        text=True,
    )
    while not _count_sleeping(connection):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert errors == "pgblend: interrupted\n"
    assert _count_sleeping(connection) == 0


def test_a_reader_that_leaves_early_causes_no_traceback(database_url: str) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as closed_pipe:
        result = subprocess.run(
            [*MAIN, "--database-url", database_url, "config", "list"],
            stdout=closed_pipe,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert result.stderr == ""
