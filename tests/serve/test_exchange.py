"""One message to PostgreSQL: all its results, of any size, and a session that stays good."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator

import psycopg
import pytest
import uvloop
from psycopg import errors
from psycopg.pq import TransactionStatus
from psycopg.pq.abc import PGresult

from pgblend.cli.doors.exchange import exchange

LARGE = 8_000_000  # bytes: more than a socket takes at once, each way
Session = psycopg.AsyncConnection[tuple[object, ...]]
Work = Callable[[Session], Awaitable[None]]
Run = Callable[[Coroutine[None, None, None]], None]
# The door's loop, and that of systems without it.
LOOPS = (uvloop.new_event_loop, asyncio.new_event_loop)


def values(results: list[PGresult]) -> list[bytes | None]:
    return [result.get_value(0, 0) for result in results]


@pytest.fixture(params=LOOPS, ids=["uvloop", "asyncio"])
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """What runs a coroutine on a loop."""
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield runner.run


async def in_session(url: str, work: Work) -> None:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as session:
        await work(session)
        assert session.pgconn.transaction_status == TransactionStatus.IDLE
        assert values(await exchange(session, b"SELECT 'still here'")) == [b"still here"]


async def running(admin: Session, session: Session) -> bool:
    cursor = await admin.execute(
        "SELECT state = 'active' FROM pg_stat_activity WHERE pid = %s", [session.info.backend_pid]
    )
    found = await cursor.fetchone()
    return bool(found and found[0])


def test_each_statement_has_its_result(module_url: str, run: Run) -> None:
    async def work(session: Session) -> None:
        assert values(await exchange(session, b"SELECT 1; SELECT 2 WHERE true")) == [b"1", b"2"]

    run(in_session(module_url, work))


def test_more_than_a_socket_takes_goes_and_comes(module_url: str, run: Run) -> None:
    async def work(session: Session) -> None:
        (value,) = values(await exchange(session, b"SELECT '%b'" % (b"x" * LARGE)))
        assert value == b"x" * LARGE

    run(in_session(module_url, work))


def test_an_error_is_raised_and_undoes_all(module_url: str, run: Run) -> None:
    async def work(session: Session) -> None:
        with pytest.raises(errors.DivisionByZero):
            await exchange(session, b"CREATE TABLE made (); SELECT 1 / 0")
        assert values(await exchange(session, b"SELECT to_regclass('made')")) == [None]

    run(in_session(module_url, work))


def test_who_is_cancelled_leaves_nothing_running(module_url: str, run: Run) -> None:
    async def work(session: Session) -> None:
        async with await psycopg.AsyncConnection.connect(module_url, autocommit=True) as admin:
            call = asyncio.create_task(exchange(session, b"SELECT pg_sleep(600)"))
            while not await running(admin, session):
                await asyncio.sleep(0.01)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert not await running(admin, session)

    run(in_session(module_url, work))


@pytest.mark.parametrize("is_idle", [True, False])
def test_a_session_that_is_ended_says_so(module_url: str, run: Run, is_idle: bool) -> None:
    async def work(admin: Session) -> None:
        session = await psycopg.AsyncConnection.connect(module_url, autocommit=True)
        end = "SELECT pg_terminate_backend(%s, 30000)"
        if is_idle:
            await admin.execute(end, [session.info.backend_pid])
        call = asyncio.create_task(exchange(session, b"SELECT pg_sleep(600)"))
        while not is_idle and not await running(admin, session):
            await asyncio.sleep(0.01)
        await admin.execute(end, [session.info.backend_pid])
        with pytest.raises(errors.AdminShutdown):
            await call
        assert session.broken
        with pytest.raises(psycopg.OperationalError):
            await exchange(session, b"SELECT 1")

    run(in_session(module_url, work))
