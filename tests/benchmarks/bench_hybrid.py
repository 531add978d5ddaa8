"""hybrid_search beside its own arms, and from one to eight clients, on one server.

    python tests/benchmarks/bench_hybrid.py [--server URL] [--langchain] [--growth] [PASSAGES …]

hybrid_search (mode fast, the vector given), its arms alone, a bare walk of the HNSW index,
hand-written SQL and langchain-postgres, if asked for, answer the same questions about the first
passages of wiki_en in turn; then eight clients at a time. --growth is for several sizes: clients
are left out, and each case is compared with the same at the first size.
"""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from sys import path

path.insert(0, str(Path(__file__).resolve().parents[1]))

import figures
import psycopg
from corpora import Question, wiki
from systems import DEPTH
from systems.blend import PATIENT, SPACE, Blend
from systems.hand_written import HandWritten
from systems.langchain import Langchain
from systems.server_database import measured_server
from timing import in_turn, several_clients, summary_of

from support.word_lists import add_word_lists

SIZES = (50_000,)
GROWTH = (10_000, 100_000, 500_000)
SECONDS = 15
CLIENTS = 8
ARM = (
    "SELECT u.* FROM {} AS a, unnest(a.chunk_ids, a.document_ids, a.chunk_indexes,"
    " a.scores) WITH ORDINALITY AS u (chunk_id, document_id, chunk_index, score, rank)"
)
ARMS = {
    "lexical": ARM.format("word_list('lexical', %(query)s, %(ids)s, NULL, %(settings)s)"),
    "vector": ARM.format("vector_list(%(vector)s, NULL, %(ids)s, %(query)s, NULL, %(settings)s)"),
    "fuzzy": ARM.format("word_list('fuzzy', %(query)s, %(ids)s, NULL, %(settings)s)"),
}
BARE_INDEX = f"""
    SELECT e.chunk_id FROM pgblend_data.embedding_{SPACE} AS e
    ORDER BY e.embedding <=> %s LIMIT {DEPTH}
"""
SUM = "sum of the arms"


class Bench:
    """One size on the server."""

    def __init__(self, server: str, passages: int, langchain: bool) -> None:
        self.corpus = wiki(passages)
        self.blend, self.hand_written = Blend(server), HandWritten(server)
        self.loaded = {system.name: system.load(self.corpus) for system in self.systems}
        self.langchain = Langchain(server) if langchain else None
        if self.langchain:
            self.langchain.load(self.corpus)
        self.connection = self.blend.connection
        add_word_lists(self.connection)
        self.connection.execute(f"SET hnsw.ef_search = {DEPTH}")  # for the bare index
        row = self.connection.execute("SELECT array_agg(id) FROM blend.collections").fetchone()
        self.ids = row and row[0]
        row = self.connection.execute(
            "SELECT pgblend._search_settings(%s, NULL, %s)::text", [PATIENT, self.ids]
        ).fetchone()
        self.settings = row and row[0]

    @property
    def systems(self) -> tuple[Blend, HandWritten]:
        """The two that store the corpus."""
        return self.blend, self.hand_written

    def arm(self, name: str, question: Question) -> object:
        """Run one arm alone."""
        values = {
            "query": question.text,
            "vector": question.as_sql,
            "ids": self.ids,
            "settings": self.settings,
        }
        return self.connection.execute(ARMS[name], values, prepare=True).fetchall()

    def bare_index(self, question: Question) -> object:
        """Walk the HNSW index and do nothing else."""
        return self.connection.execute(BARE_INDEX, [question.as_sql], prepare=True).fetchall()

    def one_client(self) -> list[figures.Row]:
        """Time everything in turn."""
        searches: dict[str, Callable[[Question], object]] = {
            "pgblend": self.blend.search,
            **{f"{name} arm": partial(self.arm, name) for name in ARMS},
            "bare HNSW": self.bare_index,
            HandWritten.name: self.hand_written.search,
        }
        backends: dict[str, psycopg.Connection] = dict.fromkeys(searches, self.connection)
        backends[HandWritten.name] = self.hand_written.connection
        if self.langchain:
            searches[Langchain.name] = self.langchain.search
        measured = in_turn(searches, self.corpus.questions, backends)
        parts = [measured[f"{name} arm"] for name in ARMS]
        measured[SUM] = {
            key: [sum(row) for row in zip(*(part[key] for part in parts), strict=True)]
            for key in ("ms", "cpu")
        }
        sizes = {system.name: system.bytes_stored() for system in self.systems}
        rows = [
            {
                "case": f"{self.corpus.size:,}, one client",
                "system": name,
                **summary_of(of_system),
                "megabytes": (sizes.get(name) or 0) / 1e6 or None,
                "load_seconds": self.loaded.get(name),
            }
            for name, of_system in measured.items()
        ]
        return figures.with_ratios(rows, "pgblend")

    def many_clients(self) -> list[figures.Row]:
        """Search from several sessions at once."""
        measured = {
            system.name: several_clients(
                partial(in_session, system), self.corpus.questions, CLIENTS, SECONDS
            )
            for system in self.systems
        }
        if self.langchain:
            measured[Langchain.name] = self.langchain.clients(
                self.corpus.questions, CLIENTS, SECONDS
            )
        rows = [
            {"case": f"{self.corpus.size:,}, {CLIENTS} clients", "system": name, **values}
            for name, values in measured.items()
        ]
        return figures.with_ratios(rows, "pgblend")

    def close(self) -> None:
        """Close the sessions."""
        for system in self.systems:
            system.close()
        if self.langchain:
            self.langchain.close()


@contextmanager
def in_session(system: Blend | HandWritten) -> Iterator[Callable[[Question], object]]:
    """Open one more session and give its search."""
    with system.session() as connection:
        yield partial(system.ask, connection)


def growth_ratios(rows: list[figures.Row]) -> list[figures.Row]:
    """Compare each system with itself at the first size."""
    first: dict[str, float] = {}
    for row in rows:
        first.setdefault(row["system"], row["p50"])
    return [row | {"ratio": row["p50"] / first[row["system"]]} for row in rows]


def main() -> None:
    """Run the sizes named on the command line."""
    parser = argparse.ArgumentParser(description="hybrid_search beside its arms.")
    parser.add_argument("--server", help="a superuser's URL without a database")
    parser.add_argument("--langchain", action="store_true", help="with langchain-postgres")
    parser.add_argument("--growth", action="store_true", help="how time grows with passages")
    parser.add_argument("passages", nargs="*", type=int)
    given = parser.parse_args()
    rows: list[figures.Row] = []
    with nullcontext() if given.server else measured_server() as parts:
        server = given.server or "postgresql://{user}:{password}@{host}:{port}".format(**parts)
        for passages in given.passages or (GROWTH if given.growth else SIZES):
            bench = Bench(server, passages, given.langchain)
            rows += bench.one_client()
            if not given.growth:
                rows += bench.many_clients()
            bench.close()
    if given.growth:
        figures.write("growth", growth_ratios(rows))
    else:
        figures.write("hybrid", rows)


if __name__ == "__main__":
    main()
