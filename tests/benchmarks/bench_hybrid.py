"""hybrid_search beside its own arms, a bare walk and its peers, from one and eight clients.

    python tests/benchmarks/bench_hybrid.py [--server URL] [--long N] [--clients] [--alone]
        [--vectors N] [--dimensions N …] -- N …

hybrid_search (mode fast, the vector given), its arms alone, lexical_search and vector_search, a
bare walk of the HNSW index and the peers answer the same questions about the first passages of
wiki_en in turn, for each number of passages; --long: about so many of 1,500 characters too.
--clients: then eight clients at a time, at the last number and the long ones. --alone: without
peers. --vectors: only the first so many passages have one, for sizes whose index takes hours.
--dimensions: all of that (but the long ones) once more with vectors repeated until they are so
wide; cosines, and so what is found, stay as they are.
Private memory is that of a new session after all questions. What cannot be had here is
left out and named.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from sys import path
from typing import Any

path.insert(0, str(Path(__file__).resolve().parents[1]))

import figures
import psycopg
from bench_peers import LANCE, SQLITE, loaded, makers
from corpora import DIMENSIONS, Corpus, Question, wiki
from systems import DEPTH, System
from systems.blend import ARM, ARMS, PATIENT, PATIENT_WORDS, SPACE, Blend
from systems.hand_written import HandWritten, HandWrittenTextsearch
from systems.langchain import Langchain
from systems.server_database import measured_server, server_url
from timing import in_turn, private_mb, several_clients, summary_of

from support.word_lists import add_word_lists

SIZES = (50_000,)
LONG_CHARACTERS = 1500
SECONDS = 15
CLIENTS = 8
LESS = 50
PEERS = (HandWritten.name, HandWrittenTextsearch.name, LANCE, SQLITE, Langchain.name)
STATEMENTS = {
    **ARMS,
    "fuzzy arm": ARM.format("word_list('fuzzy', %(query)s, %(ids)s, NULL, %(settings)s)"),
    **{
        f"lexical_search, {rows} rows": "SELECT * FROM blend.lexical_search("
        f"%(query)s, {rows}, options => %(words_options)s::jsonb)"
        for rows in (10, 100)
    },
    **{
        f"lexical_search, {rows} rows of two columns": "SELECT source_key, content"
        f" FROM blend.lexical_search(%(query)s, {rows}, options => %(narrow_options)s::jsonb)"
        for rows in (10, 100)
    },
    "vector_search, 10 rows": "SELECT * FROM blend.vector_search("
    "NULL, 10, query_embedding => %(vector)s, options => %(options)s::jsonb)",
    "bare HNSW": f"SELECT e.chunk_id FROM pgblend_data.embedding_{SPACE} AS e"
    f" ORDER BY e.embedding <=> %(vector)s LIMIT {DEPTH}",
}
# The same with 50 candidates of either side.
SHORTER = json.dumps(json.loads(PATIENT) | {"candidate_depth": LESS, "ef_search": LESS})
TWO = {"columns": ["source_key", "content"]}  # what the peers give
NARROW = json.dumps(json.loads(PATIENT_WORDS) | TWO)
NARROW_HYBRID = json.dumps(json.loads(PATIENT) | TWO)
BARE_SHORTER = STATEMENTS["bare HNSW"].replace(f"LIMIT {DEPTH}", f"LIMIT {LESS}")
Search = Callable[[Question], object]


class Bench:
    """One corpus on the server."""

    def __init__(self, server: str, corpus: Corpus, peers: Sequence[str]) -> None:
        self.corpus = corpus
        chosen = makers(server)
        self.systems, self.rows = loaded(
            corpus, {name: chosen[name] for name in (Blend.name, *peers)}
        )
        blend = self.systems[Blend.name]
        assert isinstance(blend, Blend)
        self.blend, self.connection = blend, blend.connection
        add_word_lists(self.connection)
        self.connection.execute(f"SET hnsw.ef_search = {DEPTH}")  # for the bare index
        self.sessions = {"depth 50": self.blend.session()}
        self.sessions["depth 50"].execute(f"SET hnsw.ef_search = {LESS}")
        row = self.connection.execute("SELECT array_agg(id) FROM blend.collections").fetchone()
        self.ids = row and row[0]
        row = self.connection.execute(
            "SELECT pgblend._search_settings(%s, NULL, %s)::text", [PATIENT, self.ids]
        ).fetchone()
        self.settings = row and row[0]

    def run(self, connection: psycopg.Connection, statement: str, question: Question) -> object:
        """Run one statement."""
        values = {
            "query": question.text,
            "vector": question.as_sql,
            "ids": self.ids,
            "settings": self.settings,
            "options": PATIENT,
            "words_options": PATIENT_WORDS,
            "narrow_options": NARROW,
        }
        return connection.execute(statement.encode(), values, prepare=True).fetchall()

    def searches(self) -> dict[str, tuple[Search, psycopg.Connection | None]]:
        """Return all that is timed by one client, each with its session."""
        own, less = self.connection, self.sessions["depth 50"]
        found: dict[str, tuple[Search, psycopg.Connection | None]] = {
            name: (system.search, system.connection) for name, system in self.systems.items()
        }
        for name, statement in STATEMENTS.items():
            found[name] = partial(self.run, own, statement), own
        found["pgblend, two columns"] = lambda q: self.blend.ask(own, q, NARROW_HYBRID), own
        found["pgblend, depth 50"] = lambda q: self.blend.ask(own, q, SHORTER), own
        found["bare HNSW, depth 50"] = partial(self.run, less, BARE_SHORTER), less
        peer = self.systems.get(HandWrittenTextsearch.name)
        if isinstance(peer, HandWrittenTextsearch):
            session = self.sessions["peer"] = peer.session(LESS)
            found[f"{peer.name}, depth 50"] = lambda q: peer.ask(session, q, LESS), session
            found["pg_textsearch and HNSW apart"] = peer.apart, peer.connection
            for rows in (20, 100):
                search = partial(peer.words_alone, rows)
                found[f"pg_textsearch, {rows} rows"] = search, peer.connection
        return found

    def one_client(self) -> list[figures.Row]:
        """Time everything in turn."""
        searches = self.searches()
        measured = in_turn(
            {name: search for name, (search, _) in searches.items()},
            self.corpus.questions,
            {name: connection for name, (_, connection) in searches.items() if connection},
        )
        if Langchain.name in measured:
            measured[Langchain.name]["cpu"] = []  # spent in processes of its own
        found = {name: summary_of(figures_of) for name, figures_of in measured.items()}
        memory = {name: self.memory(self.systems[name]) for name in self.systems}
        rows = [
            self.rows.get(name, {"system": name})
            | found.get(name, {})
            | ({"private_mb": memory[name]} if memory.get(name) else {})
            for name in dict.fromkeys([*self.rows, *found])
        ]
        return figures.with_ratios([self.named(row, 1) for row in rows], Blend.name)

    def memory(self, system: System) -> float | None:
        """Return the private memory of a new session's backend after all questions."""
        if not isinstance(system, Blend | HandWritten):
            return None
        with system.session() as connection:
            for question in self.corpus.questions:
                system.ask(connection, question)
            return private_mb(connection)

    def many_clients(self) -> list[figures.Row]:
        """Search from several sessions at once."""
        rows = []
        for name, system in self.systems.items():
            asked = self.corpus.questions, CLIENTS, SECONDS
            if isinstance(system, Langchain):
                values = system.clients(*asked)
            else:
                values = several_clients(partial(in_session, system), *asked)
            rows.append(self.named({"system": name, **values}, CLIENTS))
        return figures.with_ratios(rows, Blend.name)

    def named(self, row: figures.Row, clients: int) -> figures.Row:
        """Say what was searched, and by how many."""
        text = "long" if self.corpus.name.startswith("long") else "short"
        by = "one client" if clients == 1 else f"{clients} clients"
        size, dimensions = self.corpus.size, self.corpus.dimensions
        wide = "" if dimensions == DIMENSIONS else f" of {dimensions:,} dimensions"
        about = {"passages": size, "text": text, "clients": clients, "dimensions": dimensions}
        return row | {"case": f"{size:,} {text}{wide}, {by}"} | about

    def close(self) -> None:
        """Close the sessions."""
        for closed in (*self.sessions.values(), *self.systems.values()):
            closed.close()


@contextmanager
def in_session(system: Any) -> Iterator[Search]:
    """Open one more session and give its search."""
    with system.session() as session:
        yield partial(system.ask, session)


def main() -> None:
    """Run the sizes named on the command line."""
    parser = argparse.ArgumentParser(description="hybrid_search beside its arms and peers.")
    parser.add_argument("--server", type=server_url, help="a superuser's URL without a database")
    parser.add_argument("--long", type=int, help="so many passages of 1,500 characters too")
    parser.add_argument("--clients", action="store_true", help="with eight clients")
    parser.add_argument("--alone", action="store_true", help="without peers")
    parser.add_argument("--vectors", type=int, help="only so many passages have one")
    parser.add_argument(
        "--dimensions", nargs="+", type=int, default=[DIMENSIONS], help="of vectors, repeated"
    )
    parser.add_argument("passages", nargs="*", type=int, default=SIZES)
    given = parser.parse_args()
    corpora = [
        wiki(passages, with_vectors=given.vectors, dimensions=dimensions)
        for dimensions in given.dimensions
        for passages in given.passages
    ]
    crowded = [corpus for corpus in corpora if corpus.size == given.passages[-1]]
    if given.long:
        corpora.append(wiki(given.long, LONG_CHARACTERS))
        crowded.append(corpora[-1])
    rows: list[figures.Row] = []
    with nullcontext() if given.server else measured_server() as parts:
        server = given.server or "postgresql://{user}:{password}@{host}:{port}".format(**parts)
        for corpus in corpora:
            bench = Bench(server, corpus, () if given.alone else PEERS)
            rows += bench.one_client()
            if given.clients and corpus in crowded:
                rows += bench.many_clients()
            bench.close()
            figures.write("hybrid", rows)


if __name__ == "__main__":
    main()
