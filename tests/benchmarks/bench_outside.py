"""The program outside the backend beside the one inside: trips, time and processor time a search.

    python tests/benchmarks/bench_outside.py [PASSAGES] [SEARCHES]

The same searches, words and a vector that the caller has, in turn. Time is by the clock, as a ratio
of one run; processor time is the session's and this process's. The rows must be the same.
"""

import os
import random
import statistics
import sys
import time
from pathlib import Path

import psutil
from bench_serve import WORDS, WORDS_OF_QUERY, fill

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pgblend.cli.base.database import connect
from pgblend.cli.search.calls_outside import SearchArguments, search
from pgblend.cli.search.connection import Connection
from pgblend.cli.search.statements import SEARCH
from pgblend.migrations import runner
from support.database import Database, vector_of
from support.server import throwaway_server


def seconds_of(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def main() -> int:
    passages, count = (
        int(value) for value in (sys.argv[1:] + ["2000", "200"][len(sys.argv) - 1 :])
    )
    chance = random.Random(0)
    with throwaway_server() as at:
        url = "postgresql://{user}:{password}@{host}:{port}/postgres".format(**at)
        runner.upgrade(url)
        with connect(url) as first, connect(url) as second:
            first.autocommit = second.autocommit = True
            inside = Database(first)
            fill(inside, passages, chance)
            outside = Connection(second)
            asked = []
            for _ in range(count):
                query = " ".join(chance.choices(WORDS, k=WORDS_OF_QUERY))
                asked.append((query, vector_of(query)))
            times: dict[str, list[float]] = {"inside": [], "outside": []}
            used = {"inside": 0.0, "session": 0.0, "process": 0.0}
            pids = first.info.backend_pid, second.info.backend_pid
            for turn, (query, vector) in enumerate(asked):
                values = {
                    "query": query, "limit": 10, "collections": None, "filter": None,
                    "profile": None, "options": "{}", "query_embedding": vector,
                }  # fmt: skip
                before = seconds_of(pids[0])
                began = time.perf_counter()
                rows = first.execute(SEARCH, values).fetchall()
                ended = time.perf_counter()
                if turn >= 10:
                    times["inside"].append(ended - began)
                    used["inside"] += seconds_of(pids[0]) - before
                before, own = seconds_of(pids[1]), seconds_of(os.getpid())
                began = time.perf_counter()
                answer = search(outside, SearchArguments(query, query_embedding=vector))
                ended = time.perf_counter()
                if turn >= 10:
                    times["outside"].append(ended - began)
                    used["session"] += seconds_of(pids[1]) - before
                    used["process"] += seconds_of(os.getpid()) - own
                else:
                    outside.trips = 0
                assert [row.chunk_id for row in answer["results"]] == [row[4] for row in rows]
            measured = count - 10
            medians = {name: statistics.median(of) * 1000 for name, of in times.items()}
            print(f"{passages} passages, {measured} searches")
            print(f"trips a search beside ROLLBACK: {outside.trips / measured:.1f}")
            print(", ".join(f"{name} {ms:.2f} ms" for name, ms in medians.items()),
                  f"ratio {medians['outside'] / medians['inside']:.2f}")  # fmt: skip
            print(", ".join(f"{name} {s / measured * 1000:.2f} ms" for name, s in used.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
