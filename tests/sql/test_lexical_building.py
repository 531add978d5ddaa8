"""What searches do while another session makes a collection's first lexical index."""

import re
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

from pgblend.cli.base.database import connect
from support.waiting import wait_until

SEARCH = "SELECT source_key, degraded FROM lexical_search('wine', options => %s)"
STATUS = "SELECT status, chunks, sealed FROM lexical_status('library')"
# As the server tells it of each statement within a function, when it is over.
SLEPT = re.compile(r"duration: ([\d.]+) ms.*pg_sleep", re.DOTALL)


@pytest.fixture
def library(connection: psycopg.Connection) -> psycopg.Connection:
    """A collection whose index is lost, as after a restore of some tables only."""
    connection.execute("SELECT add_collection('library')")
    connection.execute("SELECT ingest_document('library', 'a', 'the wine of France')")
    lose_the_index(connection)
    return connection


@pytest.fixture
def builder(database_url: str) -> Iterator[psycopg.Connection]:
    """A second session."""
    with connect(database_url) as opened:
        yield opened


@pytest.fixture
def waits(library: psycopg.Connection) -> list[float]:
    """The milliseconds of each sleep of the library's session."""
    slept: list[float] = []

    def note(message: psycopg.errors.Diagnostic) -> None:
        if found := SLEPT.match(message.message_primary or ""):
            slept.append(float(found[1]))

    library.add_notice_handler(note)
    library.execute(
        "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0;"
        " SET auto_explain.log_nested_statements = on; SET auto_explain.log_level = notice"
    )
    return slept


def lose_the_index(connection: psycopg.Connection) -> None:
    connection.execute("TRUNCATE pgblend_data.segment, pgblend_data.posting, pgblend_data.pending")


def search(connection: psycopg.Connection, options: str = "{}") -> list[tuple[str, list[str]]]:
    return connection.execute(SEARCH, [options]).fetchall()


def test_states(library: psycopg.Connection, builder: psycopg.Connection) -> None:
    assert library.execute(STATUS).fetchone() == ("uninitialized", 1, 0)
    with builder.transaction():
        builder.execute("SELECT lexical_rebuild('library')")
        assert builder.execute(STATUS).fetchone() == ("ready", 1, 1)
        assert library.execute(STATUS).fetchone() == ("building", 1, 0)
    assert library.execute(STATUS).fetchone() == ("ready", 1, 1)


def test_a_search_looks_again_after_50_and_100_ms_and_goes_on_without(
    library: psycopg.Connection, builder: psycopg.Connection, waits: list[float]
) -> None:
    with builder.transaction():
        builder.execute("SELECT lexical_rebuild('library')")
        assert search(library) == []
        first, second = waits
        assert (first >= 50, second >= 100) == (True, True)
        waits.clear()
        with pytest.raises(psycopg.Error, match="has no lexical index") as strict:
            search(library, '{"strict": true}')
        assert (strict.value.sqlstate, waits) == ("PB002", [])
    assert search(library) == [("a", [])]
    assert waits == []


def test_nobody_is_waited_for_where_nobody_builds(
    library: psycopg.Connection, waits: list[float]
) -> None:
    assert (search(library), waits) == ([], [])


def test_what_is_built_while_a_search_waits_is_found(
    library: psycopg.Connection, builder: psycopg.Connection, waits: list[float]
) -> None:
    """Again, until the builder ends while the search waits: a busy machine may be late."""
    found: list[tuple[str, list[str]]] = []
    for _ in range(100):
        lose_the_index(library)
        waits.clear()
        with builder.transaction():
            builder.execute("SELECT lexical_rebuild('library')")
            searching = threading.Thread(target=lambda: found.extend(search(library)))
            searching.start()
            while searching.is_alive() and not waits:  # it has looked twice
                time.sleep(0.001)
        searching.join()
        if found:
            break
        assert len(waits) == 2
    assert found == [("a", [])]
    assert len(waits) in (1, 2)


def test_what_is_built_while_a_search_looks_is_found(
    library: psycopg.Connection, builder: psycopg.Connection, waits: list[float]
) -> None:
    """The search's snapshot is older than the index, and by then nobody builds it any more."""
    waiting = "SELECT wait_event_type FROM pg_stat_activity WHERE pid = %s"
    found: list[tuple[str, list[str]]] = []
    with builder.transaction():
        builder.execute("SELECT lexical_rebuild('library')")
        builder.execute("LOCK TABLE pgblend_data.segment")
        searching = threading.Thread(target=lambda: found.extend(search(library)))
        searching.start()
        wait_until(
            lambda: builder.execute(waiting, [library.info.backend_pid]).fetchone() == ("Lock",)
        )
    searching.join()
    assert (found, waits) == ([("a", [])], [])
