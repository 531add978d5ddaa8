"""The benches: what fails is said, ratios are to the right base, and databases still fill."""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import psycopg
import pytest

BENCHES = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """Give a way to import a bench's module; it writes into a folder of the test's own."""
    monkeypatch.syspath_prepend(BENCHES)
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)

    def load(name: str) -> ModuleType:
        return __import__(name, fromlist=["*"])

    yield load
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(BENCHES)):
            del sys.modules[name]


@pytest.mark.extended
def test_a_bench_that_fails_is_a_row_that_says_so(load: Any, tmp_path: Path) -> None:
    bench, figures = load("bench"), load("figures")
    (tmp_path / figures.FOLDER).mkdir(parents=True)
    stale = tmp_path / figures.FOLDER / "memory.json"
    stale.write_text('[{"bench": "memory", "p50": 1}]')
    (row,) = bench.run(bench.Step("memory", ("postgresql://127.0.0.1:1/none",)))
    assert row["error"] == "exit code 1, see build/bench/memory.log"
    assert "pgblend" in (tmp_path / figures.FOLDER / "memory.log").read_text()
    (late,) = bench.run(bench.Step("memory", ("postgresql://127.0.0.1:1/none",), seconds=0))
    assert late["error"] == "not done after 0 s, see build/bench/memory.log"
    table = figures.table([{"bench": "a", "case": "c", "system": "s", "p50": 1.5}, row])
    assert "1.50" in table
    assert "FAILED: exit code 1" in table


@pytest.mark.parametrize(
    ("url", "why"),
    [("nosuch", 'missing "="'), ("postgresql://localhost:1", "refused"), ("", "cannot be used")],
)
def test_a_server_that_cannot_be_used_is_said(load: Any, url: str, why: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=why) as caught:
        load("systems.server_database").server_url(url)
    assert "expected a superuser's URL without a database" in str(caught.value)


def test_every_bench_looks_at_its_server_first() -> None:
    asked = {
        path.name: call
        for path in BENCHES.glob("*.py")
        for call in re.findall(r'add_argument\(\s*"(?:--)?server",[^)]*', path.read_text())
    }
    assert len(asked) > 8
    assert not [name for name, call in asked.items() if "server_url" not in call]


def test_a_published_command_tells_no_password(load: Any) -> None:
    url = "postgresql://me:secret@host"
    command = load("bench").command_of
    assert command(["--server", url, "--growth"], url) == "make bench BENCH='--server URL --growth'"
    assert command([f"--server={url}"], url) == "make bench BENCH='--server=URL'"
    assert command([], None) == "make bench"


def test_ratios(load: Any) -> None:
    figures = load("figures")
    rows = [{"system": "peer", "p50": 6.0}, {"system": "ours", "p50": 2.0}, {"system": "x"}]
    assert [row.get("ratio") for row in figures.with_ratios(rows, "ours")] == [3.0, 1.0, None]
    assert figures.with_ratios(rows[:1], "ours") == rows[:1]  # nothing to compare with


def timed(system: str, cpu: float, passages: int = 9, **more: Any) -> dict[str, Any]:
    """A row of bench_hybrid.py."""
    about = {"bench": "hybrid", "case": "", "passages": passages, "text": "short", "clients": 1}
    return about | {"system": system, "p50": 2 * cpu, "p95": 3 * cpu, "cpu": cpu} | {
        "cpu95": 2 * cpu, **more
    }  # fmt: skip


def test_one_table_of_ratios_says_which_targets_are_met(load: Any) -> None:
    targets = load("targets")
    slow = timed("langchain-postgres", 5.0)
    del slow["cpu"], slow["cpu95"]
    rows = [
        timed("pgblend", 4.0, 3, private_mb=20.0),
        timed("pgblend", 6.0, private_mb=49.5),
        timed("bare HNSW", 3.0),
        timed("hand-written SQL", 12.0),
        slow,
        timed("pgblend", 9.0, dimensions=1536),
        timed("bare HNSW", 3.0, dimensions=1536),
        timed("hand-written SQL", 8.0, dimensions=1536),
        timed("pgblend", 0, clients=8, searches_a_second=100.0),
        timed("hand-written SQL", 0, clients=8, searches_a_second=50.0),
        {"bench": "hybrid", "case": "", "passages": 9, "text": "short", "clients": 1,
         "system": "SQL with pg_textsearch", "skipped": "FeatureNotSupported: not there"},
        {"bench": "peers", "case": targets.SMALL, "system": "pgblend", "p50": 9.0, "cpu": 5.0,
         "p95": 9.0, "cpu95": 6.0},
        {"bench": "peers", "case": targets.SMALL, "system": "hand-written SQL", "p50": 1.0,
         "p95": 9.0, "cpu": 2.5, "cpu95": 6.0},
        *({"bench": "first_search", "case": case, "system": part, "cpu": cpu}
          for case, cpu in (("3", 140.0), ("9", 151.0))
          for part, cpu in (("bare SQL", cpu / 2), ("first search", cpu))),
    ]  # fmt: skip
    table = targets.compared(rows)
    found = {
        (row["what"], row["clients"], row["passages"], row["dimensions"]): row for row in table
    }

    def told(
        what: str, *names: str, clients: str = "1", passages: str = "9 short", wide: str = "384"
    ) -> list[Any]:
        return [found[what, clients, passages, wide].get(name) for name in names]

    walk = "hybrid / bare walk, depth 100"
    assert told(walk, "ours", "theirs", "ratio", "target", "met") == [6, 3, 2, "≤ 2.2", "yes"]
    ranked = "hybrid / ts_rank_cd + HNSW in one statement"
    assert told(ranked, "ratio", "ratio_p95", "target", "measure") == [0.5, 0.5, None, "processor"]
    assert told(ranked, "ours", "theirs", "ratio", "measure", clients="8") == [10, 20, 0.5, "clock"]
    assert told(ranked, "ratio", "target", "met", wide="1,536") == [1.125, "≤ 1", "no"]
    assert told(walk, "ratio", "target", wide="1,536") == [3.0, None]
    assert told("hybrid / langchain-postgres", "ratio", "measure") == [1.2, "clock"]
    peer = "hybrid / pg_textsearch + HNSW in one statement"
    assert told(peer, "ratio", "skipped") == [None, "FeatureNotSupported: not there"]
    assert told("hybrid, p95 / p50", "ratio", "met") == [2.0, "no"]
    small = "small corpus: hybrid / hand-written SQL"
    assert told(small, "ratio", "met", passages="240 short") == [2.0, "yes"]
    assert told("first search, ms", "ours", "met") == [151.0, "no"]
    assert told("first search, ms more", "ours", "met", passages="3 to 9 short") == [11.0, "no"]
    assert told("private memory of a session, MB", "ours", "met") == [49.5, "no"]
    grown = "hybrid, larger / smaller corpus"
    assert told(grown, "ratio", "met", passages="9 / 3 short") == [1.5, "no"]
    text = targets.markdown(table)
    assert len(text.splitlines()) == len(table) + 2
    assert "not measured: FeatureNotSupported: not there" in text


def test_a_session_may_take_more_above_a_million_passages(load: Any) -> None:
    rows = [timed("pgblend", 4.0, size, private_mb=55.0) for size in (1_000_000, 4_000_000)]
    rows += [timed("bare HNSW", 3.0, 4_000_000)]
    memory = [row for row in load("targets").compared(rows) if row["measure"] == "memory"]
    assert [(row["target"], row["met"]) for row in memory] == [("≤ 48", "no"), ("≤ 60", "yes")]


@pytest.mark.extended
def test_pictures_of_growth_and_of_memory(load: Any, tmp_path: Path) -> None:
    """Two sizes show no growth."""
    rows = [timed("pgblend", 4.0 + size, size, private_mb=20.0) for size in (3, 6, 9)]
    assert load("plots").draw(rows[1:], tmp_path) == []
    drawn = load("plots").draw([*rows, timed("pgblend", 1.0, clients=8)], tmp_path)
    assert set(drawn) == {path.name for path in tmp_path.glob("*.png")}
    assert set(drawn) == {"growth.png", "memory.png"}


def test_long_passages_are_joined_from_short_ones(load: Any) -> None:
    joined = load("corpora").joined
    assert list(joined(iter(["ab", "cd", "efghi", "j"]), 4)) == ["ab cd", "efghi"]
    assert list(joined(iter(["ab", "cd"]), 0)) == ["ab", "cd"]


@pytest.mark.slow
def test_quality_and_time_come_from_the_same_searches(load: Any, server: Any) -> None:
    corpora, peers = load("corpora"), load("bench_peers")
    blend, hand_written = load("systems.blend").Blend, load("systems.hand_written").HandWritten
    eye = np.eye(corpora.DIMENSIONS, dtype=np.float32)
    texts = ["red wine of France", "ships on the open sea", "a server in the cellar"]
    corpus = corpora.Corpus(
        "test_corpus",
        "english",
        3,
        lambda: (corpora.Document(f"d{n}", "", text, eye[n]) for n, text in enumerate(texts)),
        [corpora.Question("q0", "wine", eye[0]), corpora.Question("q1", "sea", eye[1])],
        {"q0": {"d0": 1}, "q1": {"d1": 1}},
    )
    secret = f":{server.password}" if server.password else ""
    url = f"postgresql://{server.user}{secret}@{server.host}:{server.port}"

    def fail() -> Any:
        raise ImportError("not there")

    def break_down() -> Any:
        raise ValueError("broken")

    chosen = {blend.name: lambda: blend(url), hand_written.name: lambda: hand_written(url)}
    try:
        ours, theirs, missing, broken = peers.measure(
            corpus, chosen | {"peer": fail, "other": break_down}
        )
    finally:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            for name in ("blend", "sql"):
                connection.execute(f"DROP DATABASE IF EXISTS bench_{name}_test_corpus")
    assert "error" not in ours | theirs, (ours, theirs)
    assert (ours["nDCG@10"], theirs["nDCG@10"]) == (1.0, 1.0)
    assert ours["ratio"] == 1.0
    assert min(ours["p50"], ours["cpu"], ours["megabytes"], ours["load_seconds"]) > 0
    assert missing == {
        "case": "test_corpus, 3",
        "system": "peer",
        "skipped": "ImportError: not there",
    }
    assert broken["error"] == "ValueError: broken"
    assert json.dumps([ours, theirs, missing])


def test_pages_show_what_was_measured_and_nothing_else(load: Any, tmp_path: Path) -> None:
    publish = load("publish")
    made = tmp_path / "made"
    made.mkdir()
    rows = [
        {"bench": "peers", "case": "scifact, 5,183", "system": "pgblend", "nDCG@10": 0.74,
         "p50": 4.0, "ratio": 1.0, "cpu": 3.0},
        {"bench": "peers", "case": "scifact, 5,183", "system": "peer", "error": "not there"},
        {"bench": "peers", "case": "small, 9", "system": "pgblend", "nDCG@10": 0.5, "p50": 7.0},
        {"bench": "fuzzy", "case": "typos", "system": "pgblend", "p50": 9.0},
    ]  # fmt: skip
    machine = {"command": "make bench", "processors": 2}
    line = {"passages": "9 short", "dimensions": "1,536", "clients": "1", "state": "warm",
            "measure": "processor", "ours": 2.0, "theirs": 1.0, "ratio": 2.0}  # fmt: skip
    table = [
        line | {"what": "hybrid / SQL", "target": "≤ 0.9", "met": "no"},
        line | {"what": "hybrid / Lance", "ratio": 0.5},
        line | {"what": "hybrid / bare walk, depth 100"},
    ]
    report = {"machine": machine, "pictures": ["growth.png"], "table": table, "rows": rows}
    (made / "report.json").write_text(json.dumps(report))
    (made / "report.md").write_text("all")
    (made / "growth.png").write_text("a picture")
    readme, benchmarks, notes = (tmp_path / page for page in publish.PAGES)
    benchmarks.parent.mkdir()
    notes.parent.mkdir(parents=True)
    readme.write_text("# before\n")
    with pytest.raises(SystemExit, match="lacks the lines"):
        publish.publish(made, tmp_path)
    assert not (tmp_path / publish.RESULTS).exists()
    for page in (readme, benchmarks, notes):
        page.write_text(f"# before\n{publish.BEGIN}\nolder\n{publish.END}\nafter\n")
    for _ in range(2):
        publish.publish(made, tmp_path)
        for text in (readme.read_text(), benchmarks.read_text(), notes.read_text()):
            assert text.startswith(f"# before\n{publish.BEGIN}\n")
            assert text.endswith(f"{publish.END}\nafter\n")
            assert "older" not in text
            assert "9.00" not in text
        assert "5,183 passages (scifact), 2 processors" in readme.read_text()
        assert "| pgblend | 0.740   | 4.00 |" in readme.read_text()
        assert "7.00" not in readme.read_text()
        assert "`make bench` (processors 2)" in benchmarks.read_text()
        assert "| scifact, 5,183 | pgblend | 0.740   | 4.00 | 1.00x |" in benchmarks.read_text()
        assert "FAILED: not there" in benchmarks.read_text()
        assert "![Time against size](images/growth.png)" in benchmarks.read_text()
        _, slower, others = benchmarks.read_text().split("Time, ")
        assert "| hybrid / SQL | 9 short  | 1,536" in slower
        assert "hybrid / Lance" not in slower
        assert "| hybrid / Lance | 9 short  | 1,536" in others
        assert "bare walk" not in slower + others
        assert "≤ 0.9" not in slower
        assert "≤ 0.9" in notes.read_text()
        assert "bare walk" in notes.read_text()
    assert (tmp_path / publish.RESULTS / "report.md").read_text() == "all"
    assert (tmp_path / publish.PICTURES / "growth.png").read_text() == "a picture"


def test_pages_have_the_figures_of_the_published_report(load: Any) -> None:
    publish = load("publish")
    report = json.loads((publish.ROOT / publish.RESULTS / "report.json").read_text("utf-8"))
    for name, part in publish.PAGES.items():
        page = (publish.ROOT / name).read_text("utf-8")
        assert publish.written(page, part(report)) == page
