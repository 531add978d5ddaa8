"""Every command says so where the database is of a newer or an older version of pgblend."""

from collections.abc import Callable, Iterator
from pathlib import Path

import click
import psycopg
import psycopg.conninfo
import pytest
from click.testing import CliRunner, Result

from pgblend.cli.base.parameters import JsonObject
from pgblend.cli.main import cli
from support.catalogue import contents
from support.database import Database
from support.sampled import sampled

Pgblend = Callable[..., Result]
# They bring a database to a revision, say which one it has, or have nothing to do with it.
EXEMPT = {
    *("up", "down", "open", "migrate", "psql", "status", "doctor", "gateway", "door", "mcp install")
}
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


MIGRATIONS = ("migrate up", "migrate status", "migrate apply", "migrate down base --yes")


@pytest.fixture(scope="module")
def unknown(module_connection: psycopg.Connection) -> Database:
    """A database of a revision that was never released, with documents."""
    db = Database(module_connection)
    db.rows("SELECT add_collection('shelf/one'), add_collection('empty')")
    metadata = '{"id": 7, "year": 1899}'
    text = "Some words.\n\n" + "\n\n".join(f"Passage {n} has words." for n in range(300))
    db.rows(
        "SELECT ingest_document('shelf/one', 'a', %s, title => 'T', metadata => %s)", text, metadata
    )
    db.rows("SELECT ingest_document('shelf/one', 'b', 'other', uri => 'https://b.example')")
    return db


@pytest.mark.parametrize("revision", sampled(["0000", "0010", "0011", NEWER], 3))
def test_a_revision_that_was_never_released_is_told_so_and_left_alone(
    unknown: Database, pgblend_on: Pgblend, revision: str
) -> None:
    unknown.rows("UPDATE pgblend_data.alembic_version SET version_num = %s", revision)
    before = contents(unknown.url)
    told = f"the database is at revision {revision}, which this version of pgblend does not know"
    for command in (*MIGRATIONS, "query x", "ingest . -c x", "config get rrf_k"):
        result = pgblend_on(unknown.url, *command.split())
        assert (result.exit_code, told in result.stderr) == (3, True), result.output
        assert "hint: a newer pgblend has migrated it: install that version\n" in result.stderr
        assert "pgblend migrate dump FOLDER, make a new database" in result.stderr
    doctor = pgblend_on(unknown.url, "doctor")
    assert (doctor.exit_code, told in doctor.output) == (1, True)
    assert "pgblend migrate dump FOLDER" in doctor.output.splitlines()[-1]
    status = pgblend_on(unknown.url, "status")
    assert (status.exit_code, f"migration: revision {revision}" in status.output) == (0, True)
    assert f"error: {told} (" in status.output
    assert contents(unknown.url) == before


def test_its_documents_go_into_a_new_database(
    unknown: Database, database_url: str, pgblend_on: Pgblend, tmp_path: Path
) -> None:
    texts = "SELECT substr(content, own_start + 1) FROM pgblend_data.chunk WHERE document_id = 1"
    before = " ".join(unknown.column(texts + " ORDER BY chunk_index")).split()
    unknown.rows("UPDATE pgblend_data.alembic_version SET version_num = '0010'")
    folder = tmp_path / "documents"
    dumped = pgblend_on(unknown.url, "migrate", "dump", str(folder))
    (file,) = folder.iterdir()
    assert (dumped.stdout, dumped.stderr) == (f"{file}\n", "2 documents\n")
    assert file.name == "shelf%2Fone.jsonl"
    again = pgblend_on(unknown.url, "migrate", "dump", str(folder))
    assert (again.exit_code, f"cannot write {file}" in again.stderr) == (1, True)
    done = pgblend_on(database_url, "ingest", str(file), "--collection", "shelf/one")
    assert done.exit_code == 0, done.output
    with psycopg.connect(database_url) as connection:
        db = Database(connection)
        found = "SELECT source_key, title, uri, metadata - 'ingest' FROM blend.documents ORDER BY 1"
        (first, second) = db.rows(found)
        assert first[:2] == ("a", "T")
        assert (first[3]["metadata_id"], first[3]["year"]) == (7, 1899)
        assert (second[0], second[2]) == ("b", "https://b.example")
        assert " ".join(db.column(texts + " ORDER BY chunk_index")).split() == before


def test_a_database_without_documents_has_none_to_dump(
    new_database: Callable[..., str], pgblend_on: Pgblend, tmp_path: Path
) -> None:
    result = pgblend_on(new_database(), "migrate", "dump", str(tmp_path))
    assert (result.exit_code, "migrate up" in result.stderr) == (3, True)


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
