"""Hostile values stay values: no result or one clear line, and every table is still there."""

from collections.abc import Callable

import psycopg
import pytest
from click.testing import Result

pytestmark = pytest.mark.extended

Pgblend = Callable[..., Result]

HOSTILE = (
    "'; DROP TABLE pgblend_data.document CASCADE; --",
    "x'); DELETE FROM pgblend_data.chunk; SELECT ('",
    '"; DROP SCHEMA pgblend CASCADE; --',
    "$$; DROP SCHEMA pgblend_data CASCADE; $$",
    "$python$; DROP SCHEMA pgblend_data CASCADE; $python$",
    "wine' OR '1'='1",
    "\\'; DROP TABLE pgblend_data.chunk; --",
    "%s %(query)s %% {0} :name $1",
    "' || (SELECT string_agg(content, '') FROM pgblend_data.chunk) || '",
    "wine & !!! | ( <-> ) :* \\",
    '"unclosed phrase -',
    "{wine,NULL}",
    "NULL",
    "\0",
    "wine\0'; DROP TABLE pgblend_data.chunk; --",
    "\udcff",
    "\ufffe\u202e\x1b[2J",
    "'" * 3001,
    "wine " * 20_000,
)
# Every fifth one, and all of them at length.
TEXTS = pytest.mark.parametrize(
    "texts", [HOSTILE[::5], pytest.param(HOSTILE, marks=pytest.mark.slow)], ids=["some", "all"]
)
SEARCHES = ("search", "vsearch", "query")
TABLES = """
    SELECT (SELECT count(*) FROM pgblend_data.document), (SELECT count(*) FROM pgblend_data.chunk),
        (SELECT array_agg(name) FROM pgblend_data.collection),
        (SELECT count(*) FROM pgblend_data.setting),
        (SELECT count(*) FROM pg_class WHERE relnamespace = 'pgblend_data'::regnamespace),
        (SELECT count(*) FROM pg_proc
         WHERE pronamespace IN ('blend'::regnamespace, 'pgblend'::regnamespace)),
        (SELECT count(*) FROM pg_roles)
"""


def assert_harmless(result: Result) -> None:
    """Success, or an error of one line; never an exception that nobody meant."""
    assert isinstance(result.exception, SystemExit | None), result.exception
    assert result.exit_code in {0, 1, 2, 5}
    assert "Traceback" not in result.stderr
    if result.exit_code in {1, 5}:
        lines = result.stderr.splitlines()
        assert sum(line.startswith("pgblend: error: ") for line in lines) == 1, result.stderr
        assert len(lines) <= 3, result.stderr


@pytest.fixture
def unharmed(library: list[int], connection: psycopg.Connection) -> Callable[[], None]:
    """Check that tables, rows, routines and roles are as they were."""
    before = connection.execute(TABLES).fetchone()
    assert before is not None
    assert before[0] == len(library)

    def check() -> None:
        assert connection.execute(TABLES).fetchone() == before

    return check


@TEXTS
@pytest.mark.parametrize("command", SEARCHES)
def test_queries(
    pgblend: Pgblend, unharmed: Callable[[], None], command: str, texts: tuple[str, ...]
) -> None:
    for text in texts:
        assert_harmless(pgblend(command, "--json", "--", text))
    unharmed()


@TEXTS
@pytest.mark.parametrize("option", ["--collection", "--lang", "--profile"])
def test_names(
    pgblend: Pgblend, unharmed: Callable[[], None], option: str, texts: tuple[str, ...]
) -> None:
    for text in texts:
        result = pgblend("query", "wine", "--json", f"{option}={text}")
        assert_harmless(result)
        assert result.exit_code == 1, text
        assert result.stdout == ""
    unharmed()


@TEXTS
def test_filters(pgblend: Pgblend, unharmed: Callable[[], None], texts: tuple[str, ...]) -> None:
    for text in texts:
        escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\0", "\\u0000")
        for filter_text in (text, f'{{"{escaped}": 1}}', f'{{"author": "{escaped}"}}'):
            result = pgblend("search", "wine", "--json", f"--filter={filter_text}")
            assert_harmless(result)
            assert '"source_key"' not in result.stdout
    unharmed()


@TEXTS
def test_options(pgblend: Pgblend, unharmed: Callable[[], None], texts: tuple[str, ...]) -> None:
    for text in texts:
        for option in (f"{text}=1", f"language={text}", f"vector_scan={text}", f"k1={text}"):
            result = pgblend("query", "wine", "--json", f"--option={option}")
            assert_harmless(result)
            assert result.exit_code in {1, 2}, option
            assert result.stdout == ""
    unharmed()


@TEXTS
def test_administration(
    pgblend: Pgblend, unharmed: Callable[[], None], texts: tuple[str, ...]
) -> None:
    for text in texts:
        for arguments in (
            ["document", "list", f"--collection={text}"],
            ["document", "show", f"--collection={text}", "--", text],
            ["document", "delete", "--yes", "--collection=library", "--", text],
            ["document", "set-metadata", "--collection=library", "--", text, "{}"],
            ["collection", "remove", "--yes", "--", text],
            ["collection", "grant", "--", text, text],
            ["collection", "grant", "--", "library", text],
            ["collection", "add", f"--text-config={text}", "new"],
            ["collection", "add", f"--setting={text}=1", "new"],
            ["config", "get", "--", text],
            ["config", "set", "--", text, "1"],
            ["config", "set", "--", "vector_scan", text],
            ["config", "reset", "--", text],
        ):
            assert_harmless(pgblend(*arguments))
    unharmed()


def test_a_hostile_name_is_only_a_name(pgblend: Pgblend, connection: psycopg.Connection) -> None:
    name = "'; DROP TABLE pgblend_data.chunk; --\"$$"
    assert pgblend("collection", "add", "--", name).exit_code == 0
    connection.execute("SELECT ingest_document(%s, %s, 'wine')", [name, name])
    found = pgblend("search", "wine", f"--collection={name}", "--files")
    assert found.stdout == f"{name}\n"
    assert pgblend("document", "delete", "--yes", f"--collection={name}", "--", name).exit_code == 0
    assert pgblend("collection", "remove", "--yes", "--", name).exit_code == 0
