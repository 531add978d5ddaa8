"""langchain-postgres' hybrid search, for bench_hybrid.py, in a process and environment of its own.

It wants an older pgvector than pgblend, so it is installed beside (build/bench_hybrid/venv). The
process reads a JSON request a line and answers with one: {"question"} gives milliseconds,
{"questions", "clients", "seconds"} the summary of several threads.
"""

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

FOLDER = Path("build/bench_hybrid/venv")
PACKAGES = ("langchain-postgres>=0.0.17,<0.1", "psycopg[binary]>=3.2,<4")
SERVE = """
import json, statistics, sys, threading, time
from itertools import cycle
from langchain_core.embeddings import FakeEmbeddings
from langchain_postgres import PGEngine, PGVectorStore
from langchain_postgres.v2.hybrid_search_config import HybridSearchConfig, reciprocal_rank_fusion

def store():
    engine = PGEngine.from_connection_string(
        sys.argv[1], connect_args={"options": "-c hnsw.ef_search=100"})
    return PGVectorStore.create_sync(
        engine, embedding_service=FakeEmbeddings(size=384), table_name="peer", id_column="id",
        content_column="content", embedding_column="embedding", metadata_columns=[],
        metadata_json_column=None)

def timed(store, question):
    start = time.perf_counter()
    config = HybridSearchConfig(
        tsv_column="content_tsv", tsv_lang="pg_catalog.english", fts_query=question[0],
        fusion_function=reciprocal_rank_fusion, primary_top_k=100, secondary_top_k=100)
    store.similarity_search_with_score_by_vector(
        json.loads(question[1]), k=10, hybrid_search_config=config)
    return (time.perf_counter() - start) * 1000

def several(questions, clients, seconds):
    times, end = [], time.monotonic() + seconds
    def search(first):
        own = store()
        for question in cycle(questions[first:] + questions[:first]):
            if time.monotonic() > end:
                return
            times.append(timed(own, question))
    threads = [threading.Thread(target=search, args=[n * 20]) for n in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times.sort()
    last = len(times) - 1
    return {"searches_a_second": len(times) / seconds, "p50": statistics.median(times),
            "p95": times[int(last * 0.95)], "p99": times[int(last * 0.99)]}

only = store()
for line in sys.stdin:
    request = json.loads(line)
    if "question" in request:
        answer = timed(only, request["question"])
    else:
        answer = several(**request)
    print(json.dumps(answer), flush=True)
"""


class Langchain:
    """The process; a context."""

    def __init__(self, url: str) -> None:
        if not (FOLDER / "bin/python").exists():
            venv.create(FOLDER, with_pip=True)
            subprocess.run([FOLDER / "bin/pip", "install", "--quiet", *PACKAGES], check=True)
        url = url.replace("postgresql://", "postgresql+psycopg://")
        self.process = subprocess.Popen(
            [FOLDER / "bin/python", "-c", SERVE, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> "Langchain":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()

    def ask(self, request: dict[str, Any]) -> Any:
        """Send a request and return the answer."""
        if self.process.stdin is None or self.process.stdout is None:
            sys.exit("langchain-postgres' process has no pipes")
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def search(self, question: tuple[str, str]) -> Any:
        """Search once; the process measures too, and the pipe adds some 0.1 ms."""
        return self.ask({"question": question})

    def clients(self, questions: list[tuple[str, str]], clients: int, seconds: int) -> Any:
        """Search from several threads at once."""
        return self.ask({"questions": questions, "clients": clients, "seconds": seconds})
