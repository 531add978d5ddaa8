"""What the ports cost a search on one node: processor time in them that is not a statement's.

    python tests/benchmarks/bench_ports.py [--server URL] [PASSAGES]

Searches run in one backend, whose StoreNode is timed as it is called: requests are read and
answers made there. The lexical arm's port is its work itself, so it is not told apart.
"""

import argparse
import json
import statistics
from contextlib import nullcontext
from pathlib import Path
from sys import path

path.insert(0, str(Path(__file__).resolve().parents[1]))

import figures
from corpora import wiki
from systems.blend import PATIENT, Blend
from systems.server_database import measured_server, server_url

WARM = 10
TIMED = """
import time
from pgblend.plpy.search import call as asked
from pgblend.plpy.search.node import StoreNode
from pgblend.plpy.search.query import Request
from pgblend.plpy.base.session import Backend

db, spent = Backend(plpy, GD), {"ports": 0.0, "statements": 0.0}

def timed(function, name):
    def call(*values):
        start = time.process_time()
        try:
            return function(*values)
        finally:
            spent[name] += time.process_time() - start
    return call

db.run = timed(db.run, "statements")
own = {name: method for name, method in vars(StoreNode).items() if not name.startswith("_")}
within = {"statements": 0.0}

def counted(method):
    whole = timed(method, "ports")
    def call(*values):
        before = spent["statements"]
        try:
            return whole(*values)
        finally:
            within["statements"] += spent["statements"] - before
    return call

try:
    for name, method in own.items():
        setattr(StoreNode, name, counted(method))
    start = time.process_time()
    asked.search(db, Request(%(text)r, 10, None, None, None, %(options)r, %(vector)r, None, "none",
                           time.time()), StoreNode(db))
    whole = time.process_time() - start
finally:
    for name, method in own.items():
        setattr(StoreNode, name, method)
plpy.notice(repr([whole * 1e3, (spent["ports"] - within["statements"]) * 1e3]))
"""


def main() -> None:
    """Run the size named on the command line."""
    parser = argparse.ArgumentParser(description="What the ports cost on one node.")
    parser.add_argument("--server", type=server_url, help="a superuser's URL without a database")
    parser.add_argument("passages", nargs="?", type=int, default=100_000)
    given = parser.parse_args()
    with nullcontext() if given.server else measured_server() as parts:
        server = given.server or "postgresql://{user}:{password}@{host}:{port}".format(**parts)
        corpus, blend = wiki(given.passages), Blend(server)
        blend.load(corpus)
        told: list[list[float]] = []
        blend.connection.add_notice_handler(
            lambda said: told.append(json.loads(said.message_primary or "[]"))
        )
        blend.connection.execute("SELECT pgblend._load_program()")
        for question in corpus.questions:
            values = {"text": question.text, "options": PATIENT, "vector": question.as_sql}
            timed = f"DO LANGUAGE plpython3u $ports${TIMED % values}$ports$"
            blend.connection.execute(timed.encode())
        blend.close()
    whole, ports = (statistics.median(column) for column in zip(*told[WARM:], strict=True))
    figures.write(
        "ports",
        [
            {"case": f"{given.passages:,}", "system": "search", "cpu": whole},
            {
                "case": f"{given.passages:,}",
                "system": "ports",
                "cpu": ports,
                "ratio": ports / whole,
            },
        ],
    )


if __name__ == "__main__":
    main()
