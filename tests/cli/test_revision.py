"""Every command says so where the database is of a newer or an older version of pgblend."""

from collections.abc import Callable, Iterator
from pathlib import Path

import click
import psycopg
import psycopg.conninfo
import pytest
from click.testing import CliRunner, Result

from pgblend.cli.main import cli
from pgblend.cli.parameters import JsonObject

Pgblend = Callable[..., Result]
# They bring a database to a revision, say which one it has, or have nothing to do with it.
EXEMPT = {"up", "down", "open", "migrate", "psql", "status", "doctor", "gateway", "mcp install"}
NEWER = "9999"
OFTEN_GIVEN = {
    "file",
    "judged_set",
    "keys",
    "max_p95_ms",
    "shards",
}  # or something else in its place


def commands(group: click.Group, *names: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Give the names of all commands that do something, with the commands."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, *names, name)
        elif not {(*names, name)[0], " ".join((*names, name))} & EXEMPT:
            yield (*names, name), command


def arguments(command: click.Command, path: Path) -> Iterator[str]:
    """Give what a command must be given, of the right type."""
    for parameter in command.params:
        if parameter.name == "yes":
            yield "--yes"
        if not parameter.required and parameter.name not in OFTEN_GIVEN:
            continue
        if isinstance(parameter, click.Option):
            yield parameter.opts[0]
        kind = parameter.type
        if isinstance(kind, click.Path):
            yield str(path if kind.file_okay else path.parent)
        elif isinstance(kind, click.Choice):
            yield str(kind.choices[0])
        elif isinstance(kind, JsonObject):
            yield "{}"
        else:
            is_number = isinstance(kind, click.types.IntParamType | click.types.FloatParamType)
            yield "1" if is_number else "x=1"


COMMANDS = dict(commands(cli))  # type: ignore[arg-type]


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_a_command_on_a_newer_database(
    newer: str, pgblend_on: Pgblend, tmp_path: Path, names: tuple[str, ...]
) -> None:
    file = tmp_path / "file.json"
    file.write_text("{}")
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d", "text": "t"}\n')  # a judged set
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "t"}\n')
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")
    result = pgblend_on(newer, *names, *arguments(COMMANDS[names], file))
    told = f"the database is at revision {NEWER}, which this version of pgblend does not know"
    assert (result.exit_code, told in result.stderr) == (3, True), result.output
    assert "install that version" in result.stderr


@pytest.mark.parametrize("command", ["search x", "migrate up"])
def test_before_the_first_release(
    connection: psycopg.Connection, database_url: str, pgblend_on: Pgblend, command: str
) -> None:
    connection.execute("UPDATE pgblend_data.alembic_version SET version_num = '0010'")
    told = pgblend_on(database_url, *command.split()).stderr
    assert "is at revision 0010, which this version of pgblend does not know" in told
    assert "hint: or it was made before the first release: ingest into a new database" in told


@pytest.mark.parametrize("command", ["doctor", "migrate up", "migrate status"])
def test_who_looks_after_the_revision_tells_of_a_newer_one(
    newer: str, pgblend_on: Pgblend, command: str
) -> None:
    assert NEWER in pgblend_on(newer, *command.split()).output


@pytest.fixture(scope="module")
def newer(module_connection: psycopg.Connection) -> str:
    module_connection.execute("UPDATE pgblend_data.alembic_version SET version_num = %s", [NEWER])
    info = module_connection.info
    return psycopg.conninfo.make_conninfo(info.dsn, password=info.password or None)


@pytest.fixture
def pgblend_on() -> Pgblend:
    """Run `pgblend ARGS` on a database."""
    run = CliRunner().invoke
    return lambda url, *given: run(cli, ["--database-url", url, *given])
