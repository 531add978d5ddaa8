"""langchain-postgres' hybrid search over the hand-written SQL's table, in a process of its own.

It wants an older pgvector than pgblend, so it is installed beside (build/bench/langchain). The
process reads a JSON request a line and answers with one: {"question"} gives keys, {"questions",
"clients", "seconds"} searches a second and their times.
"""

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

from corpora import Corpus, Question

from systems.hand_written import HandWritten

FOLDER = Path("build/bench/langchain")
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
        engine, embedding_service=FakeEmbeddings(size=int(sys.argv[3])), table_name="peer",
        id_column="key", content_column="content", embedding_column="embedding",
        metadata_columns=[], metadata_json_column=None)

def search(store, question):
    config = HybridSearchConfig(
        tsv_column="content_tsv", tsv_lang="pg_catalog." + sys.argv[2], fts_query=question[0],
        fusion_function=reciprocal_rank_fusion, primary_top_k=100, secondary_top_k=100)
    found = store.similarity_search_with_score_by_vector(
        json.loads(question[1]), k=10, hybrid_search_config=config)
    return [document.id for document, _ in found]

def several(questions, clients, seconds):
    times, end = [], time.monotonic() + seconds
    def client(first):
        own = store()
        for question in cycle(questions[first:] + questions[:first]):
            if time.monotonic() > end:
                return
            start = time.perf_counter()
            search(own, question)
            times.append((time.perf_counter() - start) * 1000)
    threads = [threading.Thread(target=client, args=[n * 20]) for n in range(clients)]
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
        answer = search(only, request["question"])
    else:
        answer = several(**request)
    print(json.dumps(answer), flush=True)
"""


class Langchain:
    """The process; its pipe adds some 0.1 ms to each search."""

    name = "langchain-postgres"
    connection = None

    def __init__(self, server: str) -> None:
        self.hand_written = HandWritten(server)

    def load(self, corpus: Corpus) -> float:
        """Start the process on the table, which is filled unless the other has done it."""
        seconds = self.hand_written.load(corpus)
        if not (FOLDER / "bin/python").exists():
            venv.create(FOLDER, with_pip=True)
        subprocess.run([FOLDER / "bin/pip", "install", "--quiet", *PACKAGES], check=True)
        url = self.hand_written.url.replace("postgresql://", "postgresql+psycopg://")
        self.process = subprocess.Popen(
            [FOLDER / "bin/python", "-c", SERVE, url, corpus.language, str(corpus.dimensions)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return seconds

    def ask(self, request: dict[str, Any]) -> Any:
        """Send a request and return the answer."""
        if self.process.stdin is None or self.process.stdout is None:
            sys.exit("langchain-postgres' process has no pipes")
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def search(self, question: Question) -> list[str]:
        """Search once."""
        return [str(key) for key in self.ask({"question": (question.text, question.as_sql)})]

    def clients(self, questions: list[Question], clients: int, seconds: float) -> Any:
        """Search from several threads at once."""
        pairs = [(question.text, question.as_sql) for question in questions]
        return self.ask({"questions": pairs, "clients": clients, "seconds": seconds})

    def bytes_stored(self) -> int | None:
        """Return nothing: the table is the other's."""
        return None

    def close(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.wait()
