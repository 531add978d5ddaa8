"""migrate: up, status, down, apply on a database of its own."""

from collections.abc import Callable
from typing import Any

import psycopg
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
        "CREATE OR REPLACE FUNCTION pgblend.get_setting(name text) RETURNS jsonb"
        " LANGUAGE sql AS $$ SELECT '1'::jsonb $$"
    )
    assert parse_valid(pgblend("migrate", "status", "--json"), "migrate-status")["drift"] is True
    applied = pgblend("migrate", "apply")
    assert applied.exit_code == 0, applied.stderr
    assert parse_valid(pgblend("migrate", "status", "--json"), "migrate-status")["drift"] is False
    assert pgblend("config", "get", "rrf_k").stdout == "60\n"
