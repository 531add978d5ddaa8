"""Hybrid search beside its own arms and its peers, on one server: `make bench-hybrid`.

    python tests/benchmarks/bench_hybrid.py [--server URL] [PASSAGES …]

hybrid_search (mode fast, the vector given), its arms alone, hand-written SQL (ts_rank_cd and <=>
joined by RRF) and langchain-postgres' hybrid search answer the same questions in turn: the first
passages of wiki_en with vectors of 384 dimensions, ten rows each of 100 candidates from either
side. Then eight clients at a time. Prints milliseconds and ratios, and
writes them as JSON. Without --server a server is made for the run, and its data thrown away.
"""

import argparse
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import psycopg
from bench_hybrid_data import SPACE, Size, load
from bench_hybrid_langchain import Langchain
from bench_lexical import processor_ms

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pgblend.cli.database import connect
from support.server import throwaway_server

REPORT = Path("build/bench_hybrid/report.json")
SIZES = (50_000, 167_000, 500_000)
QUERIES = 200
SECONDS = 15
CLIENTS = 8
PATIENT = {"mode": "fast", "timeouts_ms": {"lexical": 600_000, "total": 600_000}}
HYBRID = "SELECT * FROM pgblend.hybrid_search(%s, 10, options => %s, query_embedding => %s)"
ARMS = {
    "lexical": "SELECT * FROM pgblend._lexical_arm(%(query)s, %(ids)s, NULL, %(settings)s)",
    "vector": "SELECT * FROM pgblend._vector_arm("
    "%(vector)s, pgblend._active_space(), %(ids)s, %(query)s, NULL, %(settings)s)",
    "fuzzy": "SELECT * FROM pgblend._fuzzy_arm(%(query)s, %(ids)s, NULL, %(settings)s)",
}
BARE_INDEX = f"""
    SELECT e.chunk_id FROM pgblend_data.embedding_{SPACE} AS e ORDER BY e.embedding <=> %s LIMIT 100
"""
# Words OR-ed, as questions need: websearch_to_tsquery would want all of them in one passage.
HAND_WRITTEN = """
    WITH words AS (
        SELECT p.id, row_number() OVER (ORDER BY ts_rank_cd(p.content_tsv, q) DESC, p.id) AS rank
        FROM public.peer AS p, to_tsquery('english', %s) AS q
        WHERE p.content_tsv @@ q
        ORDER BY ts_rank_cd(p.content_tsv, q) DESC, p.id LIMIT 100
    ), vectors AS (
        SELECT n.id, row_number() OVER (ORDER BY n.distance, n.id) AS rank
        FROM (
            SELECT p.id, p.embedding <=> %s AS distance
            FROM public.peer AS p ORDER BY distance LIMIT 100
        ) AS n
    )
    SELECT p.id, p.content,
        coalesce(1.0 / (60 + w.rank), 0) + coalesce(1.0 / (60 + v.rank), 0) AS score
    FROM words AS w FULL JOIN vectors AS v ON v.id = w.id
    INNER JOIN public.peer AS p ON p.id = coalesce(w.id, v.id)
    ORDER BY score DESC, p.id LIMIT 10
"""
Question = tuple[str, str]  # the text, and its vector as SQL text
Timed = Callable[[psycopg.Connection, Question], object]


class Bench:
    """One size on the server."""

    def __init__(self, server: str, size: Size) -> None:
        self.url = load(server, size)
        self.connection = self.session()
        self.questions = size.queries(QUERIES)
        (self.ids,), *_ = self.connection.execute("SELECT array_agg(id) FROM pgblend.collections")
        (self.settings,), *_ = self.connection.execute(
            "SELECT pgblend._search_settings(%s, NULL, %s)::text", [json.dumps(PATIENT), self.ids]
        )

    def session(self) -> psycopg.Connection:
        """Open a session with a search list as long as pgblend's own, for the others."""
        connection = connect(self.url)
        connection.execute("SET hnsw.ef_search = 100")
        return connection

    def arm(self, name: str, connection: psycopg.Connection, question: Question) -> object:
        """Run one arm alone."""
        values = {
            "query": question[0],
            "vector": question[1],
            "ids": self.ids,
            "settings": self.settings,
        }
        return connection.execute(ARMS[name], values, prepare=True).fetchall()

    @staticmethod
    def hybrid(connection: psycopg.Connection, question: Question) -> object:
        """Search with hybrid_search."""
        values = [question[0], json.dumps(PATIENT), question[1]]
        return connection.execute(HYBRID, values, prepare=True).fetchall()

    @staticmethod
    def bare_index(connection: psycopg.Connection, question: Question) -> object:
        """Walk the HNSW index and do nothing else."""
        return connection.execute(BARE_INDEX, [question[1]], prepare=True).fetchall()

    @staticmethod
    def hand_written(connection: psycopg.Connection, question: Question) -> object:
        """Search with SQL as it is usually written."""
        words = " | ".join("".join(c if c.isalnum() else " " for c in question[0]).split())
        return connection.execute(HAND_WRITTEN, [words, question[1]], prepare=True).fetchall()

    def run(self) -> dict[str, Any]:
        """Measure everything."""
        systems: dict[str, Timed] = {
            "hybrid_search": self.hybrid,
            **{f"{name} arm": partial(self.arm, name) for name in ARMS},
            "bare HNSW": self.bare_index,
            "hand-written SQL": self.hand_written,
        }
        with Langchain(self.url) as langchain:
            one = self.in_turn({
                **systems, "langchain-postgres": lambda _, question: langchain.search(question)
            })  # fmt: skip
            many = {
                "hybrid_search": self.clients(self.hybrid),
                "hand-written SQL": self.clients(self.hand_written),
                "langchain-postgres": langchain.clients(self.questions, CLIENTS, SECONDS),
            }
        return {"one client": one, f"{CLIENTS} clients": many}

    def in_turn(self, systems: dict[str, Timed]) -> dict[str, dict[str, float]]:
        """Time all systems on each question, each in turn the first, after some to warm them up.

        `cpu` is the median of processor time in the session's backend, which others disturb less.
        """
        times: dict[str, list[float]] = {name: [] for name in systems}
        processor: dict[str, list[float]] = {name: [] for name in systems}
        for place, question in enumerate(self.questions[:20] + self.questions):
            turn = place % len(systems)  # the first finds nothing of the question in caches
            for name, run in [*systems.items()][turn:] + [*systems.items()][:turn]:
                before = processor_ms(self.connection)
                start = time.perf_counter()
                run(self.connection, question)
                if place >= 20:
                    times[name].append((time.perf_counter() - start) * 1000)
                    processor[name].append(processor_ms(self.connection) - before)
        for measured in (times, processor):
            arms = [measured[f"{name} arm"] for name in ARMS]
            measured["sum of the arms"] = [sum(row) for row in zip(*arms, strict=True)]
        return {
            name: {**summary(of_system), "cpu": statistics.median(processor[name])}
            for name, of_system in times.items()
        }

    def clients(self, run: Timed) -> dict[str, float]:
        """Search from several sessions at once."""
        times: list[float] = []
        end = time.monotonic() + SECONDS

        def search(first: int) -> None:
            with self.session() as connection:
                for question in cycle(self.questions[first:] + self.questions[:first]):
                    if time.monotonic() > end:
                        return
                    start = time.perf_counter()
                    run(connection, question)
                    times.append((time.perf_counter() - start) * 1000)

        threads = [threading.Thread(target=search, args=[n * 20]) for n in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return {"searches_a_second": len(times) / SECONDS, **summary(times)}


def summary(times: list[float]) -> dict[str, float]:
    """Return the median, the 95th and the 99th percentile."""
    ordered = sorted(times)
    last = len(ordered) - 1
    return {
        "p50": statistics.median(ordered),
        "p95": ordered[int(last * 0.95)],
        "p99": ordered[int(last * 0.99)],
    }


def show(passages: int, result: dict[str, Any]) -> None:
    """Print one size's figures."""
    print(f"\n{passages:,} passages (ms p50 / p95 / p99; x the first)")
    for clients, systems in result.items():
        base = next(iter(systems.values()))["p50"]
        for name, figures in systems.items():
            rate = figures.get("searches_a_second")
            print(
                f"  {clients:10} {name:20} "
                + " / ".join(f"{figures[share]:8.2f}" for share in ("p50", "p95", "p99"))
                + f"  {figures['p50'] / base:6.2f}x"
                + (f"  {rate:7.1f} searches/s" if rate else f"  cpu {figures['cpu']:6.2f}")
            )


def main() -> None:
    """Run the sizes named on the command line, or all."""
    parser = argparse.ArgumentParser(description="Hybrid search beside its arms and its peers.")
    parser.add_argument("--server", help="a superuser's URL without a database")
    parser.add_argument("passages", nargs="*", type=int, default=SIZES)
    given = parser.parse_args()
    report = {}
    with nullcontext() if given.server else throwaway_server() as parts:
        server = given.server or "postgresql://{user}:{password}@{host}:{port}".format(**parts)
        for passages in given.passages:
            report[str(passages)] = Bench(server, Size(passages)).run()
            show(passages, report[str(passages)])
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
