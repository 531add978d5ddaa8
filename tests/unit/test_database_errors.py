"""Versions, and errors of PostgreSQL that need no server to be shown."""

import psycopg
import pytest

from pgblend.cli.base.database import (
    advice_for_connection,
    advice_for_statement,
    check_versions,
    translate,
    version_tuple,
)
from pgblend.cli.base.errors import ExitCode, UserError


@pytest.mark.parametrize(
    ("text", "version"),
    [("0.8.4", (0, 8, 4)), ("0.10", (0, 10)), ("1.0beta", (1,)), ("", ())],
)
def test_version_tuple(text: str, version: tuple[int, ...]) -> None:
    assert version_tuple(text) == version


@pytest.mark.parametrize(
    ("server_version", "vector_version", "expected"),
    [
        (140009, "0.8.0", "PostgreSQL 14 is too old: pgblend needs 15"),
        (150000, "0.7.4", "pgvector 0.7.4 is too old: pgblend needs 0.8"),
    ],
)
def test_old_versions_are_refused(server_version: int, vector_version: str, expected: str) -> None:
    with pytest.raises(UserError, match=expected) as caught:
        check_versions(server_version, vector_version)
    assert caught.value.exit_code == ExitCode.DATABASE
    assert caught.value.hint


@pytest.mark.parametrize("vector_version", ["0.8.0", "0.10.1", "1.0", None])
def test_newer_versions_are_fine(vector_version: str | None) -> None:
    check_versions(150000, vector_version)
    check_versions(190001, vector_version)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('FATAL:  password authentication failed for user "u"', "right password"),
        ("fe_sendauth: no password supplied", "right password"),
        ('FATAL:  Peer authentication failed for user "u"', "pg_hba.conf"),
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.1"', "pg_hba.conf"),
        ("FATAL:  the database system is starting up", "wait"),
        ("FATAL:  sorry, too many clients already", "wait"),
        ("server closed the connection unexpectedly\n\tThis probably means", "log"),
        ("server does not support SSL, but SSL was required", "sslmode"),
        ("something new", "check the database URL"),
    ],
)
def test_connection_failures_say_what_to_do(text: str, hint: str) -> None:
    error = advice_for_connection(f"connection failed: {text}\nmore lines", True)
    assert "\n" not in error.message
    assert "FATAL" not in error.message
    assert hint in error.hint
    assert error.exit_code == ExitCode.DATABASE


@pytest.mark.parametrize(
    ("sqlstate", "exit_code"),
    [
        ("22023", ExitCode.ERROR),
        ("PB001", ExitCode.VECTORS_UNAVAILABLE),
        ("PB008", ExitCode.VECTORS_UNAVAILABLE),
        ("08006", ExitCode.DATABASE),
        ("57P01", ExitCode.DATABASE),
        ("57014", ExitCode.ERROR),
    ],
)
def test_exit_codes_by_sqlstate(sqlstate: str, exit_code: ExitCode) -> None:
    assert advice_for_statement(sqlstate, "message", "").exit_code == exit_code


def test_the_servers_hint_comes_first() -> None:
    assert advice_for_statement("42501", "no", "ask Ada").hint == "ask Ada"
    assert "pgblend_reader" in advice_for_statement("42501", "no", "").hint


@pytest.mark.parametrize(
    ("denied", "role"),
    [
        ("schema pgblend", "pgblend_reader"),
        ("schema blend", "pgblend_reader"),
        ("schema public", None),
        ("function hybrid_search", "pgblend_reader"),
        ("function ingest_document", "pgblend_writer"),
        ("function link_mentions", "pgblend_writer"),
        ("function set_setting", "pgblend_admin"),
        ("view setting_changes", "pgblend_admin"),
        ("table setting_history", "pgblend_admin"),
        ("table document", "pgblend_reader or pgblend_writer"),
        ("table articles", None),
    ],
)
def test_a_denied_right_names_the_role_that_has_it(denied: str, role: str | None) -> None:
    hint = advice_for_statement("42501", f"permission denied for {denied}", "").hint
    if role is None:
        assert "pgblend collection grant" in hint
    else:
        assert f"it takes the role {role}:" in hint
        assert (f"GRANT {role} TO" in hint) == (" or " not in role)


@pytest.mark.parametrize(
    ("sqlstate", "message", "is_unmigrated"),
    [
        ("42P01", 'relation "blend.documents" does not exist', True),
        ("42883", "function blend.hybrid_search(text) does not exist", True),
        ("42883", "function pgblend._find(text) does not exist", True),
        ("3F000", 'schema "pgblend" does not exist', True),
        ("3F000", 'schema "blend" does not exist', True),
        ("42P01", 'relation "blend" does not exist', False),
        ("42P01", 'relation "mine" does not exist', False),
        ("42704", 'there is no collection "pgblend"', False),
    ],
)
def test_missing_objects_of_pgblend_mean_migrate(
    sqlstate: str, message: str, is_unmigrated: bool
) -> None:
    error = advice_for_statement(sqlstate, message, "")
    assert (error.hint == "run: pgblend migrate up") is is_unmigrated
    assert (error.exit_code == ExitCode.DATABASE) is is_unmigrated


@pytest.mark.parametrize(
    "message",
    [
        "function pgblend.hybrid_search(unknown) does not exist",
        'relation "pgblend.hybrid_search" does not exist',
    ],
)
def test_a_public_name_in_the_private_schema_gets_its_own(message: str) -> None:
    error = advice_for_statement("42883", message, "You might need to add explicit type casts.")
    assert error.message == message
    assert error.hint == "what is public is in the schema blend: blend.hybrid_search"


def test_errors_of_others_are_left_alone() -> None:
    assert translate(ValueError("mine")) is None
    assert translate(UserError("mine")) is None


def test_an_error_that_sqlalchemy_wrapped_is_unwrapped() -> None:
    class Wrapped(Exception):
        orig = psycopg.OperationalError("connection is lost")

    error = translate(Wrapped("with a long text"))
    assert error is not None
    assert error.message == "connection is lost"


def test_text_that_is_not_utf8_is_explained() -> None:
    with pytest.raises(UnicodeEncodeError) as caught:
        "\udcff".encode()
    error = translate(caught.value)
    assert error is not None
    assert "UTF-8" in error.message
