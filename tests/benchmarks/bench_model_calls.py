"""What a model call from within the database costs.

    python tests/benchmarks/bench_model_calls.py [--server URL]

A provider of test vectors answers at once. The same request goes to it in turn over HTTP from here
(http.client, kept connection) and from the database (embed_text), 500 times each: the difference of
the medians is what the database adds, the vector's way back to the client included. Then the memory
of that backend before and after 1,000 calls. Last, fast searches alone and beside 50 sessions whose
thorough searches wait for a slow model.
"""

import argparse
import http.client
import json
import statistics
import sys
import threading
import time
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from systems.server_database import server_url

from pgblend.cli.base.database import connect
from pgblend.migrations import runner
from support.database import Database
from support.model_library import QUERY, WEAK, fill
from support.model_provider import Behaviour, ModelProvider
from support.server import throwaway_server

CALLS = 500
SESSIONS = 50
NAME = "bench_model_calls"


def milliseconds(run: Any) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) * 1000


def overhead(db: Database, provider: ModelProvider) -> dict[str, float]:
    """Time the same request from here and from the database, in turn."""
    host, port = provider.url.removeprefix("http://").split(":")
    direct = http.client.HTTPConnection(host, int(port))
    body = json.dumps({"model": "openai/test-embedding", "input": ["some words"]})

    def over_http() -> None:
        direct.request("POST", "/v1/embeddings", body, {"Content-Type": "application/json"})
        json.loads(direct.getresponse().read())

    def in_database() -> None:
        db.rows("SELECT vector_dims((embed_text('{some words}'))[1])")

    over_http()
    in_database()
    times = [(milliseconds(over_http), milliseconds(in_database)) for _ in range(CALLS)]
    here, there = (statistics.median(column) for column in zip(*times, strict=True))
    return {"http_ms": here, "embed_text_ms": there, "overhead_ms": there - here}


def memory(db: Database) -> dict[str, float]:
    """Return the backend's private memory before and after 1,000 calls, in MB."""
    path = Path(f"/proc/{db.connection.info.backend_pid}/smaps_rollup")

    def private_mb() -> float:
        lines = (line.split() for line in path.read_text().splitlines())
        return sum(int(line[1]) for line in lines if line[0].startswith("Private")) / 1024

    before = private_mb()
    for _ in range(1000):
        db.rows("SELECT vector_dims((embed_text('{some words}'))[1])")
    return {"before_mb": before, "after_mb": private_mb()}


def beside_slow_searches(url: str, provider: ModelProvider) -> dict[str, float]:
    """Time fast searches alone, then beside sessions that wait for a slow reranker."""
    provider.behaviours["rerank"] = Behaviour(delay_seconds=1.0)
    call = "SELECT count(*) FROM hybrid_search(%s, options => %s)"
    patient = json.dumps({"expand": "off", **WEAK, "timeouts_ms": {"embed": 60000, "rerank": 5000}})
    stop = threading.Event()

    def wait_for_models(connection: psycopg.Connection) -> None:
        while not stop.is_set():
            Database(connection).rows(call, QUERY, patient)

    with ExitStack() as stack:
        fast = Database(stack.enter_context(connect(url)))
        slow = [stack.enter_context(connect(url)) for _ in range(SESSIONS)]
        by_words = '{"mode": "fast", "weights": {"vector": 0}}'

        def run() -> None:
            fast.rows(call, QUERY, by_words)

        alone = statistics.median([milliseconds(run) for _ in range(CALLS)])
        threads = [threading.Thread(target=wait_for_models, args=[each]) for each in slow]
        for thread in threads:
            thread.start()
        time.sleep(3)  # until all have begun
        beside = statistics.median([milliseconds(run) for _ in range(CALLS)])
        stop.set()
        for thread in threads:
            thread.join()
    return {"alone_ms": alone, "beside_ms": beside, "ratio": beside / alone}


def main() -> None:
    """Measure on a server of its own, or on the one named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", type=server_url, help="URL of a server; one is made without it")
    arguments = parser.parse_args()
    own = throwaway_server() if arguments.server is None else nullcontext(None)
    with own as parameters, ModelProvider() as provider:
        server = arguments.server or psycopg.conninfo.make_conninfo(**(parameters or {}))
        with psycopg.connect(server, dbname="postgres", autocommit=True) as postgres:
            postgres.execute(f"DROP DATABASE IF EXISTS {NAME}")
            postgres.execute(f"CREATE DATABASE {NAME}")
        url = psycopg.conninfo.make_conninfo(server, dbname=NAME)
        runner.upgrade(url)
        with connect(url) as connection:
            db = Database(connection)
            fill(db)
            for name, value in {"gateway_url": provider.url, "rerank_model": "cohere/x"}.items():
                db.rows("SELECT set_setting(%s, to_jsonb(%s::text))", name, value)
            db.rows("""SELECT set_setting('model_calls', '{"most": 0}')""")
            print(json.dumps(overhead(db, provider)))
            print(json.dumps(memory(db)))
        print(json.dumps(beside_slow_searches(url, provider)))


if __name__ == "__main__":
    main()
