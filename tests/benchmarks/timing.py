"""Time and its percentiles, alike for all benches."""

import random
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TypeVar

import psycopg

T = TypeVar("T")
WARM = 10


def milliseconds(run: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1000


def processor_ms(connection: psycopg.Connection | None = None) -> float:
    """Return the processor time so far of this process, and of a session's backend.

    Other work on the machine disturbs it less than the clock.
    """
    own = time.process_time_ns() / 1e6
    if connection is None:
        return own
    return own + backend_ms(connection)


def backend_ms(connection: psycopg.Connection) -> float:
    """Return the processor time so far of a session's backend, which is on this machine."""
    schedule = Path(f"/proc/{connection.info.backend_pid}/schedstat").read_text()
    return int(schedule.split()[0]) / 1e6


def private_mb(connection: psycopg.Connection) -> float | None:
    """Return the memory that a session's backend shares with no process; None if kept secret."""
    try:
        text = Path(f"/proc/{connection.info.backend_pid}/smaps_rollup").read_text()
    except PermissionError:
        return None
    lines = (line.split() for line in text.splitlines() if line.startswith("Private_"))
    return sum(int(kilobytes) for _, kilobytes, _ in lines) / 1024


def summary_of(measured: Mapping[str, list[float]]) -> dict[str, float]:
    """Return the percentiles of what `in_turn` measured: the clock's, and processor time's."""
    found = summary(measured["ms"])
    if measured["cpu"]:
        cpu = summary(measured["cpu"])
        found |= {"cpu": cpu["p50"], "cpu95": cpu["p95"]}
    return found


def summary(times: Iterable[float]) -> dict[str, float]:
    """Return the median, the 90th, 95th and 99th percentile."""
    ordered = sorted(times)
    last = len(ordered) - 1
    return {
        "p50": statistics.median(ordered),
        "p90": ordered[int(last * 0.9)],
        "p95": ordered[int(last * 0.95)],
        "p99": ordered[int(last * 0.99)],
    }


def in_turn(
    systems: Mapping[str, Callable[[T], object]],
    questions: Sequence[T],
    backends: Mapping[str, psycopg.Connection],
) -> dict[str, dict[str, list[float]]]:
    """Time all systems on each question, after some to warm them up, in an order of its own.

    So a busy machine slows all of them alike, and none profits more than others from what the ones
    before it brought into caches. Gives milliseconds (`ms`) and those of processor time (`cpu`):
    this process' threads and, where the system has one, its session's backend.
    """
    found: dict[str, dict[str, list[float]]] = {name: {"ms": [], "cpu": []} for name in systems}
    shuffled = random.Random(0)
    warm = [*questions[:WARM]]
    for place, question in enumerate([*warm, *questions]):
        for name, run in shuffled.sample([*systems.items()], len(systems)):
            before = processor_ms(backends.get(name))
            spent = milliseconds(partial(run, question))
            if place >= len(warm):
                found[name]["ms"].append(spent)
                found[name]["cpu"].append(processor_ms(backends.get(name)) - before)
    return found


def several_clients(
    session: Callable[[], AbstractContextManager[Callable[[T], object]]],
    questions: Sequence[T],
    clients: int,
    seconds: float,
) -> dict[str, float]:
    """Search from several sessions at once; searches a second, and percentiles of their times."""
    times: list[float] = []
    end = time.monotonic() + seconds

    def search(first: int) -> None:
        with session() as run:
            for question in cycle([*questions[first:], *questions[:first]]):
                if time.monotonic() > end:
                    return
                times.append(milliseconds(partial(run, question)))

    step = max(1, len(questions) // clients)
    threads = [threading.Thread(target=search, args=[n * step]) for n in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"searches_a_second": len(times) / seconds, **summary(times)}
