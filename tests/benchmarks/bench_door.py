"""What the door costs: a statement that is none of ours, and a search beside one inside.

    python tests/benchmarks/bench_door.py [PASSAGES] [SEARCHES] [STATEMENTS]

One library is twice on one server: with PL/Python, and with stand-ins behind a door of its own
process. The same statements go to both in turn, near and with 1 ms more a trip, and the rows must
be the same. Trips are counted by a relay between door and server. All figures are of one run.
"""

import contextlib
import random
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
from bench_serve import WORDS, WORDS_OF_QUERY, fill
from delaying_proxy import delayed
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from timing import WARM, in_turn, several_clients, summary

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pgblend.cli.base.database import connect
from pgblend.migrations import runner
from support.database import Database, vector_of
from support.door import counted, door_process
from support.outside import take_python_away
from support.server import throwaway_server

SEARCH = (
    "SELECT chunk_id, score FROM blend.hybrid_search(%s, 10, query_embedding => %s::public.vector)"
)
DELAY_MS = 1.0
CLIENTS = (1, 8, 64)
SECONDS = 10


def opened(url: str, **options: Any) -> "psycopg.Connection[Any]":
    connection = psycopg.connect(url, autocommit=True, **options)
    connection.execute("SET search_path = blend, public", prepare=False)
    return connection


def statements(direct: str, through: str, count: int) -> None:
    """Print what `SELECT 1` takes, simple and prepared, without the door and through it."""
    with opened(direct) as one, opened(through) as other:
        ways: dict[str, Callable[[Any], Callable[[int], object]]] = {
            "simple": lambda c: lambda _: c.pgconn.exec_(b"SELECT 1"),
            "prepared": lambda c: lambda n: c.execute("SELECT %s::int", (n,), prepare=True),
        }
        for name, way in ways.items():
            found = in_turn({"direct": way(one), "door": way(other)}, range(count), {})
            taken = {where: summary(of["ms"]) for where, of in found.items()}
            more = (taken["door"]["p50"] - taken["direct"]["p50"]) * 1000
            print(f"{name}: {taken['direct']['p50'] * 1000:.0f} us direct,"
                  f" {taken['door']['p50'] * 1000:.0f} us through the door,"
                  f" {more:.0f} us more (p99 {taken['direct']['p99'] * 1000:.0f},"
                  f" {taken['door']['p99'] * 1000:.0f})", flush=True)  # fmt: skip


def searches(inside: str, through: str, asked: list[Any]) -> dict[str, float]:
    """Return the median of a search inside and through the door, after comparing all rows."""
    with opened(inside) as one, opened(through) as other:
        for question in asked:
            found = [c.execute(SEARCH, question).fetchall() for c in (one, other)]
            assert found[0] == found[1], question

        def way(connection: Any) -> Callable[[Any], object]:
            return lambda question: connection.execute(SEARCH, question).fetchall()

        measured = in_turn({"inside": way(one), "door": way(other)}, asked, {})
    return {name: statistics.median(of["ms"]) for name, of in measured.items()}


def trips(managed: str, asked: list[Any]) -> None:
    """Print how often a search through the door goes to the server: a new one, and asked again."""
    with counted(managed) as (relay, made), door_process(relay) as (url, _), opened(url) as door:
        found: dict[str, Counter[int]] = {"new": Counter(), "asked again": Counter()}
        for place, question in enumerate(asked):
            for counts in found.values():
                before = made[0]
                door.execute(SEARCH, question).fetchall()
                if place >= WARM:
                    counts[made[0] - before] += 1
    for kind, counts in found.items():
        listed = ", ".join(f"{trip} in {count}" for trip, count in sorted(counts.items()))
        mean = sum(trip * count for trip, count in counts.items()) / counts.total()
        print(f"trips of a question that is {kind}: {listed}; mean {mean:.2f}", flush=True)


def main() -> int:
    given = [int(value) for value in sys.argv[1:]] + [2000, 200, 10_000][len(sys.argv) - 1 :]
    passages, count, plain = given
    chance = random.Random(0)
    asked = [" ".join(chance.choices(WORDS, k=WORDS_OF_QUERY)) for _ in range(count + WARM)]
    questions = [(query, vector_of(query)) for query in asked]
    with throwaway_server() as at:
        url = "postgresql://{user}:{password}@{host}:{port}/postgres".format(**at)
        runner.upgrade(url)
        with connect(url) as connection:
            connection.autocommit = True
            fill(Database(connection), passages, chance)
        managed = make_conninfo(url, dbname="managed")
        with psycopg.connect(make_conninfo(url, dbname="template1"), autocommit=True) as admin:
            admin.execute("CREATE DATABASE managed TEMPLATE postgres")
            admin.execute('ALTER DATABASE managed SET search_path = "$user", public, blend')
        take_python_away(managed)
        host, port = str(conninfo_to_dict(url)["host"]), str(conninfo_to_dict(url)["port"])
        print(f"{passages} passages, {count} searches, {plain} statements")
        trips(managed, questions)
        with door_process(managed) as (through, _):
            statements(managed, through, plain)
            near = searches(url, through, questions)
            print(f"near: inside {near['inside']:.2f} ms, door {near['door']:.2f} ms,"
                  f" ratio {near['door'] / near['inside']:.2f}", flush=True)  # fmt: skip
            for clients in CLIENTS:
                for name, place in (("inside", url), ("door", through)):

                    @contextlib.contextmanager
                    def session(place: str = place) -> Iterator[Callable[[Any], object]]:
                        with opened(place) as connection:
                            yield lambda question: connection.execute(SEARCH, question).fetchall()

                    found = several_clients(session, questions, clients, SECONDS)
                    print(f"{clients} clients, {name}: {found['searches_a_second']:.0f} searches a"
                          f" second, p50 {found['p50']:.1f} ms, p99 {found['p99']:.1f} ms",
                          flush=True)  # fmt: skip
        with (
            delayed(host, port, DELAY_MS) as far,
            door_process(make_conninfo(managed, host="127.0.0.1", port=far)) as (through, _),
        ):
            inside = make_conninfo(url, host="127.0.0.1", port=far)
            away = searches(inside, through, questions)
            print(f"at {DELAY_MS:g} ms: inside {away['inside']:.2f} ms, door {away['door']:.2f} ms,"
                  f" ratio {away['door'] / away['inside']:.2f}", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
