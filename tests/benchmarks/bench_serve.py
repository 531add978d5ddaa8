"""What HTTP adds to a search in processor time, and how many searches 8 and 64 clients get.

    python tests/benchmarks/bench_serve.py [PASSAGES] [SEARCHES]

The same searches, words and a vector that the caller has, once in SQL over a connection that stays
open and once as POST /v1/search, in turn. Counted is the processor time of everybody who takes
part: the caller, the door, and the server's sessions. All figures are of one run on one machine.
"""

import http.client
import json
import os
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import psycopg
from psycopg.conninfo import make_conninfo

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from timing import summary

from pgblend.cli.base.database import connect
from pgblend.cli.search.statements import SEARCH
from pgblend.migrations import runner
from support.database import Database, add_space, embed_waiting, vector_of
from support.serve_process import DOOR_PASSWORD, ServeProcess, door_role, token_of
from support.server import throwaway_server

BEGINNINGS = ("ba", "de", "fi", "go", "lu", "ma", "ne", "po", "ri", "su")
ENDS = ("bor", "cat", "den", "fum", "gal", "hin", "kol", "lam", "mip", "nor")
WORDS = [f"{beginning}{end}" for beginning in BEGINNINGS for end in ENDS]
WORDS_OF_PASSAGE, WORDS_OF_QUERY = 80, 3
REST_SECONDS = 0.0005  # what a process does after its answer is a search's as well
CLIENTS = (1, 8, 64)
TENANT = "bench_tenant"
JSON = {"Content-Type": "application/json"}


def fill(db: Database, passages: int, chance: random.Random) -> None:
    """Store passages of made words, with vectors."""
    add_space(db)
    db.rows("SELECT add_collection('made')")
    for number in range(passages):
        text = " ".join(chance.choices(WORDS, k=WORDS_OF_PASSAGE))
        db.rows("SELECT ingest_document('made', %s, %s)", str(number), text)
    while embed_waiting(db):
        pass
    db.rows("SELECT lexical_seal('made')")
    db.connection.execute("VACUUM ANALYZE")


def queries(count: int, chance: random.Random) -> list[dict[str, Any]]:
    """Return bodies of searches, each with its vector."""
    asked = [" ".join(chance.sample(WORDS, k=WORDS_OF_QUERY)) for _ in range(count)]
    return [{"query": text, "query_embedding": json.loads(vector_of(text))} for text in asked]


class InSql:
    """Searches in SQL, as a role."""

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True)
        self.connection.execute(f"SET ROLE {TENANT}")

    def search(self, body: dict[str, Any]) -> int:
        given = {
            **dict.fromkeys(("collections", "filter", "profile")),
            "query": body["query"],
            "limit": 10,
            "options": "{}",
            "query_embedding": json.dumps(body["query_embedding"]),
        }
        return len(self.connection.execute(SEARCH, given).fetchall())


class OverHttp:
    """Searches over HTTP."""

    def __init__(self, url: str, token: str) -> None:
        address = urlsplit(url)
        self.connection = http.client.HTTPConnection(str(address.hostname), address.port)
        self.headers = JSON | {"Authorization": f"Bearer {token}"}

    def search(self, body: dict[str, Any]) -> int:
        self.connection.request("POST", "/v1/search", json.dumps(body).encode(), self.headers)
        answer = self.connection.getresponse()
        content = answer.read()
        assert answer.status == 200, content
        return len(json.loads(content)["results"])


Pids = dict[str, list[int]]


def processor_ms(pids: list[int]) -> float:
    """Return the processor time of processes so far."""
    tasks = (task for pid in pids for task in Path(f"/proc/{pid}/task").glob("*/schedstat"))
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e6


def processor_time(
    search: Callable[[dict[str, Any]], int], body: dict[str, Any], pids: Pids
) -> dict[str, float]:
    """Return the processor time of one search, by who takes it."""
    before = {name: processor_ms(of) for name, of in pids.items()}
    start = time.process_time_ns()
    search(body)
    caller = (time.process_time_ns() - start) / 1e6
    time.sleep(REST_SECONDS)
    return {"caller": caller} | {name: processor_ms(of) - before[name] for name, of in pids.items()}


def sessions(db: Database, application: str) -> list[int]:
    return db.column("SELECT pid FROM pg_stat_activity WHERE application_name = %s", application)


def load(
    clients: list[Callable[[dict[str, Any]], int]], bodies: list[dict[str, Any]]
) -> tuple[float, list[float]]:
    """Return searches a second, and the time of each, of clients that search side by side."""
    times: list[float] = []
    left = iter(bodies)
    lock = threading.Lock()

    def work(search: Callable[[dict[str, Any]], int]) -> None:
        while True:
            with lock:
                body = next(left, None)
            if body is None:
                return
            start = time.perf_counter()
            search(body)
            times.append((time.perf_counter() - start) * 1000)

    threads = [threading.Thread(target=work, args=(search,)) for search in clients]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(bodies) / (time.perf_counter() - start), times


@contextmanager
def opened_door(
    passages: int, chance: random.Random
) -> Iterator[tuple[Database, str, ServeProcess, str]]:
    """A filled database, its URL, a door to it and a token."""
    with throwaway_server() as parts:
        url = make_conninfo("", dbname="postgres", **parts)
        runner.upgrade(url)
        with connect(url) as admin, door_role(admin, "bench_door", TENANT) as login:
            db = Database(admin)
            fill(db, passages, chance)
            db.rows("SELECT grant_collection('made', %s)", TENANT)
            token = token_of(admin, TENANT)
            door_url = make_conninfo(url, user=login, password=DOOR_PASSWORD)
            options = ("--pool-size", "4", "--concurrency", "1000")
            with ServeProcess(door_url, *options) as process:
                yield db, url, process, token


def main(passages: int, searches: int) -> None:
    """Print the figures."""
    chance = random.Random(24)
    with opened_door(passages, chance) as (db, url, process, token):
        in_sql, over_http = InSql(url), OverHttp(process.url, token)
        for body in queries(40, chance):
            assert in_sql.search(body) == over_http.search(body)
        serving = sessions(db, "pgblend serve")
        ways: dict[str, tuple[Callable[[dict[str, Any]], int], Pids]] = {
            "SQL": (in_sql.search, {"session": [in_sql.connection.info.backend_pid]}),
            "HTTP": (over_http.search, {"door": [process.pid], "session": serving}),
        }
        taken: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
        for body in queries(searches, chance):
            for name, (search, pids) in ways.items():
                taken[name].append(processor_time(search, body, pids))
        print(f"{passages} passages, {searches} searches, {os.cpu_count()} processors")
        for name, times in taken.items():
            parts = {part: statistics.median(each[part] for each in times) for part in times[0]}
            told = ", ".join(f"{part} {value:.2f}" for part, value in parts.items())
            print(f"{name}: ms of processor time a search, medians: {told}")
        pairs = zip(taken["HTTP"], taken["SQL"], strict=True)
        added = statistics.median(sum(a.values()) - sum(b.values()) for a, b in pairs)
        print(f"HTTP adds {added:.2f} ms")
        print(f"the door's memory: {psutil.Process(process.pid).memory_info().rss >> 20} MiB")
        for count in CLIENTS:
            callers = [OverHttp(process.url, token).search for _ in range(count)]
            rate, times = load(callers, queries(searches, chance))
            figures = summary(times)
            print(
                f"{count} clients: {rate:.0f} searches a second, "
                f"p50 {figures['p50']:.1f} ms, p95 {figures['p95']:.1f} ms"
            )


if __name__ == "__main__":
    given = [int(number) for number in sys.argv[1:]]
    main(*(given + [2000, 1000][len(given) :]))
