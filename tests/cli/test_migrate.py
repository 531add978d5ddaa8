"""migrate: up, status, down, apply on a database of its own."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from click.testing import Result

Pgblend = Callable[..., Result]
ParseValid = Callable[[Result, str], Any]


def test_up_and_down(
    pgblend: Pgblend, parse_valid: ParseValid, new_database: Callable[..., str]
) -> None:
    url = new_database()
    before = parse_valid(pgblend("migrate", "status", "--json", url=url), "migrate-status")
    assert before["current"] is None
    assert before["pending"][-1] == before["head"]
    up = pgblend("migrate", "up", url=url)
    assert (up.exit_code, up.stdout) == (0, ""), up.stderr
    assert before["head"] in up.stderr
    after = parse_valid(pgblend("migrate", "status", "--json", url=url), "migrate-status")
    assert after["current"] == before["head"]
    assert after["pending"] == []
    assert f"current: {before['head']}\n" in pgblend("migrate", "status", url=url).stdout
    assert pgblend("search", "x", url=url).exit_code == 0

    refused = pgblend("migrate", "down", "base", url=url, input="n\n")
    assert refused.exit_code == 1
    assert "with their data?" in refused.stderr
    assert pgblend("search", "x", url=url).exit_code == 0
    down = pgblend("migrate", "down", "base", "--yes", url=url)
    assert down.exit_code == 0, down.stderr
    assert pgblend("search", "x", url=url).exit_code == 3


EXTENSIONS = "SELECT array_agg(extname::text ORDER BY extname) FROM pg_extension"
USES = {
    "vector": ("CREATE TABLE public.mine (e vector(3))", "column e of table mine depends on"),
    "pg_trgm": (
        "CREATE TABLE public.mine (t text); CREATE INDEX ON mine USING gin (t gin_trgm_ops)",
        "index mine_t_idx depends on operator class gin_trgm_ops",
    ),
    "plpython3u": (
        "CREATE FUNCTION public.mine() RETURNS integer LANGUAGE plpython3u AS 'return 1'",
        "function mine() depends on language plpython3u",
    ),
}


@pytest.mark.slow
def test_down_drops_the_extensions_that_up_created(
    pgblend: Pgblend, new_database: Callable[..., str]
) -> None:
    url = new_database()
    assert pgblend("migrate", "up", url=url).exit_code == 0
    down = pgblend("migrate", "down", "base", "--yes", url=url)
    assert (down.exit_code, "extension" in down.stderr) == (0, False)
    with psycopg.connect(url) as connection:
        assert connection.execute(EXTENSIONS).fetchone() == (["plpgsql"],)


@pytest.mark.slow
def test_down_names_what_stays(
    pgblend: Pgblend, new_database: Callable[..., str], template: str
) -> None:
    """Extensions of others' and used ones; roles, since the template's database has them too."""
    url = new_database()
    assert pgblend("migrate", "up", url=url).exit_code == 0
    for extension, (use, said) in USES.items():
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(use)  # type: ignore[call-overload]
        down = pgblend("migrate", "down", "base", "--yes", url=url)
        assert down.exit_code == 0, down.stderr
        assert f"the extension {extension} stays: {said}" in down.stderr
        assert down.stderr.count("the extension ") == 1
        assert "pgblend_writer stay: another database" in down.stderr
        with psycopg.connect(url, autocommit=True) as connection:
            assert connection.execute(EXTENSIONS).fetchone() == (sorted([extension, "plpgsql"]),)
            connection.execute("DROP FUNCTION IF EXISTS public.mine; DROP TABLE IF EXISTS mine")
        assert pgblend("migrate", "up", url=url).exit_code == 0
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("COMMENT ON EXTENSION vector IS 'mine'")
    down = pgblend("migrate", "down", "base", "--yes", url=url)
    assert "the extension vector stays: pgblend did not create it" in down.stderr
    with psycopg.connect(url) as connection:
        assert connection.execute(EXTENSIONS).fetchone() == (["plpgsql", "vector"],)


def test_down_drops_configurations_that_were_made(
    pgblend: Pgblend, connection: psycopg.Connection
) -> None:
    available = "SELECT count(*) FROM pg_available_extensions WHERE name = 'unaccent'"
    if connection.execute(available).fetchone() == (0,):
        pytest.skip("the extension unaccent is not available")
    connection.execute("CREATE EXTENSION unaccent SCHEMA public")
    connection.execute("SELECT create_unaccent_config('french')")
    down = pgblend("migrate", "down", "base", "--yes")
    assert down.exit_code == 0, down.stderr


def test_down_drops_hunspell_configurations(
    pgblend: Pgblend, connection: psycopg.Connection
) -> None:
    # PostgreSQL brings these files along.
    connection.execute("SELECT create_hunspell_config('sample', 'hunspell_sample_long')")
    down = pgblend("migrate", "down", "base", "--yes")
    assert down.exit_code == 0, down.stderr


def test_an_unknown_revision_changes_nothing(pgblend: Pgblend) -> None:
    for arguments in (["up", "9999"], ["down", "9999", "--yes"]):
        result = pgblend("migrate", *arguments)
        assert result.exit_code == 1
        assert "9999" in result.stderr.splitlines()[0]
    assert pgblend("search", "x").exit_code == 0


def test_apply_mends_a_routine_that_was_changed(
    pgblend: Pgblend, parse_valid: ParseValid, connection: psycopg.Connection
) -> None:
    connection.execute(
        "CREATE OR REPLACE FUNCTION blend.get_setting(name text) RETURNS jsonb"
        " LANGUAGE sql AS $$ SELECT '1'::jsonb $$"
    )
    assert parse_valid(pgblend("migrate", "status", "--json"), "migrate-status")["drift"] is True
    applied = pgblend("migrate", "apply")
    assert applied.exit_code == 0, applied.stderr
    assert parse_valid(pgblend("migrate", "status", "--json"), "migrate-status")["drift"] is False
    assert pgblend("config", "get", "rrf_k").stdout == "60\n"


def test_apply_drops_what_had_other_parameters(
    pgblend: Pgblend, connection: psycopg.Connection
) -> None:
    connection.execute(
        "CREATE FUNCTION pgblend._regconfig(config_name text, other integer) RETURNS regconfig"
        " LANGUAGE sql AS $$ SELECT NULL::regconfig $$"
    )
    applied = pgblend("migrate", "apply")
    assert applied.exit_code == 0, applied.stderr
    named = "SELECT count(*) FROM pg_proc WHERE proname = '_regconfig'"
    assert connection.execute(named).fetchone() == (1,)
