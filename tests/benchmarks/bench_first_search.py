"""The first search of a connection: processor time of its backend, and where it goes.

    python tests/benchmarks/bench_first_search.py [--server URL] [PASSAGES …]

Each connection is new. One walks the vector index and does nothing else, one searches, one goes
the way of a search in parts: the interpreter, the program, numpy, the modules, the lexical view,
the rest of the first search; then a second search. Medians, with the least beside them, since a
busy machine only adds. By default a small corpus and one of twenty times as many passages.
"""

import argparse
import statistics
from contextlib import nullcontext
from itertools import cycle, islice
from pathlib import Path
from sys import path

path.insert(0, str(Path(__file__).resolve().parents[1]))

import figures
from corpora import Question, wiki
from systems.blend import SPACE, Blend
from systems.server_database import measured_server, server_url
from timing import backend_ms

SIZES = (5_000, 100_000)
CONNECTIONS = 15
BARE = f"SELECT e.chunk_id FROM pgblend_data.embedding_{SPACE} AS e ORDER BY e.embedding <=> %s"
PYTHON = "DO LANGUAGE plpython3u $$ {} $$"
MODULES = "import pgblend.plpy.search.run, pgblend.plpy.lexical.arm, pgblend.plpy.lexical.own_index"
VIEW = """
from pgblend.plpy.lexical.index import open_index
from pgblend.plpy.base.session import Backend
ids = [row["id"] for row in plpy.execute("SELECT id FROM blend.collections")]
open_index(Backend(plpy, GD), ids)
"""
PARTS = {
    "connection": "SELECT '[1]'::vector",
    "interpreter": PYTHON.format("pass"),
    "program": "SELECT pgblend._load_program()",
    "numpy": PYTHON.format("import numpy"),
    "modules": PYTHON.format(MODULES),
    "lexical view": PYTHON.format(VIEW),
}


def first_walk(blend: Blend, question: Question) -> dict[str, float]:
    """Walk the vector index in a new connection."""
    with blend.session() as connection:
        connection.execute(f"{BARE} LIMIT 100", [question.as_sql]).fetchall()
        return {"bare SQL": backend_ms(connection)}


def first_search(blend: Blend, question: Question) -> dict[str, float]:
    """Search in a new connection."""
    with blend.session() as connection:
        blend.ask(connection, question)
        return {"first search": backend_ms(connection)}


def first_in_parts(blend: Blend, question: Question) -> dict[str, float]:
    """Go the way of a first search, and search once more."""
    found = {}
    with blend.session() as connection:
        before = 0.0
        for part in (*PARTS, "rest of the first", "second search"):
            if part in PARTS:
                connection.execute(PARTS[part].encode())
            else:
                blend.ask(connection, question)
            now = backend_ms(connection)
            found[part], before = now - before, now
    return found


def measured(blend: Blend, questions: list[Question]) -> dict[str, list[float]]:
    """Return the processor time of each part in each new connection."""
    found: dict[str, list[float]] = {}
    for question in questions:
        for way in (first_walk, first_search, first_in_parts):
            for part, spent in way(blend, question).items():
                found.setdefault(part, []).append(spent)
    return found


def main() -> None:
    """Run the sizes named on the command line."""
    parser = argparse.ArgumentParser(description="The first search of a connection.")
    parser.add_argument("--server", type=server_url, help="a superuser's URL without a database")
    parser.add_argument("passages", nargs="*", type=int)
    given = parser.parse_args()
    rows: list[figures.Row] = []
    with nullcontext() if given.server else measured_server() as parts:
        server = given.server or "postgresql://{user}:{password}@{host}:{port}".format(**parts)
        for passages in given.passages or SIZES:
            corpus, blend = wiki(passages), Blend(server)
            blend.load(corpus)
            questions = list(islice(cycle(corpus.questions), CONNECTIONS))
            rows += [
                {
                    "case": f"{passages:,}",
                    "system": part,
                    "cpu": statistics.median(spent),
                    "least": min(spent),
                }
                for part, spent in measured(blend, questions).items()
            ]
            blend.close()
    figures.write("first_search", rows)


if __name__ == "__main__":
    main()
