"""Golden files: what the database offers, as text, kept in tests/golden and compared."""

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
Golden = Callable[[str, str], None]


@pytest.fixture(scope="module")
def catalogue(module_connection: psycopg.Connection) -> psycopg.Connection:
    """A connection to a migrated database, to read only."""
    module_connection.execute("SET default_transaction_read_only = on")
    return module_connection


@pytest.fixture
def golden(pytestconfig: pytest.Config) -> Golden:
    """Compare a text with tests/golden/NAME; --update-golden writes it instead."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if pytestconfig.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no {path}: run pytest with --update-golden"
        assert text == path.read_text(encoding="utf-8"), (
            "if meant: make golden, and look at the diff"
        )

    return compare
