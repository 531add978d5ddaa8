"""pgblend beside its peers: quality and time of the same questions in the same run.

    python tests/benchmarks/bench_peers.py [--server URL] [CORPUS …]

A corpus is a judged set with ready vectors (scifact), `mixed` (nine of them in one collection), or
a number of passages of wiki_en (time only). All systems get the same documents, vectors and
questions, take 100 candidates from either side and give ten rows; they answer each question in
turn. What cannot be had here, such as pg_textsearch in most servers, is left out and named.
"""

import argparse
import subprocess
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from sys import path

path.insert(0, str(Path(__file__).resolve().parents[1]))

import figures
import psycopg
from corpora import Corpus, corpus_of
from ir_measures import Qrel, ScoredDoc, calc_aggregate, nDCG
from systems import System
from systems.blend import Blend, BlendWords
from systems.hand_written import HandWritten, HandWrittenTextsearch
from systems.langchain import Langchain
from systems.server_database import measured_server, server_url
from timing import in_turn, summary_of

LANCE, SQLITE = "LanceDB hybrid", "SQLite FTS5 + sqlite-vec"
CORPORA = ("xquad-de", "scifact", "mixed", "50000")
# What says that a peer cannot be had here: its package, or its extension of the server.
MISSING = (
    ImportError,
    psycopg.errors.FeatureNotSupported,
    psycopg.errors.UndefinedFile,
    subprocess.CalledProcessError,
)


def makers(server: str) -> dict[str, Callable[[], System]]:
    """Return how to make each system, by name; peers are imported only then."""

    def sqlite() -> System:
        from systems.sqlite import SQLite

        return SQLite()

    def lance() -> System:
        from systems.lance import Lance

        return Lance()

    def memory() -> System:
        from systems.memory import Memory

        return Memory()

    return {
        Blend.name: lambda: Blend(server),
        HandWritten.name: lambda: HandWritten(server),
        HandWrittenTextsearch.name: lambda: HandWrittenTextsearch(server),
        LANCE: lance,
        SQLITE: sqlite,
        Langchain.name: lambda: Langchain(server),
        BlendWords.name: lambda: BlendWords(server),
        "bm25s, words only": memory,
    }


def loaded(
    corpus: Corpus, chosen: Mapping[str, Callable[[], System]]
) -> tuple[dict[str, System], dict[str, figures.Row]]:
    """Load the corpus into every system; return those that answer, and a row for each.

    The row of one that fails says so, or that it cannot be had here.
    """
    rows: dict[str, figures.Row] = {}
    systems: dict[str, System] = {}
    for name, make in chosen.items():
        rows[name] = {"case": f"{corpus.name}, {corpus.size:,}", "system": name}
        try:
            system = make()
            rows[name]["load_seconds"] = system.load(corpus)
            stored = system.bytes_stored()
            rows[name]["megabytes"] = stored / 1e6 if stored else None
            system.search(corpus.questions[0])
            systems[name] = system
        except Exception as error:  # whatever a peer raises, the others go on
            kind = "skipped" if isinstance(error, MISSING) else "error"
            rows[name][kind] = f"{type(error).__name__}: {error}".splitlines()[0]
    return systems, rows


def measure(corpus: Corpus, chosen: Mapping[str, Callable[[], System]]) -> list[figures.Row]:
    """Load the corpus into every system and ask them all."""
    systems, rows = loaded(corpus, chosen)
    found = {
        name: {question.key: system.search(question) for question in corpus.questions}
        for name, system in systems.items()
    }
    backends = {name: each.connection for name, each in systems.items() if each.connection}
    searches = {name: each.search for name, each in systems.items()}
    for name, measured in in_turn(searches, corpus.questions, backends).items():
        if name == Langchain.name:
            measured["cpu"] = []  # spent in processes of its own
        rows[name] |= summary_of(measured)
        if corpus.judgements:
            rows[name]["nDCG@10"] = ndcg_at_10(corpus, found[name])
    for system in systems.values():
        system.close()
    return figures.with_ratios([*rows.values()], Blend.name)


def ndcg_at_10(corpus: Corpus, found: dict[str, list[str]]) -> float:
    """Return the mean nDCG@10 over the corpus' questions."""
    judgements = [
        Qrel(query, document, grade)
        for query, grades in corpus.judgements.items()
        for document, grade in grades.items()
    ]
    ranked = [
        ScoredDoc(query, key, -place)
        for query, keys in found.items()
        for place, key in enumerate(keys)
    ]
    return float(calc_aggregate([nDCG @ 10], judgements, ranked)[nDCG @ 10])


def main() -> None:
    """Run the corpora named on the command line."""
    parser = argparse.ArgumentParser(description="pgblend beside its peers.")
    parser.add_argument("--server", type=server_url, help="a superuser's URL without a database")
    parser.add_argument("corpora", nargs="*", default=CORPORA)
    given = parser.parse_args()
    rows = []
    with nullcontext() if given.server else measured_server() as parts:
        server = given.server or "postgresql://{user}:{password}@{host}:{port}".format(**parts)
        chosen = makers(server)
        for name in given.corpora:
            rows += measure(corpus_of(name), chosen)
    figures.write("peers", rows)


if __name__ == "__main__":
    main()
