"""Tables on a terminal: none is wider than it, and no word in them is broken that has room."""

from collections.abc import Callable

import psycopg
import pytest
from click.testing import Result

Pgblend = Callable[..., Result]
LISTS = (
    ["config", "list"],
    ["document", "list"],
    ["graph", "neighbors", "wine.md"],
    ["profile", "list"],
    ["reindex", "--status"],
    ["space", "list"],
)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Make standard output a terminal of so many columns."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    return lambda columns: monkeypatch.setenv("COLUMNS", str(columns))


@pytest.mark.usefixtures("library", "vectors")
def test_every_list_fits(
    pgblend: Pgblend, connection: psycopg.Connection, terminal: Callable[[int], None]
) -> None:
    connection.execute(
        "SELECT add_links('library', 'wine.md', '[{\"target\": \"deploy.md\"}]'::jsonb)"
    )
    terminal(80)
    for command in LISTS:
        result = pgblend(*command)
        assert result.exit_code == 0, result.output
        lines = result.stdout.splitlines()
        assert lines, command
        assert max(map(len, lines)) <= 80, command
        names = pgblend(*command, "--csv").stdout.splitlines()[0].split(",")
        assert set(names) <= set(result.stdout.split()), command


@pytest.mark.usefixtures("library")
def test_results_stand_below_each_other(pgblend: Pgblend, terminal: Callable[[int], None]) -> None:
    for columns in (80, 45):
        terminal(columns)
        lines = pgblend("search", "deploy production").stdout.splitlines()
        assert max(map(len, lines)) <= columns
        (title,) = [line for line in lines if "Deploy guide" in line]
    assert "# Deploy How to deploy" in lines[lines.index(title) + 3]


@pytest.mark.usefixtures("library")
def test_a_file_has_the_columns_that_are_asked_for(
    pgblend: Pgblend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    whole = pgblend("config", "list").stdout.splitlines()
    assert max(map(len, whole)) > 150  # nothing is cut where nobody says how wide
    monkeypatch.setenv("COLUMNS", "80")
    for lines in (pgblend("config", "list").stdout, pgblend("search", "deploy").stdout):
        assert max(map(len, lines.splitlines())) <= 80
    monkeypatch.setenv("COLUMNS", "wide")
    assert pgblend("config", "list").stdout.splitlines() == whole
