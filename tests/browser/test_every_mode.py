"""The page about a search, for every mode and profile, as the command line writes it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console
from selectolax.lexbor import LexborHTMLParser

from pgblend.cli.main import cli
from pgblend.cli.search.explain_text import render_text
from pgblend.cli.search.explain_trace import NOTHING, Trace, milliseconds
from support.browser import Browser
from support.database import Database
from support.model_library import QUERY, WEAK, fill, use_models
from support.model_provider import GatewayProcess, ModelProvider

pytestmark = pytest.mark.browser
PROFILES = ("balanced", "gno_epic", "gno", "three_arm", "rrf_mmr", "graph")
PATIENT = {"timeouts_ms": {"lexical": 60000, "embed": 60000, "expand": 60000, "rerank": 60000}}


@pytest.fixture
def library(committed: Database, gateway: GatewayProcess, model_provider: ModelProvider) -> str:
    """A database whose models all answer; returns its URL."""
    fill(committed)
    committed.rows("""SELECT add_links('c', 'deploy', '[{"target": "wine"}, {"target": "sea"}]')""")
    use_models(committed, gateway, model_provider)
    return committed.url


def pgblend(url: str, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["--database-url", url, *arguments])


def number(text: str) -> float:
    return float(text.replace(NOTHING, "0"))


def check_page(tree: LexborHTMLParser, document: dict[str, Any]) -> None:
    """Parts add up to each score, and boxes to the total."""
    results = document["results"]
    cards = tree.css("details.result")
    assert len(cards) == len(results) > 0
    for card, row in zip(cards, results, strict=True):
        *rows, total = card.css("table.parts tbody tr")
        adds = [number(one.css("td.number")[-1].text()) for one in rows]
        assert number(total.css("td.number")[-1].text()) == pytest.approx(row["score"], abs=6e-4)
        assert sum(adds) == pytest.approx(row["score"], abs=6e-4 * (len(adds) + 1))
        assert {one.css_first("th").text().split()[0] for one in rows} >= {
            name.split("_")[0] for name in row["arms"]
        }
    stages = Trace.from_json(document).stages
    assert sum(stage.ms for stage in stages) == pytest.approx(document["total_ms"])
    boxes = [box.css_first("title").text() for box in tree.css("svg.flow.wide g.stage")]
    for stage in stages:
        if not stage.skipped:
            assert any(box.startswith(f"{stage.label}: {milliseconds(stage.ms)}") for box in boxes)
    timed = [row.css_first(".name").text() for row in tree.css("svg.timeline.wide g.stage")]
    assert timed == [stage.label for stage in stages if not stage.skipped]
    assert len(tree.css("svg.timeline.wide .call")) == sum(
        "model_ms" in (stage.get("details") or {}) for stage in document["stages"]
    )


@pytest.mark.parametrize("mode", ["fast", "default", "thorough"])
def test_every_profile(library: str, browser: Browser, tmp_path: Path, mode: str) -> None:
    switches = []
    for name, value in (WEAK | PATIENT | {"mode": mode}).items():
        switches += ["--option", f"{name}={json.dumps(value)}"]
    for profile in PROFILES:
        page = tmp_path / f"{profile}.html"
        result = pgblend(
            *(library, "query", QUERY, "--profile", profile, *switches),
            *("--json", "--explain", "--explain-html", str(page)),
        )
        assert result.exit_code == 0, result.output
        document = json.loads(result.stdout)
        assert document["degraded"] == []
        assert document["meta"]["reranked"] is (mode != "fast")
        assert document["meta"]["expanded"] is (mode == "thorough")
        explained = document["explain"]
        check_page(LexborHTMLParser(page.read_text(encoding="utf-8")), explained)
        console = Console(width=80)
        with console.capture() as text:
            console.print(render_text(Trace.from_json(explained)))
        assert text.get().count("parts ") == sum(row["score"] > 0 for row in explained["results"])
    # All of them in one browser, each in a frame that says what its script did.
    frames = tmp_path / "frames.html"
    frames.write_text(
        """<!DOCTYPE html><body><script>
        document.addEventListener("load", (event) => {
          const open = event.target.contentDocument?.querySelectorAll(".result[open]") ?? [];
          const ids = [...open].map((card) => card.id).join();
          event.target.dataset && (event.target.dataset.open = ids);
        }, true);
        </script>"""
        + "".join(f'<iframe id="{name}" src="{name}.html"></iframe>' for name in PROFILES),
        encoding="utf-8",
    )
    tree, messages = browser.dom(frames, "--allow-file-access-from-files")
    assert messages == []
    assert {
        frame.attributes["id"]: frame.attributes["data-open"] for frame in tree.css("iframe")
    } == dict.fromkeys(PROFILES, "result-1")


def test_an_evaluation_explains_reranked_searches(
    library: str, committed: Database, tmp_path: Path
) -> None:
    committed.rows("SELECT add_judged_set('s', 'c')")
    committed.rows("SELECT record_judgement('s', %s, 'deploy', 1)", QUERY)
    options = [f"{name}={json.dumps(value)}" for name, value in (WEAK | PATIENT).items()]
    options += ['mode="thorough"']
    switches = [part for option in options for part in ("--option", option)]
    ways = [part for profile in ("gno", "three_arm") for part in ("--profile", profile)]
    run = pgblend(library, "eval", "run", "--set", "s", *ways, *switches)
    assert run.exit_code == 0, run.output
    report, page = tmp_path / "report.html", tmp_path / "one.html"
    told = pgblend(library, "eval", "report", "--explain", "-o", str(report))
    assert told.exit_code == 0, told.output
    pages = list((tmp_path / "report-explained").iterdir())
    assert len(pages) == 2
    key = committed.value("SELECT query_key FROM evaluation_queries LIMIT 1")
    one = pgblend(library, "eval", "explain", "1", key, "--json", "--explain-html", str(page))
    assert one.exit_code == 0, one.output
    check_page(
        LexborHTMLParser(page.read_text(encoding="utf-8")), json.loads(one.stdout)["explain"]
    )
    for written in pages:
        rows = LexborHTMLParser(written.read_text(encoding="utf-8")).css("tr.arm-rerank")
        assert rows
