"""Reaching the database: which one, and what is said when that fails. Never a password."""

import socket
from collections.abc import Callable

import psycopg
import pytest
from click.testing import CliRunner, Result
from psycopg.conninfo import make_conninfo

from pgblend.cli.base.database import connect, resolve_database_url
from pgblend.cli.base.errors import UserError
from pgblend.cli.main import cli

PASSWORD = "s3cret-pa@/ss"


def assert_short_error(result: Result, *expected: str, exit_code: int = 3) -> None:
    """One line that says what is wrong, one that says what to do, nothing else."""
    assert result.exit_code == exit_code, result.output
    assert result.stdout == ""
    error, hint = result.stderr.splitlines()
    assert error.startswith("pgblend: error: ")
    assert hint.startswith("hint: ")
    for text in expected:
        assert text in result.stderr
    assert PASSWORD not in result.stderr


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def test_a_port_where_nobody_listens(pgblend: Callable[..., Result], free_port: int) -> None:
    url = make_conninfo("", host="127.0.0.1", port=free_port, user="u", password=PASSWORD)
    assert_short_error(pgblend("config", "list", url=url), str(free_port), "Connection refused")


def test_an_unknown_host(pgblend: Callable[..., Result]) -> None:
    url = make_conninfo("", host="nowhere.invalid", user="u", password=PASSWORD)
    assert_short_error(pgblend("config", "list", url=url), "nowhere.invalid", "host in the URL")


def test_a_server_that_never_answers(pgblend: Callable[..., Result]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = make_conninfo(host="127.0.0.1", port=silent.getsockname()[1], connect_timeout=2)
        assert_short_error(pgblend("config", "list", url=url), "timeout")


def test_a_missing_database(pgblend: Callable[..., Result], database_url: str) -> None:
    url = make_conninfo(database_url, dbname="pgblend_no_such_database")
    assert_short_error(pgblend("config", "list", url=url), '"pgblend_no_such_database"', "createdb")


def test_a_wrong_password(
    pgblend: Callable[..., Result], connect_as: Callable[..., psycopg.Connection], database_url: str
) -> None:
    role = connect_as("pgblend_reader").info.user
    url = make_conninfo(database_url, user=role, password=PASSWORD)
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        result = pgblend("config", "list", url=url)
        assert_short_error(result, "password authentication failed", role, "PGPASSWORD")
    else:
        pytest.skip("this server asks nobody for a password (trust in pg_hba.conf)")


def test_an_unknown_user(pgblend: Callable[..., Result], database_url: str) -> None:
    url = make_conninfo(database_url, user="pgblend_no_such_role", password=PASSWORD)
    assert_short_error(pgblend("config", "list", url=url), "pgblend_no_such_role")


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://u:{PASSWORD}@127.0.0.1:5432/x",
        "postgresql://u:pa%zzss@127.0.0.1/x",
        "postgres//u:secret@127.0.0.1/x",
        "mysql://u:secret@127.0.0.1/x",
        "postgresql://u:12/secret@127.0.0.1/x",
        "some words",
    ],
)
def test_a_url_that_cannot_be_read_is_not_repeated(
    pgblend: Callable[..., Result], url: str
) -> None:
    result = pgblend("config", "list", url=url)
    assert_short_error(result, "cannot be read", "percent-encoded")
    assert url not in result.stderr
    assert "secret" not in result.stderr
    assert "ss@127" not in result.stderr


def test_a_database_that_is_not_migrated(
    pgblend: Callable[..., Result], new_database: Callable[..., str]
) -> None:
    url = new_database()
    for arguments in (["search", "x"], ["collection", "list"], ["document", "show", "1"]):
        assert_short_error(pgblend(*arguments, url=url), "pgblend migrate up")


def test_objects_of_a_newer_version_are_missing(
    pgblend: Callable[..., Result], connection: psycopg.Connection
) -> None:
    connection.execute("DROP VIEW blend.settings")
    assert_short_error(pgblend("config", "list"), "not migrated", "pgblend migrate up")


def test_a_role_without_rights(
    pgblend: Callable[..., Result], connect_as: Callable[..., psycopg.Connection], database_url: str
) -> None:
    reader = connect_as("pgblend_reader").info
    url = make_conninfo(database_url, user=reader.user, password=reader.password)
    result = pgblend("config", "set", "rrf_k", "7", url=url)
    assert_short_error(result, "permission denied", "GRANT pgblend_admin TO", exit_code=1)
    nobody = connect_as("pg_monitor").info
    url = make_conninfo(database_url, user=nobody.user, password=nobody.password)
    result = pgblend("search", "x", url=url)
    assert_short_error(result, "permission denied", "GRANT pgblend_reader TO", exit_code=1)


def test_no_database_at_all() -> None:
    result = CliRunner().invoke(cli, ["config", "list"])
    assert_short_error(result, "--database-url", "PGBLEND_DATABASE_URL", "pgblend up")


def test_the_option_wins_over_the_environment(
    monkeypatch: pytest.MonkeyPatch, pgblend: Callable[..., Result], database_url: str
) -> None:
    monkeypatch.setenv("PGBLEND_DATABASE_URL", "postgresql://127.0.0.1:1/x")
    assert pgblend("config", "get", "rrf_k").stdout == "60\n"
    monkeypatch.setenv("PGBLEND_DATABASE_URL", database_url)
    assert CliRunner().invoke(cli, ["config", "get", "rrf_k"]).stdout == "60\n"


def test_the_option_is_the_database() -> None:
    assert resolve_database_url("postgresql://somewhere/x") == "postgresql://somewhere/x"


def test_a_connection_finds_routines_and_the_vector_type(database_url: str) -> None:
    with connect(database_url, application_name="a test") as connection:
        name = connection.execute("SELECT current_setting('application_name')").fetchone()
    assert name == ("a test",)
    options = "-c search_path=nothing_here"
    with connect(make_conninfo(database_url, options=options)) as connection:
        row = connection.execute(
            "SELECT vector_dims('[1, 2]'::vector), name FROM settings LIMIT 1"
        ).fetchone()
    assert row is not None
    assert row[0] == 2


def test_a_statement_is_its_own_transaction(database_url: str) -> None:
    with connect(database_url) as connection:
        connection.execute("SELECT 1")
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_warnings_go_to_standard_error_and_notices_nowhere(
    database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with connect(database_url) as connection:
        connection.execute(
            "DO $$ BEGIN RAISE NOTICE 'quiet'; RAISE WARNING 'loud' USING HINT = 'listen'; END $$"
        )
    assert capsys.readouterr() == ("", "pgblend: warning: loud (listen)\n")


def test_a_connection_that_fails_its_checks_is_closed(new_database: Callable[..., str]) -> None:
    url = new_database()
    with pytest.raises(UserError):
        connect(url)
    with connect(url, check=False) as connection:
        row = connection.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchone()
    assert row == (0,)


def test_a_reader_sees_the_status(
    pgblend: Callable[..., Result], connect_as: Callable[..., psycopg.Connection], database_url: str
) -> None:
    reader = connect_as("pgblend_reader").info
    url = make_conninfo(database_url, user=reader.user, password=reader.password)
    result = pgblend("status", url=url)
    assert result.exit_code == 0, result.stderr
    assert "migration: revision 0" in result.stdout
