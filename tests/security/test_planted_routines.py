"""Routines and operators that lesser roles put where ours look: no migration calls them."""

import threading
from collections.abc import Callable

import psycopg
import pytest
from click.testing import CliRunner

from pgblend.cli.main import cli
from pgblend.migrations import runner
from support.planted import PLANTED, ROLE, planter

pytestmark = pytest.mark.extended


@pytest.mark.parametrize("planted", PLANTED)
def test_a_migration_names_what_was_planted_and_runs_none_of_it(
    new_database: Callable[..., str], planted: str
) -> None:
    url = new_database()
    with planter(url) as plant:
        plant(PLANTED[planted])
        result = CliRunner().invoke(cli, ["--database-url", url, "migrate", "up"])
    assert result.exit_code == 1
    assert f"a superuser would run code of others: {planted} of {ROLE}" in result.stderr.replace(
        "public.", ""
    )
    assert "ran as" not in result.stderr
    with psycopg.connect(url) as admin:
        row = admin.execute("SELECT to_regclass('pgblend_data.document')").fetchone()
        assert row == (None,)


def test_names_of_their_own_and_a_superuser_s_are_no_hindrance(
    new_database: Callable[..., str],
) -> None:
    url = new_database()
    with planter(url) as plant:
        plant("CREATE FUNCTION public.my_own(text) RETURNS text LANGUAGE sql AS $$ SELECT $1 $$")
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute(PLANTED["format(text,text)"].replace("format", "lower"))
        runner.upgrade(url)
        with psycopg.connect(url) as admin:
            row = admin.execute("SELECT count(*) FROM hybrid_search('x')").fetchone()
        assert row == (0,)
        runner.downgrade(url, "base")


def test_nothing_is_planted_while_a_migration_runs(new_database: Callable[..., str]) -> None:
    url, refused, is_over = new_database(), [0], threading.Event()

    def meddle() -> None:
        with psycopg.connect(url, options="-c lock_timeout=20ms") as other:
            while not is_over.is_set():
                try:
                    other.execute(PLANTED["format(text,text)"])  # type: ignore[call-overload]
                except psycopg.errors.LockNotAvailable:
                    refused[0] += 1
                other.rollback()

    thread = threading.Thread(target=meddle)
    thread.start()
    try:
        runner.upgrade(url)
    finally:
        is_over.set()
        thread.join()
    assert refused[0] > 0
