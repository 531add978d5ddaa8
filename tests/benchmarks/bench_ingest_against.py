"""Ingest of a writer beside that of an older revision: processor time, as a ratio.

    python tests/benchmarks/bench_ingest_against.py REVISION PATH… [--rounds 6]

All databases are on one throwaway server, and a writer with row security stores the same documents
in each by the same statements. Batches take turns in an order of their own, so that other work on
the machine slows both alike; the first batch of a session, which plans everything, is left out.
Only the time of the servers' processes counts. `alone` compares the revision with itself: what
chance does. REVISION must be one whose tables take what this working tree's `store` sends.
"""

import argparse
import io
import os
import random
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import figures
from bench_ingest import batch_of, payloads_of
from timing import backend_ms

from pgblend.cli.base.database import Connection, connect
from pgblend.cli.documents.document_writer import store
from support.server import throwaway_server

ROOT = Path(__file__).resolve().parents[2]
COLLECTION = "bench_ingest"
BATCH = 50
WRITER, PASSWORD = "bench_writer", "secret"
UPGRADE = "import sys; from pgblend.migrations import runner; runner.upgrade(sys.argv[1])"
# A revision before the schema blend has its public functions in pgblend.
FIND_NAMES = "SET search_path = public, blend, pgblend"


def main() -> None:
    """Store everything in all databases, round for round, and print the ratios so far."""
    parser = argparse.ArgumentParser()
    parser.add_argument("revision")
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=6)
    given = parser.parse_args()
    payloads, chunks, _ = payloads_of(given.paths)
    batches = [payloads[first : first + BATCH] for first in range(0, len(payloads), BATCH)]
    spent: dict[str, list[float]] = {"before": [], "alone": [], "after": []}
    with throwaway_server() as server, package_of(given.revision) as package:
        urls = {name: make_conninfo("", **server, dbname=name) for name in spent}
        with psycopg.connect(make_conninfo("", **server), autocommit=True) as admin:
            for name in urls:
                admin.execute(f"CREATE DATABASE {name}")
        for name, url in urls.items():
            _prepare(url, package if name != "after" else None)
        for _ in range(given.rounds):
            _round(urls, batches, spent)
            print({name: f"{_ratio(spent, name):.3f}" for name in spent}, flush=True)
    figures.write(
        "ingest_against",
        [
            {
                "case": f"{len(payloads):,} documents, {chunks:,} chunks",
                "system": f"{name} ({given.revision})" if name != "after" else name,
                "ratio": _ratio(spent, name),
                "cpu": sum(spent[name]),
            }
            for name in spent
        ],
    )


@contextmanager
def package_of(revision: str) -> Iterator[str]:
    """A folder to import `pgblend` from, as it was at a revision."""
    archive = subprocess.run(
        ["git", "archive", revision, "cli", "migrations", "plpy", "sql"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(Path(folder, "pgblend"), filter="data")
        yield folder


def _prepare(url: str, package: str | None) -> None:
    """Migrate a database, and make a writer and an embedding space."""
    environment = os.environ | ({"PYTHONPATH": package} if package else {})
    with tempfile.TemporaryDirectory() as elsewhere:
        subprocess.run(
            [sys.executable, "-c", UPGRADE, url], cwd=elsewhere, env=environment, check=True
        )
    with connect(url) as admin:
        admin.execute(FIND_NAMES)
        if not admin.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [WRITER]).fetchone():
            admin.execute(f"CREATE ROLE {WRITER} LOGIN PASSWORD '{PASSWORD}'")
            admin.execute(f"GRANT pgblend_writer TO {WRITER}")
        admin.execute("SELECT create_embedding_space('bench', 'model', 3, probe => false)")


def _round(
    urls: dict[str, str], batches: Sequence[Sequence[bytes]], spent: dict[str, list[float]]
) -> None:
    """Store all batches into each database, and take them away."""
    for url in urls.values():
        with connect(url) as admin:
            admin.execute(FIND_NAMES)
            admin.execute("SELECT add_collection(%s)", [COLLECTION])
            admin.execute("SELECT grant_collection(%s, %s, 'write')", [COLLECTION, WRITER])
    with ExitStack() as stack:
        sessions = {
            name: stack.enter_context(connect(make_conninfo(url, user=WRITER, password=PASSWORD)))
            for name, url in urls.items()
        }
        for place, batch in enumerate(batches):
            for name in random.sample([*sessions], len(sessions)):
                cost = _store(sessions[name], batch)
                if place:
                    spent[name].append(cost)
    for url in urls.values():
        with connect(url) as admin:
            admin.execute(FIND_NAMES)
            admin.execute("SELECT remove_collection(%s)", [COLLECTION])
            admin.execute("VACUUM ANALYZE")


def _store(session: Connection, batch: Sequence[bytes]) -> float:
    before = backend_ms(session)
    store(session, COLLECTION, batch_of(batch))
    return backend_ms(session) - before


def _ratio(spent: dict[str, list[float]], name: str) -> float:
    """Return the median, over the batches, of the time beside that of `before`."""
    return statistics.median(a / b for a, b in zip(spent[name], spent["before"], strict=True))


if __name__ == "__main__":
    main()
