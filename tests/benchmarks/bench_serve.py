"""What HTTP adds to a search, with the program in the server and in `serve` (serve_program).

    python tests/benchmarks/bench_serve.py [PASSAGES] [SEARCHES]

The same searches, words and a vector that the caller has, in SQL over a connection that stays open
and as POST /v1/search of two doors, in turn: one to a database whose setting is `inside`, one to
its copy with `outside`. Counted is the processor time of everybody who takes part: the caller, the
door, and the server's sessions. Then the first search of a role over a fresh connection, searches
a second of 1, 8 and 64 clients, and the memory of 50 sessions. All figures are of one run on one
machine.
"""

import http.client
import json
import os
import random
import re
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg.conninfo import make_conninfo

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from pgblend.cli.base.database import connect
from pgblend.cli.search.statements import SEARCH
from pgblend.migrations import runner
from support.database import Database, add_space, embed_waiting, vector_of
from support.serve_process import DOOR_PASSWORD, ServeProcess, make_door_role, token_of
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


PLACES = ("inside", "outside")
SESSIONS = 50
FIRST = 5  # roles that search for the first time


@dataclass(frozen=True)
class Doors:
    """A database and its copy, by where their program runs, and what is needed to call them."""

    admins: dict[str, Database]
    logins: dict[str, str]  # URLs of the doors' login
    tokens: list[str]  # of the tenant, then of the roles that search for the first time

    def opened(self, place: str, pool_size: int) -> ServeProcess:
        """Return a door, which is to be entered."""
        options = ("--pool-size", str(pool_size), "--concurrency", "1000", "--pool-timeout", "600")
        return ServeProcess(self.logins[place], *options)

    def sessions(self, place: str) -> list[int]:
        """Return the processes of the server that serve a door."""
        return self.admins[place].column(
            "SELECT pid FROM pg_stat_activity"
            " WHERE application_name = 'pgblend serve' AND datname = current_database()"
        )


@contextmanager
def filled(passages: int, chance: random.Random) -> Iterator[tuple[str, Doors]]:
    """A filled database's URL, and it and its copy."""
    roles = [TENANT, *(f"bench_first_{number}" for number in range(FIRST))]
    with throwaway_server() as parts, ExitStack() as stack:
        urls = {place: make_conninfo("", dbname=place, **parts) for place in PLACES}
        with connect(make_conninfo("", dbname="postgres", **parts), check=False) as first:
            first.execute("CREATE DATABASE inside")
            runner.upgrade(urls["inside"])
            make_door_role(first, login := "bench_door", *roles)  # they go with the server
            with connect(urls["inside"]) as admin:
                db = Database(admin)
                fill(db, passages, chance)
                for role in roles:
                    db.rows("SELECT grant_collection('made', %s)", role)
                tokens = [token_of(admin, role) for role in roles]
            first.execute("CREATE DATABASE outside TEMPLATE inside")
        admins = {place: Database(stack.enter_context(connect(url))) for place, url in urls.items()}
        for place, admin_of in admins.items():
            admin_of.rows("SELECT set_setting('serve_program', %s)", json.dumps(place))
        logins = {
            place: make_conninfo(url, user=login, password=DOOR_PASSWORD)
            for place, url in urls.items()
        }
        yield urls["inside"], Doors(admins, logins, tokens)


def private_mib(pids: Iterable[int]) -> float:
    """Return the memory that is of processes alone, shared buffers apart."""
    sizes = []
    for pid in pids:
        told = Path(f"/proc/{pid}/smaps_rollup").read_text()
        sizes += [int(kb) for kb in re.findall(r"^Private_\w+:\s+(\d+) kB$", told, re.M)]
    return sum(sizes) / 1024


def compare_searches(url: str, doors: Doors, searches: int, chance: random.Random) -> None:
    """Print the processor time of a search, in SQL and over HTTP by both doors, in turn."""
    with ExitStack() as stack:
        processes = {place: stack.enter_context(doors.opened(place, 1)) for place in PLACES}
        in_sql = InSql(url)
        over = {place: OverHttp(processes[place].url, doors.tokens[0]) for place in PLACES}
        for body in queries(40, chance):
            assert (
                in_sql.search(body) == over["inside"].search(body) == over["outside"].search(body)
            )
        ways: dict[str, tuple[Callable[[dict[str, Any]], int], Pids]] = {
            "SQL": (in_sql.search, {"session": [in_sql.connection.info.backend_pid]})
        }
        for place in PLACES:
            pids = {"door": [processes[place].pid], "session": doors.sessions(place)}
            ways[place] = over[place].search, pids
        taken: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
        for body in queries(searches, chance):
            for name, (search, pids) in ways.items():
                began = time.perf_counter()
                times = processor_time(search, body, pids)
                times["clock"] = (time.perf_counter() - began - REST_SECONDS) * 1000
                taken[name].append(times)
        for name, each in taken.items():
            parts = {part: statistics.median(one[part] for one in each) for part in each[0]}
            parts["all"] = sum(value for part, value in parts.items() if part != "clock")
            print(f"{name}: ms a search, medians: {_told(parts)}")
    for count in CLIENTS:
        compare_rates(doors, count, queries(searches, chance))


def compare_rates(doors: Doors, count: int, bodies: list[dict[str, Any]]) -> None:
    """Print searches a second of so many clients, of both doors with 4 connections in turn."""
    rates: dict[str, list[float]] = {place: [] for place in PLACES}
    with ExitStack() as stack:
        wide = {place: stack.enter_context(doors.opened(place, 4)) for place in PLACES}
        for place in PLACES:  # until its token is known, an address has eight calls at a time
            OverHttp(wide[place].url, doors.tokens[0]).search(bodies[0])
        for turn in range(4):
            part = bodies[turn::4]
            for place in PLACES:
                callers = [OverHttp(wide[place].url, doors.tokens[0]).search for _ in range(count)]
                rate, _ = load(callers, part)
                rates[place].append(rate)
    medians = {place: statistics.median(of[1:]) for place, of in rates.items()}
    print(f"{count} clients: searches a second {_told(medians)}")


def compare_first_searches(doors: Doors, chance: random.Random) -> None:
    """Print what a role's first search takes, over a new connection of a door that has searched."""
    (body,) = queries(1, chance)
    taken: dict[str, list[float]] = {place: [] for place in PLACES}
    for token in doors.tokens[1:]:
        for place in PLACES:
            with doors.opened(place, 1) as process:
                OverHttp(process.url, doors.tokens[0]).search(body)
                for pid in doors.sessions(place):
                    doors.admins[place].rows("SELECT pg_terminate_backend(%s)", pid)
                own = -processor_ms([process.pid])
                OverHttp(process.url, token).search(body)
                time.sleep(REST_SECONDS)
                taken[place].append(own + processor_ms([process.pid, *doors.sessions(place)]))
    medians = {place: statistics.median(of) for place, of in taken.items()}
    print(f"first search of a role, new connection: ms of processor time {_told(medians)}")


def compare_memory(doors: Doors, chance: random.Random) -> None:
    """Print the memory of a door and its sessions after as many searches at once."""
    for place in PLACES:
        with doors.opened(place, SESSIONS) as process:
            tokens = doors.tokens  # of one of them three quarters of the connections
            for token in tokens:
                OverHttp(process.url, token).search(queries(1, chance)[0])
            callers = [
                OverHttp(process.url, tokens[number % len(tokens)]).search
                for number in range(2 * SESSIONS)
            ]
            load(callers, queries(10 * SESSIONS, chance))
            pids = doors.sessions(place)
            parts = {"door": private_mib([process.pid]), "sessions": private_mib(pids)}
            parts["a session"] = parts["sessions"] / len(pids)
            print(f"{place}: {len(pids)} sessions, MiB of their own: {_told(parts)}")


def _told(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())


def main(passages: int, searches: int) -> None:
    """Print the figures."""
    chance = random.Random(24)
    with filled(passages, chance) as (url, doors):
        print(f"{passages} passages, {searches} searches, {os.cpu_count()} processors", flush=True)
        compare_searches(url, doors, searches, chance)
        compare_first_searches(doors, chance)
        compare_memory(doors, chance)


if __name__ == "__main__":
    given = [int(number) for number in sys.argv[1:]]
    main(*(given + [2000, 1000][len(given) :]))
