"""The lexical arm beside its peers, on one PostgreSQL 18: `make bench-lexical`.

pgblend's arm, pg_textsearch and ts_rank_cd over GIN (words OR-ed) answer the same queries in turn,
20 rows each; bm25s has the same words in memory. Prints milliseconds and ratios to pgblend, and
writes all figures as JSON. Give names of corpora to run only those.
"""

import json
import re
import statistics
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import bm25s
import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench_lexical_data import CORPORA, Corpus
from bench_lexical_server import peer_server
from timing import in_turn, milliseconds, summary, summary_of

from pgblend.cli.base.database import connect
from pgblend.migrations import runner
from support.word_lists import add_word_lists

ROOT = Path("build/bench/postgresql-18")
REPORT = Path("build/bench/lexical_report.json")
ROWS = 20
ARM = "SELECT unnest(chunk_ids) FROM word_list('lexical', %s, %s::bigint[], %s::jsonb, %s::jsonb)"
TEXTSEARCH = f"SELECT id FROM peer ORDER BY content <@> to_bm25query(%s, 'peer_bm25') LIMIT {ROWS}"
TS_RANK = f"""
    SELECT c.id FROM pgblend_data.chunk AS c, pgblend._lexeme_tsquery(%s) AS query
    WHERE c.lexemes @@ query AND c.collection_id = %s
    ORDER BY ts_rank_cd(c.lexemes, query) DESC LIMIT {ROWS}
"""
OPTIONS = {"candidate_depth": ROWS, "timeouts_ms": {"lexical": 600_000}}
FILTERS = {"1 %": '{"one": true}', "10 %": '{"ten": true}', "50 %": '{"half": true}'}
INGEST = """
    SELECT count(stored.document_id)
    FROM peer AS p CROSS JOIN LATERAL blend.ingest_document(
        'bench', p.id::text, '', '', content_hash => 'given',
        metadata => jsonb_build_object(
            'one', p.id % 100 = 0, 'ten', p.id % 10 = 0, 'half', p.id % 2 = 0),
        chunks => jsonb_build_array(jsonb_build_object('content', p.content))) AS stored
"""
Timed = Callable[[str], object]


def load(url: str, corpus: Corpus) -> None:
    """Make a database of the corpus for pgblend and pg_textsearch; one that is there gets sql/."""
    with psycopg.connect(f"{url}/postgres", autocommit=True) as server:
        if server.execute("SELECT 1 FROM pg_database WHERE datname = %s", [corpus.name]).fetchone():
            runner.apply(f"{url}/{corpus.name}")
            return
        server.execute(f"DROP DATABASE IF EXISTS {corpus.name}_new")
        server.execute(f"CREATE DATABASE {corpus.name}_new")
    runner.upgrade(f"{url}/{corpus.name}_new")
    with psycopg.connect(f"{url}/{corpus.name}_new", autocommit=True) as connection:
        add_word_lists(connection)
        connection.execute(
            "CREATE EXTENSION pg_textsearch; CREATE TABLE peer (id int, content text)"
        )
        with connection.cursor().copy("COPY peer FROM STDIN") as copy:
            for row in enumerate(corpus.texts()):
                copy.write_row(row)
        connection.execute("SELECT blend.add_collection('bench', %s)", [corpus.text_search_config])
        connection.execute(INGEST)
        connection.execute("VACUUM ANALYZE")
        connection.execute(
            "CREATE INDEX peer_bm25 ON peer USING bm25 (content) "
            f"WITH (text_config = '{corpus.text_search_config}', k1 = 1.2, b = 0.75)"
        )
    with psycopg.connect(f"{url}/postgres", autocommit=True) as server:
        server.execute(f"ALTER DATABASE {corpus.name}_new RENAME TO {corpus.name}")


class Bench:
    """One corpus on the server."""

    def __init__(self, url: str, corpus: Corpus) -> None:
        self.url = f"{url}/{corpus.name}"
        self.corpus = corpus
        self.connection = connect(self.url)
        self.collection = self.one("SELECT id FROM pgblend_data.collection")
        self.settings = self.one(
            "SELECT pgblend._search_settings(%s, NULL, %s::bigint[])::text",
            [json.dumps(OPTIONS), [self.collection]],
        )

    def timed(self, queries: list[str], systems: dict[str, Timed]) -> dict[str, dict[str, float]]:
        """Time the systems on each query, one after the other."""
        measured = in_turn(systems, queries, dict.fromkeys(systems, self.connection))
        return {name: summary_of(of_system) for name, of_system in measured.items()}

    def one(self, statement: str, values: Any = None) -> Any:
        """Return the only value of a query."""
        row = self.connection.execute(statement, values).fetchone()
        return row and row[0]

    def arm(self, query: str, filter_: str | None = None, connection: Any = None) -> object:
        """Search with pgblend's lexical arm."""
        values = [query, [self.collection], filter_, self.settings]
        return (connection or self.connection).execute(ARM, values, prepare=True).fetchall()

    def run(self) -> dict[str, Any]:
        """Measure everything."""
        return {
            "passages": self.one("SELECT count(*) FROM peer"),
            "queries": self.compare(),
            "filters": self.filters(),
            "index": self.index(),
            "session": self.session(),
            "concurrent": self.concurrent(60 if self.corpus.name == "wiki_en" else 0),
        }

    def compare(self) -> dict[str, Any]:
        """Time all kinds of queries in all systems."""
        memory = InMemory(self.connection)
        lexemes: Callable[[str], Any] = lambda query: self.one(  # noqa: E731
            "SELECT lexemes FROM pgblend._parse_query(%s, %s)",
            [query, self.corpus.text_search_config],
        )
        execute = self.connection.execute
        systems: dict[str, Timed] = {
            "pgblend": self.arm,
            "lexical_search": lambda query: execute(
                f"SELECT * FROM blend.lexical_search(%s, {ROWS}, options => %s)",
                [query, json.dumps(OPTIONS)],
                prepare=True,
            ).fetchall(),
            "pg_textsearch": lambda query: execute(TEXTSEARCH, [query]).fetchall(),
        }
        result = {}
        for kind, queries in self.corpus.queries().items():
            terms = {query: lexemes(query) for query in queries}
            slower: dict[str, Timed] = {
                "ts_rank_cd": lambda query, terms=terms: execute(
                    TS_RANK, [terms[query], self.collection], prepare=True
                ).fetchall(),
                "bm25s": lambda query, terms=terms: memory.search(terms[query]),
            }
            result[kind] = self.timed(queries, systems) | self.timed(queries[:40], slower)
        return result

    def filters(self) -> dict[str, Any]:
        """Time the arm where few rows pass."""
        queries = self.corpus.queries()
        some = queries.get("own", queries["three words"])[:40]
        return {
            share: self.timed(some, {"pgblend": lambda query, value=value: self.arm(query, value)})
            for share, value in FILTERS.items()
        }

    def index(self) -> dict[str, float]:
        """Return bytes a posting, and chunks a second of building the index anew."""
        self.connection.execute("VACUUM FULL pgblend_data.posting, pgblend_data.segment")
        size = self.one(
            "SELECT pg_total_relation_size('pgblend_data.posting')"
            " + pg_total_relation_size('pgblend_data.segment')"
        )
        postings = self.one("SELECT sum(length(lexemes)) FROM pgblend_data.chunk")
        chunks = self.one("SELECT count(*) FROM pgblend_data.chunk")
        rebuild = milliseconds(lambda: self.one("SELECT blend.lexical_rebuild('bench')"))
        self.connection.execute("VACUUM ANALYZE pgblend_data.posting, pgblend_data.segment")
        return {
            "bytes_a_posting": float(size / postings),
            "segments": self.one("SELECT count(*) FROM pgblend_data.segment"),
            "rebuilt_chunks_a_second": chunks / rebuild * 1000,
        }

    def session(self) -> dict[str, float]:
        """Return the time of a session's first searches, and a backend's own memory after many."""
        firsts = []
        for _ in range(5):
            with connect(self.url) as connection:
                firsts.append(
                    milliseconds(lambda new=connection: self.arm("first words", connection=new))
                )
        with connect(self.url) as connection:
            for query in self.corpus.queries()["three words"]:
                self.arm(query, connection=connection)
            smaps = Path(f"/proc/{connection.info.backend_pid}/smaps_rollup").read_text()
        return {
            "first_search_ms": statistics.median(firsts),
            "private_mb": int(re.findall(r"Private_Dirty: +(\d+)", smaps)[0]) / 1024,
        }

    def concurrent(self, seconds: int, clients: int = 8) -> dict[str, float]:
        """Search from several sessions while another one writes."""
        end = time.monotonic() + seconds
        queries = next(iter(self.corpus.queries().values()))
        times: list[float] = []
        written: list[float] = []

        def search(first: int) -> None:
            with connect(self.url) as connection:
                while time.monotonic() < end:
                    query = queries[(len(times) + first) % len(queries)]
                    times.append(milliseconds(partial(self.arm, query, connection=connection)))

        def write() -> None:
            with connect(self.url) as connection:
                while time.monotonic() < end:
                    statement = "SELECT blend.ingest_document('bench', %s, %s)"
                    values = [f"new{len(written)}", queries[len(written) % len(queries)] * 5]
                    written.append(milliseconds(partial(connection.execute, statement, values)))

        threads = [threading.Thread(target=search, args=[first]) for first in range(clients)]
        threads.append(threading.Thread(target=write))
        if not seconds:
            return {}
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.connection.execute("DELETE FROM pgblend_data.document WHERE source_key LIKE 'new%'")
        self.connection.execute("SELECT blend.lexical_seal('bench')")
        return {
            "searches_a_second": len(times) / seconds,
            "writes_a_second": len(written) / seconds,
            **summary(times),
            "slowest": max(times),
        }


class InMemory:
    """bm25s over the same lexemes."""

    def __init__(self, connection: psycopg.Connection) -> None:
        rows = connection.execute(
            "SELECT ARRAY(SELECT l.lexeme FROM unnest(c.lexemes) AS l,"
            " generate_series(1, cardinality(l.positions))) FROM pgblend_data.chunk AS c"
        )
        ids: dict[str, int] = {}
        tokens = [[ids.setdefault(word, len(ids)) for word in words] for (words,) in rows]
        self.ids = ids
        self.model = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
        self.model.index((tokens, ids), show_progress=False)

    def search(self, lexemes: list[str]) -> object:
        """Return the best rows."""
        known = [[self.ids[word] for word in lexemes if word in self.ids]]
        return self.model.retrieve(known, k=ROWS, show_progress=False) if known[0] else None


def show(name: str, result: dict[str, Any]) -> None:
    """Print one corpus' figures."""
    print(f"\n{name}: {result['passages']:,} passages (ms p50 / p95, processor ms; x pgblend's)")
    for kind, systems in result["queries"].items():
        ours = systems["pgblend"]
        cells = (
            f"{system} {times['p50']:.2f} / {times['p95']:.2f} ({times['p50'] / ours['p50']:.1f}x),"
            f" {times['cpu']:.2f} ({times['cpu'] / ours['cpu']:.1f}x)"
            for system, times in systems.items()
        )
        print(f"  {kind:14} " + "\n                 ".join(cells))
    for share, systems in result["filters"].items():
        print(
            f"  filter {share:7} {systems['pgblend']['p50']:.2f} / {systems['pgblend']['p95']:.2f}"
        )
    for part in ("index", "session", "concurrent"):
        print(f"  {part:14} {json.dumps({k: round(v, 2) for k, v in result[part].items()})}")


def main() -> None:
    """Run the corpora named on the command line, or all."""
    chosen = [corpus for corpus in CORPORA if corpus.name in sys.argv[1:] or not sys.argv[1:]]
    report = {}
    with peer_server(ROOT) as url:
        for corpus in chosen:
            load(url, corpus)
            report[corpus.name] = Bench(url, corpus).run()
            show(corpus.name, report[corpus.name])
    if {"zipf_50k", "zipf_500k"} <= report.keys():
        few, many = (report[name]["queries"] for name in ("zipf_50k", "zipf_500k"))
        for kind in few:
            growth = many[kind]["pgblend"]["p50"] / few[kind]["pgblend"]["p50"]
            print(f"growth from 50,000 to 500,000, {kind}: {growth:.1f}x")
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(json.dumps(report, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
