"""Where the processor time of a search goes, by samples of perf: shares of one session's backend.

    python tests/benchmarks/profile_search.py [--server URL] [--passages N] [--seconds N]

Needs root and perf (Debian: linux-perf). Each case is a session of its own that asks questions over
and over; a sample counts for the innermost of the parts that its stack is in. Shares hold on a busy
machine, where times do not; the milliseconds are the median search's without perf, times the share.
"""

import argparse
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median
from sys import path
from tempfile import TemporaryDirectory
from typing import NamedTuple

path.insert(0, str(Path(__file__).resolve().parents[1]))

import figures
import psycopg
from bench_first_search import BARE
from corpora import Question, wiki
from systems import DEPTH, ROWS
from systems.blend import HYBRID, PATIENT, PATIENT_WORDS, WORDS, Blend
from systems.server_database import measured_server, server_url
from timing import backend_ms

QUESTIONS = 100
SAMPLES_A_SECOND = 1500
STACK_BYTES = 24_576
NEAREST = (
    f"SELECT * FROM blend.vector_search(NULL, {ROWS}, query_embedding => %s, options => %s::jsonb)"
)
# What a frame of the stack, from its inmost on, says that the sample is of.
PARTS = (
    ("pgvector", lambda frame: frame.library.startswith("vector.so")),
    ("statements of the program", lambda frame: frame.symbol == "PLy_spi_execute_plan"),
    ("numpy", lambda frame: "_multiarray_umath" in frame.library),
    ("Python", lambda frame: frame.symbol == "PyEval_EvalCode"),
    ("arguments and rows of PL/Python", lambda frame: frame.symbol == "plpython3_call_handler"),
    ("PL/pgSQL around it", lambda frame: frame.symbol == "plpgsql_call_handler"),
)
REST = "client, plan, rows"


class Frame(NamedTuple):
    """A function on the stack, and the library that it is of."""

    symbol: str
    library: str


def stacks(text: str) -> Iterator[list[Frame]]:
    """Yield the stacks that `perf script` tells, the inmost frame first."""
    for sample in text.split("\n\n"):
        frames = []
        for line in sample.splitlines():
            _, _, told = line.strip().partition(" ")
            symbol, _, library = told.rpartition(" (")
            frames.append(Frame(symbol.removesuffix(" (inlined)"), Path(library[:-1]).name))
        if frames:
            yield frames


def part_of(stack: list[Frame]) -> str:
    """Return what a sample is of."""
    for frame in stack:
        for name, is_in in PARTS:
            if is_in(frame):
                return name
    return REST


def shares(connection: psycopg.Connection, seconds: int) -> dict[str, float]:
    """Return the shares of the parts in what a session does meanwhile."""
    with TemporaryDirectory() as folder:
        file = f"{folder}/samples"
        recorded = f"perf record -q -e cpu-clock -F {SAMPLES_A_SECOND} -o {file}".split()
        graph = ["--call-graph", f"dwarf,{STACK_BYTES}", "-p", str(connection.info.backend_pid)]
        subprocess.run([*recorded, *graph, "--", "sleep", str(seconds)], check=True)
        script = ["perf", "script", "-i", file, "-F", "ip,sym,dso"]
        told = subprocess.run(script, check=True, capture_output=True, text=True)
    counts = Counter(map(part_of, stacks(told.stdout)))
    return {name: counts[name] / counts.total() for name in [*(one for one, _ in PARTS), REST]}


def measured(
    system: Blend, ask: Callable[[psycopg.Connection, Question], object], seconds: int
) -> figures.Row:
    """Return the shares of one case, and the milliseconds of a search."""
    questions = wiki(0, questions=QUESTIONS).questions
    with system.session() as connection:
        connection.execute(f"SET hnsw.ef_search = {DEPTH}".encode())  # of the bare walk
        times = []
        for question in [*questions, *questions]:
            before = backend_ms(connection)
            ask(connection, question)
            times.append(backend_ms(connection) - before)
        ended = threading.Event()

        def go_on() -> None:
            for question in cycle(questions):
                ask(connection, question)
                if ended.is_set():
                    return

        asking = threading.Thread(target=go_on)
        asking.start()
        time.sleep(1)
        try:
            found = shares(connection, seconds)
        finally:
            ended.set()
            asking.join()
    return {"ms": median(times[QUESTIONS:]), **found}


def run(statement: str, *values: Callable[[Question], str]) -> Callable[..., object]:
    """Return what runs a statement with values of a question."""

    def ask(connection: psycopg.Connection, question: Question) -> object:
        given = [value(question) for value in values]
        return connection.execute(statement.encode(), given, prepare=True).fetchall()

    return ask


def main() -> None:
    parser = argparse.ArgumentParser(description="Where the time of a search goes.")
    parser.add_argument("--server", type=server_url, help="a superuser's URL without a database")
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=20)
    given = parser.parse_args()
    text, vector = (lambda question: question.text), (lambda question: question.as_sql)
    many = WORDS.replace(f"%s, {ROWS}", f"%s, {DEPTH}")
    cases = {
        "bare walk of the index": run(f"{BARE} LIMIT {DEPTH}", vector),
        "hybrid_search": run(HYBRID, text, lambda _: PATIENT, vector),
        "vector_search": run(NEAREST, vector, lambda _: PATIENT),
        "lexical_search, 10 rows": run(WORDS, text, lambda _: PATIENT_WORDS),
        "lexical_search, 100 rows": run(many, text, lambda _: PATIENT_WORDS),
    }
    with nullcontext() if given.server else measured_server() as parts:
        server = given.server or "postgresql://{user}:{password}@{host}:{port}".format(**parts)
        system = Blend(server)
        system.load(wiki(given.passages))
        for_case = partial(measured, system, seconds=given.seconds)
        rows = [{"bench": "profile", "case": name, **for_case(ask)} for name, ask in cases.items()]
    columns = [("ms", "{:.2f}"), *((name, "{:.1%}") for name, _ in PARTS), (REST, "{:.1%}")]
    print(figures.machine())
    print(figures.table(rows, ("case",), columns))


if __name__ == "__main__":
    main()
