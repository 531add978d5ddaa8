"""A superuser's commands on hostile tables: their owner gains nothing.

What the owner's code says, as a WARNING, is on standard error: as whom it ran.
"""

import re
from collections.abc import Callable, Iterator

import psycopg
import pytest
from click.testing import CliRunner
from psycopg.conninfo import make_conninfo

from pgblend.cli.main import cli
from support.database import SPACE, Database, add_space
from support.hostile_tables import (
    ATTACH,
    CHANGES,
    change_table,
    is_superuser,
    owner_of_a_table,
)
from support.model_provider import ModelProvider

pytestmark = pytest.mark.extended

ATTACH_COMMAND = (
    "table", "attach", "app.t", "--text", "body", "--title", "note", "--metadata", "note,tags",
    "--uri", "page", "--modified", "day",
)  # fmt: skip
COMMANDS = (
    ("table", "fill", "app.t", "--anew"),
    ("table", "fill", "app.t"),
    ("table", "list"),
    ("doctor",),
    ("worker", "--once"),
    ("status",),
    ATTACH_COMMAND,
    ("table", "detach", "app.t", "--yes"),
)


@pytest.fixture
def app(committed: Database, connect_as: Callable[..., psycopg.Connection]) -> Iterator[Database]:
    """A login role that owns app.t."""
    with owner_of_a_table(committed, connect_as) as owner:
        yield owner


@pytest.fixture(autouse=True)
def model(committed: Database, model_provider: ModelProvider) -> None:
    """The worker finds a model."""
    add_space(committed)
    committed.rows("SELECT set_setting('gateway_url', to_jsonb(%s::text))", model_provider.url)
    assert SPACE


def run_all(db: Database, *commands: tuple[str, ...]) -> tuple[set[str], str]:
    """Run commands as the superuser; return as whom the owner's code ran, and all that was said."""
    said = ""
    for command in commands:
        result = CliRunner().invoke(cli, ["--database-url", db.url, *command])
        assert result.exception is None or isinstance(result.exception, SystemExit), command
        said += result.output
    return set(re.findall(r"ran as (\S+)", said)), said


# What SQL does with each of them, tests/security/test_attached_tables.py tries in every run.
OFTEN = ("enum", "row security")


@pytest.mark.parametrize(
    "change",
    [
        *OFTEN,
        *(pytest.param(name, marks=pytest.mark.slow) for name in CHANGES if name not in OFTEN),
    ],
)
def test_commands_run_no_code_of_the_owner_s_as_a_superuser(
    committed: Database, app: Database, change: str
) -> None:
    role = str(app.connection.info.user)
    committed.rows(ATTACH)
    if "_RETURN" in CHANGES[change] and app.connection.info.server_version >= 160000:
        pytest.skip("no table becomes a view any more")
    change_table(app, CHANGES[change])
    app.warnings()
    ran_as, said = run_all(committed, *COMMANDS)
    assert ran_as <= {role}
    assert not is_superuser(committed, role)
    if "policy" in change or change == "row security":
        assert ran_as == {role}, said  # else the test would show nothing


@pytest.mark.slow
@pytest.mark.parametrize(
    "change", ["enum", "domain with CHECK", "composite", "array of enum", "range", "row security"]
)
def test_nor_where_the_table_was_hostile_before_it_was_attached(
    committed: Database, app: Database, change: str
) -> None:
    role = str(app.connection.info.user)
    change_table(app, CHANGES[change])
    app.warnings()
    ran_as, said = run_all(committed, ATTACH_COMMAND[:-2], *COMMANDS)
    assert "looked at" in said, said
    assert ran_as <= {role}
    assert not is_superuser(committed, role)


def test_a_policy_that_sleeps_does_not_hold_doctor(committed: Database, app: Database) -> None:
    """It waits two minutes at most, and here as long as whoever runs it says."""
    committed.rows(ATTACH)
    app.rows("CREATE POLICY sleeps ON app.t USING (pg_sleep(600) IS NOT NULL)")
    app.rows("ALTER TABLE app.t FORCE ROW LEVEL SECURITY, ENABLE ROW LEVEL SECURITY")
    url = make_conninfo(committed.url, options="-c statement_timeout=3000")
    result = CliRunner().invoke(cli, ["--database-url", url, "doctor"])
    assert "attached tables: reading their keys did not end in time" in result.output


# Sleeps on when it is told to stop, as `EXCEPTION WHEN OTHERS` does not.
STAYS = """
    CREATE FUNCTION app.stays() RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        LOOP
            BEGIN
                PERFORM pg_sleep(600);
            EXCEPTION WHEN query_canceled THEN NULL;
            END;
        END LOOP;
    END $$;
    CREATE POLICY stays ON app.t USING (app.stays());
    ALTER TABLE app.t FORCE ROW LEVEL SECURITY, ENABLE ROW LEVEL SECURITY
"""


def test_nor_does_one_that_catches_the_end_of_its_time(committed: Database, app: Database) -> None:
    committed.rows(ATTACH)
    app.rows(STAYS)
    url = make_conninfo(committed.url, options="-c statement_timeout=1000")
    result = CliRunner().invoke(cli, ["--database-url", url, "doctor"])
    assert "attached tables: reading their keys did not end in time" in result.output
    assert "embedding queue" in result.output  # the checks after it
    left = committed.rows("SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
    assert left == []


@pytest.mark.parametrize("policy", ["raises", "stays"])
def test_a_table_that_cannot_be_filled_stops_no_vectors_of_others(
    committed: Database, app: Database, policy: str
) -> None:
    committed.rows(ATTACH)
    committed.rows("SELECT add_collection('other')")
    committed.rows("SELECT ingest_document('other', 'a.md', 'A', 'Something of others.')")
    app.rows(
        STAYS
        if policy == "stays"
        else "CREATE POLICY raises ON app.t USING (1 / (id - id) = 0);"
        " ALTER TABLE app.t FORCE ROW LEVEL SECURITY, ENABLE ROW LEVEL SECURITY"
    )
    committed.rows("UPDATE pgblend_data.attached_table SET filled = false, filled_to = NULL")
    url = make_conninfo(committed.url, options="-c statement_timeout=1000")
    result = CliRunner().invoke(cli, ["--database-url", url, "worker", "--once"])
    assert result.exit_code == 0, result.output
    assert "the attached table app.t cannot be filled: " in result.stderr
    assert committed.rows("SELECT FROM pgblend_data.embedding_queue") == []
