"""Shards that fail: what is missing is named, the rest is found, and within the search's time."""

import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import pytest

from pgblend.cli.base.database import connect
from pgblend.plpy.shards.shard_answers import answered
from pgblend.plpy.shards.wire import WIRE
from support.client_database import ClientDatabase
from support.database import Database
from support.sampled import sampled
from support.shards import Scale, run_command
from support.waiting import wait_until

COUNT, DOCUMENTS = 3, 40
MOST_MS = 120_000  # a search that hangs is an error
TOTAL_MS = 4000
TIME = {"total": TOTAL_MS, "lexical": TOTAL_MS}
BROKEN = 1
_AT = (
    "SELECT o.option_value FROM pg_foreign_server AS s,"
    " pg_options_to_table(s.srvoptions) AS o WHERE o.option_name = %s"
)


@pytest.fixture
def asking(three_shards: Scale) -> Iterator[Database]:
    """Return a new session at the coordinator, which remembers no failure."""
    with connect(three_shards.coordinator.url) as connection:
        connection.execute(f"SET statement_timeout = {MOST_MS}".encode())
        yield Database(connection)


def search(database: Database, strict: bool = False, **options: Any) -> list[Any]:
    """Return the passages that are found."""
    given = {"vector_scan": "exact", "timeouts_ms": TIME, "strict": strict, **options}
    return database.rows(
        "SELECT chunk_id, degraded FROM hybrid_search('wine', 100, options => %s,"
        " query_embedding => '[1,2,3,4,5,6,7,8]')",
        json.dumps(given),
    )


@pytest.fixture
def elsewhere(three_shards: Scale) -> set[int]:
    """Return the passages that the shards that do not break have."""
    return {
        chunk_id
        for number, shard in enumerate(three_shards.shards)
        if number != BROKEN
        for chunk_id in shard.column("SELECT c.id FROM pgblend_data.chunk AS c")
    }


def check_without(elsewhere: set[int], found: list[Any], reason: str) -> None:
    """Check that all is found but what the broken shard has, and that this is said."""
    assert {chunk_id for chunk_id, _ in found} == elsewhere
    (told,) = found[0][1]
    assert told.startswith(f"shards: 1 of {COUNT} did not answer (b{BROKEN}: ")
    assert reason in told
    assert "about 33 % of the passages are missing" in told


def check_whole(three_shards: Scale, found: list[Any]) -> None:
    assert found == search(three_shards.one)
    assert len(found) == DOCUMENTS


def down(three_shards: Scale) -> AbstractContextManager[None]:
    """A shard whose database takes no connections, and has none."""
    return three_shards.without(BROKEN)


@contextmanager
def locked(three_shards: Scale) -> Iterator[None]:
    """A shard whose statements wait."""
    with connect(three_shards.shards[BROKEN].url) as holder, holder.transaction():
        holder.execute("LOCK TABLE pgblend_data.chunk")
        yield


@contextmanager
def slow(three_shards: Scale) -> Iterator[None]:
    """A shard that answers later than a search waits."""
    shard, routine = three_shards.shards[BROKEN], "pgblend._answer_shards(integer[], text[], text)"
    shard.rows(f"ALTER FUNCTION {routine} RENAME TO _at_once")
    shard.rows(
        "CREATE FUNCTION pgblend._answer_shards(shards integer[], calls text[], trip text)"
        " RETURNS TABLE (shard integer, answer text) LANGUAGE sql AS"
        f" 'SELECT a.* FROM pg_sleep({2 * TOTAL_MS / 1000}), pgblend._at_once($1, $2, $3) AS a'"
    )
    try:
        yield
    finally:
        shard.rows(f"DROP FUNCTION {routine}")
        shard.rows("ALTER FUNCTION pgblend._at_once RENAME TO _answer_shards")


@contextmanager
def silent(three_shards: Scale) -> Iterator[None]:
    """A shard whose server takes connections and never says anything."""
    (before,) = three_shards.coordinator.column(_AT, f"p{BROKEN}")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        move(three_shards, f"host=127.0.0.1 port={port} dbname=search")
        try:
            yield
        finally:
            move(three_shards, before)


@contextmanager
def refused(three_shards: Scale) -> Iterator[None]:
    """A shard whose server is not there."""
    (before,) = three_shards.coordinator.column(_AT, f"p{BROKEN}")
    move(three_shards, "host=127.0.0.1 port=1 dbname=search")
    try:
        yield
    finally:
        move(three_shards, before)


@contextmanager
def older(three_shards: Scale) -> Iterator[None]:
    """A shard of a revision that has no answer."""
    shard = three_shards.shards[BROKEN]
    routine = "FUNCTION pgblend.{}(integer[], text[], text)"
    shard.rows(f"ALTER {routine.format('_answer_shards')} RENAME TO _of_later")
    try:
        yield
    finally:
        shard.rows(f"ALTER {routine.format('_of_later')} RENAME TO _answer_shards")


@contextmanager
def older_front(three_shards: Scale) -> Iterator[None]:
    """A shard that a change of the front has not come to."""
    shard = three_shards.shards[BROKEN]
    shard.rows("UPDATE pgblend_data.shard_self SET front_version = front_version - 1")
    try:
        yield
    finally:
        shard.rows("UPDATE pgblend_data.shard_self SET front_version = front_version + 1")


def move(three_shards: Scale, place: str) -> None:
    """Have the coordinator look for a shard somewhere else."""
    statement = f"ALTER SERVER pgblend_shards OPTIONS (SET p{BROKEN} '{place}')"
    three_shards.coordinator.connection.execute(statement.encode())


FAILURES = {
    "down": (down, "not currently accepting connections"),
    "refused": (refused, "refused"),
    "locked": (locked, "no answer within"),
    "slow": (slow, "no answer within"),
    "silent": (silent, "no answer within"),
    "older": (older, "does not exist"),
    "older_front": (older_front, "pgblend shards push"),
}


@pytest.fixture(params=sampled({name: (how,) for name, how in FAILURES.items()}, 3))
def failure(request: pytest.FixtureRequest) -> tuple[Callable[[Scale], Any], str]:
    """Return how a shard fails, and what is said of it."""
    found: tuple[Callable[[Scale], Any], str] = request.param
    return found


def test_a_shard_that_fails_is_named_and_left_out(
    three_shards: Scale,
    asking: Database,
    elsewhere: set[int],
    failure: tuple[Callable[[Scale], Any], str],
) -> None:
    fails, reason = failure
    check_whole(three_shards, search(asking))
    with fails(three_shards):
        check_without(elsewhere, search(asking), reason)
        check_without(elsewhere, search(asking), reason)
        said = asking.error(
            "SELECT * FROM lexical_search('wine', options => %s)",
            json.dumps({"strict": True, "timeouts_ms": TIME}),
        )
        assert said.sqlstate == "PB014"
        assert f"shards: 1 of {COUNT} did not answer (b{BROKEN}: " in str(said.message_primary)
    with connect(three_shards.coordinator.url) as again:
        check_whole(three_shards, search(Database(again)))


def test_all_down_is_an_error(three_shards: Scale, asking: Database) -> None:
    places = {
        number: three_shards.coordinator.column(_AT, f"p{number}")[0] for number in range(COUNT)
    }
    for number in range(COUNT + 1):
        three_shards.coordinator.connection.execute(
            f"ALTER SERVER pgblend_shards OPTIONS (SET p{number} 'host=127.0.0.1 port=1')".encode()
        )
    try:
        for _ in range(2):
            said = asking.error("SELECT * FROM hybrid_search('wine')")
            assert said.sqlstate == "PB014"
            assert str(said.message_primary).startswith("no shard answered (b0: ")
    finally:
        for number in range(COUNT + 1):
            place = places[min(number, COUNT - 1)]
            three_shards.coordinator.connection.execute(
                f"ALTER SERVER pgblend_shards OPTIONS (SET p{number} '{place}')".encode()
            )
    check_whole(three_shards, search(asking))  # at once: none was left that answered


@pytest.mark.slow
def test_a_session_finds_a_shard_again(
    three_shards: Scale, asking: Database, elsewhere: set[int]
) -> None:
    with down(three_shards):
        check_without(elsewhere, search(asking), "not currently accepting connections")
    wait_until(lambda: search(asking)[0][1] == [], seconds=30)
    check_whole(three_shards, search(asking))


def test_a_call_killed_in_the_middle_is_made_once_more(
    three_shards: Scale, asking: Database
) -> None:
    search(asking)
    name = three_shards.shards[BROKEN].value("SELECT current_database()")
    waiting = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'"
    with ThreadPoolExecutor(1) as pool:
        with locked(three_shards):
            found = pool.submit(search, asking, timeouts_ms={"total": 60000, "lexical": 60000})
            wait_until(lambda: three_shards.coordinator.column(waiting, name))
            (pid,) = three_shards.coordinator.column(waiting, name)
            # The lock is free: what is killed now is asked again, and answers.
            three_shards.coordinator.rows("SELECT pg_terminate_backend(%s)", pid)
        check_whole(three_shards, found.result(timeout=60))


@pytest.mark.slow
def test_a_session_that_stands_still_is_left_for_a_new_one(
    three_shards: Scale, asking: Database
) -> None:
    search(asking)
    own = three_shards.shards[BROKEN].connection.info.backend_pid
    name = three_shards.shards[BROKEN].value("SELECT current_database()")
    stopped = three_shards.coordinator.column(
        "SELECT pid FROM pg_stat_activity WHERE datname = %s AND pid <> %s"
        " AND backend_type = 'client backend'",
        name,
        own,
    )
    assert stopped
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        check_whole(three_shards, search(asking, timeouts_ms={"total": 12000, "lexical": 6000}))
    finally:
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def test_a_search_that_is_cancelled_ends(three_shards: Scale, asking: Database) -> None:
    search(asking)
    asking.rows("SET statement_timeout = '300ms'")
    with locked(three_shards):
        assert asking.error("SELECT * FROM hybrid_search('wine')").sqlstate == "57014"
    asking.rows(f"SET statement_timeout = {MOST_MS}")
    check_whole(three_shards, search(asking))


def test_a_trip_of_a_newer_coordinator_is_refused(three_shards: Scale) -> None:
    shard = ClientDatabase(three_shards.shards[0].url)
    with shard.connection:
        said = json.loads(answered(shard, json.dumps({"wire": WIRE + 1}), "[]"))
    assert "its revision is older than the coordinator's" in said


def test_what_is_left_out_is_told_by_commands(three_shards: Scale) -> None:
    with down(three_shards):
        told = run_command(three_shards.coordinator.url, "search", "wine", "--json")
        assert f"1 of {COUNT} did not answer" in told
