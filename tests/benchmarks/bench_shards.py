"""One node beside coordinators of shards with the same rows: results, time, trips, bytes, delays.

    python tests/benchmarks/bench_shards.py [--server URL] [--passages N] [--shards 1 2 4] …

All databases lie in one server. Processor time is that of the sessions: the coordinator's, and each
shard's. `first` is a query that its session has not seen, `again` the same once more, or the least
of --rounds, which a host that others use too disturbs less. Delays are a proxy's
(delaying_proxy.py): a round trip takes as much longer. Writes build/bench/shards.md, and
shards.json with the samples that simulate_tails.py draws from.
"""

import argparse
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import product
from operator import itemgetter
from pathlib import Path
from statistics import median
from sys import path
from typing import Any

path.insert(0, str(Path(__file__).resolve().parents[1]))

import figures
import numpy as np
import psycopg
from corpora import Corpus, Question, wiki
from delaying_proxy import delayed
from psycopg.conninfo import conninfo_to_dict
from shard_trips import Trip, trips_since, watch_trips
from systems import DEPTH, ROWS
from systems.blend import ARMS, PATIENT, Blend
from systems.server_database import measured_server, server_url
from systems.sharded import Sharded
from timing import backend_ms, milliseconds, several_clients, summary

from support.pgbouncer import pgbouncer, pgbouncer_program
from support.word_lists import add_word_lists

EXACT = json.dumps(json.loads(PATIENT) | {"vector_scan": "exact"})
EVERYTHING = (
    f"SELECT r::text FROM blend.hybrid_search(%s, {ROWS}, options => %s::jsonb,"
    " query_embedding => %s) AS r"
)
NEAREST = (
    f"SELECT v.source_key FROM blend.vector_search(NULL, {DEPTH}, query_embedding => %s,"
    " options => %s::jsonb) AS v"
)
SESSIONS = (
    "SELECT a.pid FROM pg_stat_activity AS a"
    " WHERE a.datname = %s AND a.backend_type = 'client backend'"
)
WARM = 10
POOL, SECONDS = 4, 20
PARTS = ("times", "trips", "equal", "recall", "delays", "crowd")
COLUMNS = (
    ("equal", "{}"),
    ("recall@100", "{:.4f}"),
    ("trips", "{:.2f}"),
    ("kb_out", "{:.1f}"),
    ("kb_back", "{:.1f}"),
    ("p50", "{:.1f}"),
    ("p95", "{:.1f}"),
    ("coordinator", "{:.2f}"),
    ("busiest", "{:.2f}"),
    ("all_shards", "{:.2f}"),
    ("trip_1", "{:.2f}"),
    ("arms_ratio", "{:.2f}"),
    ("searches_a_second", "{:,.1f}"),
    ("sessions", "{:d}"),
)
Rows = list[figures.Row]


def equal_rows(one: Blend, others: Sequence[Blend], questions: Sequence[Question]) -> Rows:
    """Count the questions whose rows have the same values in all columns, with exact scans."""
    same = dict.fromkeys((other.name for other in others), 0)
    for question in questions:
        values = [question.text, EXACT, question.as_sql]
        expected = one.connection.execute(EVERYTHING, values, prepare=True).fetchall()
        for other in others:
            found = other.connection.execute(EVERYTHING, values, prepare=True).fetchall()
            same[other.name] += found == expected
    return [
        {"case": "exact scan", "system": name, "equal": f"{count} of {len(questions)}"}
        for name, count in same.items()
    ]


def recalls(systems: Sequence[Blend], corpus: Corpus) -> Rows:
    """Measure how many of the nearest passages the vector indexes find."""
    keys, rows = zip(*((one.key, one.vector) for one in corpus.documents()), strict=True)
    nearest = np.stack(rows) @ np.stack([one.vector for one in corpus.questions]).T
    best = np.argpartition(-nearest, DEPTH, axis=0)[:DEPTH].T
    found: Rows = []
    for system in systems:
        hits = 0
        for question, places in zip(corpus.questions, best, strict=True):
            values = [question.as_sql, PATIENT]
            rows_found = system.connection.execute(NEAREST, values, prepare=True).fetchall()
            hits += len({keys[place] for place in places} & {key for (key,) in rows_found})
        recall = hits / (DEPTH * len(corpus.questions))
        found.append({"case": "HNSW", "system": system.name, "recall@100": recall})
    return found


def spent_ms(pids: Sequence[int]) -> list[float]:
    """Return the processor time so far of sessions on this machine."""
    return [int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6 for pid in pids]


def shard_sessions(system: Sharded) -> list[int]:
    """Return the process of each shard's session of the one coordinator that searches."""
    found = []
    with psycopg.connect(f"{system.server}/postgres", autocommit=True) as postgres:
        for shard in system.shards:
            ((pid,),) = postgres.execute(SESSIONS, [shard.rpartition("/")[2]]).fetchall()
            found.append(pid)
    return found


def warmed(system: Blend, questions: Sequence[Question]) -> psycopg.Connection:
    """Return a new session that has searched, alone with its shards."""
    system.connection.close()
    system.connection = system.session()
    for question in questions:
        system.search(question)
    return system.connection


def times(
    systems: Sequence[Blend], questions: Sequence[Question], rounds: int, samples: dict[str, Any]
) -> Rows:
    """Measure each question as new, then in rounds; the coordinators' time goes to the samples.

    Of the rounds each question's least counts. The warming questions are other ones.
    """
    warm = wiki(0, questions=len(questions) + WARM).questions[-WARM:]
    sessions = {one.name: warmed(one, warm) for one in systems}
    of_shards = {one.name: shard_sessions(one) for one in systems if isinstance(one, Sharded)}
    again = "again" if rounds == 1 else f"again, least of {rounds}"
    found: dict[tuple[str, str], dict[str, list[tuple[float, float, list[float]]]]] = {
        (case, one.name): {} for case in ("first", again) for one in systems
    }
    for cases in [("first", again), *[(again,)] * (rounds - 1)]:
        for question in questions:
            for case, system in product(cases, systems):
                name = system.name
                pids = [sessions[name].info.backend_pid, *of_shards.get(name, [])]
                before = spent_ms(pids)
                clock = milliseconds(partial(system.search, question))
                spent = [after - start for after, start in zip(spent_ms(pids), before, strict=True)]
                of_question = found[case, name].setdefault(question.key, [])
                of_question.append((clock, spent[0], spent[1:]))
    rows: Rows = []
    for (case, name), of_case in found.items():
        least = [min(each, key=itemgetter(1)) for each in of_case.values()]
        clocks, coordinator, shards = zip(*least, strict=True)
        row = {"case": f"{case}, by processor", "system": name, **summary(clocks)}
        row["coordinator"] = median(coordinator)
        if name in of_shards:
            row["busiest"] = median(max(each) for each in shards)
            row["all_shards"] = median(sum(each) for each in shards)
            samples["coordinator"].setdefault(name, {})[case.partition(",")[0]] = coordinator
        rows.append(row)
    return rows


def arms(one: Blend, questions: Sequence[Question]) -> list[float]:
    """Return the processor time of one node's two arms, for each question."""
    connection = one.connection
    add_word_lists(connection)
    ((ids,),) = connection.execute("SELECT array_agg(id) FROM blend.collections").fetchall()
    ((settings,),) = connection.execute(
        "SELECT pgblend._search_settings(%s, NULL, %s)::text", [PATIENT, ids]
    ).fetchall()
    found = []
    for place, question in enumerate([*questions[:WARM], *questions]):
        values = {"query": question.text, "vector": question.as_sql}
        before = backend_ms(connection)
        for statement in ARMS.values():
            given = values | {"ids": ids, "settings": settings}
            connection.execute(statement.encode(), given, prepare=True).fetchall()
        if place >= WARM:
            found.append(backend_ms(connection) - before)
    return found


def all_trips(
    one: Blend, systems: Sequence[Sharded], questions: Sequence[Question], samples: dict[str, Any]
) -> Rows:
    """Watch the trips of all coordinators, beside one node's two arms."""
    of_arms = median(arms(one, questions))
    rows: Rows = [{"case": "its two arms", "system": one.name, "coordinator": of_arms}]
    for system in systems:
        more, samples["trips"][system.name] = trips(system, questions, of_arms)
        rows += more
    return rows


def trips(
    system: Sharded, questions: Sequence[Question], arms_ms: float
) -> tuple[Rows, dict[str, Any]]:
    """Watch the trips of each question, asked twice."""
    connection = warmed(system, questions[-WARM:])
    watch_trips(connection, shard_sessions(system))
    found: dict[str, list[list[Trip]]] = {"first": [], "again": []}
    for question in questions[:-WARM]:
        for of_case in found.values():
            system.search(question)
            of_case.append(trips_since(connection))
    connection.close()
    system.connection = system.session()  # which nobody watches
    rows: Rows = []
    for case, searches in found.items():
        made = [trip for search in searches for trip in search]
        lists = [trip for trip in made if trip.kind == "lists"]
        busiest = median(max(trip.shards) for trip in lists)
        row = {"case": f"{case}, trips", "system": system.name, "trips": len(made) / len(searches)}
        row |= {"kb_out": sum(trip.out for trip in made) / len(made) / 1024}
        row |= {"kb_back": sum(trip.back for trip in made) / len(made) / 1024}
        row |= {"trip_1": busiest, "arms_ratio": busiest / arms_ms}
        rows.append(row)
    kept = {
        case: [
            [[trip.kind, *(round(ms, 2) for ms in trip.shards)] for trip in search]
            for search in searches
        ]
        for case, searches in found.items()
    }
    return rows, kept


def delays(system: Sharded, questions: Sequence[Question], delay_ms: float) -> Rows:
    """Measure by the clock with shards that are further away."""
    at = conninfo_to_dict(system.server)
    measured: dict[str, list[float]] = {"first": [], "again": []}
    with delayed(str(at["host"]), str(at["port"]), delay_ms) as port, reached_by(system, port):
        warmed(system, questions[-WARM:])
        for question in questions[:-WARM]:
            for clocks in measured.values():
                clocks.append(milliseconds(partial(system.search, question)))
    return [
        {"case": f"{case}, {delay_ms:g} ms away", "system": system.name, **summary(clocks)}
        for case, clocks in measured.items()
    ]


@contextmanager
def reached_by(system: Sharded, port: int) -> Iterator[None]:
    """Have a coordinator reach its shards by another port for a while."""
    system.reach_by(port)
    try:
        yield
    finally:
        system.reach_by(str(conninfo_to_dict(system.server)["port"]))


def crowd(system: Blend, questions: Sequence[Question], clients: int) -> figures.Row:
    """Search from many sessions at once; fail where one of them did."""
    failed: list[Exception] = []

    @contextmanager
    def session() -> Iterator[Any]:
        try:
            with system.session() as connection:
                yield partial(system.ask, connection)
        except (psycopg.Error, RuntimeError) as error:
            failed.append(error)

    found = several_clients(session, questions, clients, SECONDS)
    if failed:
        raise failed[0]
    return {"case": f"{clients} clients", "system": system.name, **found}


def pooled_crowd(system: Sharded, questions: Sequence[Question], clients: int) -> figures.Row:
    """The same by way of pgbouncer, and the most sessions that a shard had meanwhile."""
    program = pgbouncer_program()
    if program is None:
        return {"case": f"{clients} clients", "system": system.name, "skipped": "no pgbouncer"}
    most, ended = 0, threading.Event()
    system.connection.close()

    def count() -> None:
        nonlocal most
        with psycopg.connect(f"{system.server}/postgres", autocommit=True) as postgres:
            while not ended.wait(0.1):
                for shard in system.shards:
                    held = postgres.execute(SESSIONS, [shard.rpartition("/")[2]]).fetchall()
                    most = max(most, len(held))

    at = conninfo_to_dict(system.server)
    passwords = {str(at["user"]): str(at["password"])}
    with pgbouncer(program, str(at["host"]), str(at["port"]), passwords, POOL) as (port, _):
        system.connection = system.session()
        with reached_by(system, port):
            counting = threading.Thread(target=count)
            counting.start()
            try:
                row = crowd(system, questions, clients)
            finally:
                ended.set()
                counting.join()
    row["case"] += f", pgbouncer with {POOL} sessions a shard"
    return row | {"sessions": most}


def measured(server: str, given: argparse.Namespace, samples: dict[str, Any]) -> Iterator[Rows]:
    """Yield the rows of each part, and fill in the samples."""
    corpus = wiki(given.passages, questions=given.questions)
    timed = corpus.questions[: given.timed]
    one = Blend(server)
    one.name = "one node"
    one.load(corpus)
    sharded = [Sharded(server, count, one) for count in given.shards]
    for system in sharded:
        system.load(corpus)
    parts: dict[str, Callable[[], Rows]] = {
        "times": lambda: times([one, *sharded], timed, given.rounds, samples),
        "trips": lambda: all_trips(one, sharded, timed, samples),
        "equal": lambda: equal_rows(one, sharded, corpus.questions),
        "recall": lambda: recalls([one, *sharded], corpus),
        "delays": lambda: [
            row
            for delay_ms in given.delays
            for system in sharded
            for row in delays(system, timed[: given.delayed], delay_ms)
        ],
        "crowd": lambda: [
            crowd(one, timed, given.clients),
            *(pooled_crowd(system, timed, given.clients) for system in sharded),
        ],
    }
    for part in given.parts:
        yield parts[part]()


def main() -> None:
    """Measure everything; what there is so far is written after each part."""
    parser = argparse.ArgumentParser(description="Shards beside one node.")
    parser.add_argument("--server", type=server_url, help="a superuser's URL without a database")
    parser.add_argument("--passages", type=int, default=200_000)
    parser.add_argument("--shards", type=int, nargs="+", default=(1, 2, 4))
    parser.add_argument("--questions", type=int, default=500, help="for equal rows; 990 at most")
    parser.add_argument("--timed", type=int, default=200, help="so many of them for times")
    parser.add_argument("--rounds", type=int, default=1, help="of them, of which the least counts")
    parser.add_argument("--delays", type=float, nargs="*", default=(5, 50), metavar="MS")
    parser.add_argument("--delayed", type=int, default=110, help="questions asked from far away")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    given = parser.parse_args()
    figures.FOLDER.mkdir(parents=True, exist_ok=True)
    machine = figures.machine()
    samples: dict[str, Any] = {"passages": given.passages, "coordinator": {}, "trips": {}}
    rows: Rows = []
    with nullcontext() if given.server else measured_server() as parts:
        server = given.server or "postgresql://{user}:{password}@{host}:{port}".format(**parts)
        for more in measured(server, given, samples):
            rows += [{"bench": "shards", **row} for row in more]
            write(machine | {"passages": given.passages}, rows, samples)


def write(machine: dict[str, Any], rows: Rows, samples: dict[str, Any]) -> None:
    """Keep what was measured, and print it."""
    about = {"machine": machine, "rows": rows, "samples": samples}
    (figures.FOLDER / "shards.json").write_text(json.dumps(about), encoding="utf-8")
    heading = ", ".join(f"{key} {value}" for key, value in machine.items())
    text = f"{heading}\n\n{figures.table(rows, ('case', 'system'), COLUMNS)}\n"
    (figures.FOLDER / "shards.md").write_text(text, encoding="utf-8")
    print(text, flush=True)


if __name__ == "__main__":
    main()
