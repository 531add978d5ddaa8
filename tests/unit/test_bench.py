"""The benches: what fails is said, ratios are to the right base, and databases still fill."""

import json
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


def test_a_published_command_tells_no_password(load: Any) -> None:
    url = "postgresql://me:secret@host"
    command = load("bench").command_of
    assert command(["--server", url, "--growth"], url) == "make bench BENCH='--server URL --growth'"
    assert command([f"--server={url}"], url) == "make bench BENCH='--server=URL'"
    assert command([], None) == "make bench"


def test_ratios(load: Any) -> None:
    figures, hybrid = load("figures"), load("bench_hybrid")
    rows = [{"system": "peer", "p50": 6.0}, {"system": "ours", "p50": 2.0}, {"system": "x"}]
    assert [row.get("ratio") for row in figures.with_ratios(rows, "ours")] == [3.0, 1.0, None]
    assert figures.with_ratios(rows[:1], "ours") == rows[:1]  # nothing to compare with
    grown = hybrid.growth_ratios([{"system": "a", "p50": 2.0}, {"system": "a", "p50": 5.0}])
    assert [row["ratio"] for row in grown] == [1.0, 2.5]


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

    chosen = {blend.name: lambda: blend(url), hand_written.name: lambda: hand_written(url)}
    try:
        ours, theirs, missing = peers.measure(corpus, chosen | {"peer": fail})
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
        "error": "ImportError: not there",
    }
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
    (made / "report.json").write_text(json.dumps({"machine": machine, "rows": rows}))
    (made / "report.md").write_text("all")
    (made / "growth.png").write_text("a picture")
    readme, benchmarks = (tmp_path / page for page in publish.PAGES)
    benchmarks.parent.mkdir()
    readme.write_text("# before\n")
    with pytest.raises(SystemExit, match="lacks the lines"):
        publish.publish(made, tmp_path)
    assert not (tmp_path / publish.RESULTS).exists()
    for page in (readme, benchmarks):
        page.write_text(f"# before\n{publish.BEGIN}\nolder\n{publish.END}\nafter\n")
    for _ in range(2):
        publish.publish(made, tmp_path)
        for text in (readme.read_text(), benchmarks.read_text()):
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
    assert (tmp_path / publish.RESULTS / "report.md").read_text() == "all"
    assert (tmp_path / publish.PICTURES / "growth.png").read_text() == "a picture"


def test_pages_have_the_figures_of_the_published_report(load: Any) -> None:
    publish = load("publish")
    report = json.loads((publish.ROOT / publish.RESULTS / "report.json").read_text("utf-8"))
    for name, part in publish.PAGES.items():
        page = (publish.ROOT / name).read_text("utf-8")
        assert publish.written(page, part(report)) == page
