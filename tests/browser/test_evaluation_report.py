"""The evaluation report in a real browser: pictures are there, nothing is fetched or refused."""

from datetime import UTC, datetime
from pathlib import Path

from PIL import Image

from pgblend.cli.measure.eval_options import ALL
from pgblend.cli.measure.evaluation_page import Run, render_report
from support.browser import Browser


def runs() -> list[Run]:
    """Two ways to search two sets of three queries."""
    made = []
    for number, (name, profile) in enumerate(
        (name, profile) for name in ("wine", "sea") for profile in ("balanced", None)
    ):
        queries = [
            {
                "query_key": f"q{place}",
                "query": f"red <b>wine</b> {place}",
                "metrics": dict.fromkeys(ALL, place / 4),
                "source_keys": ["a", "b"],
                "relevant": {"b": 1} if place else None,
            }
            for place in range(3)
        ]
        facts = {
            "run_id": number,
            "judged_set": name,
            "arm": "hybrid" if profile else "lexical",
            "profile": profile,
            "queries": 3,
            "degraded_queries": 0,
            "metrics": dict.fromkeys(ALL, 0.25 * (number + 1)),
            "options": {},
            "versions": {},
            "finished_at": datetime(2026, 1, 31, tzinfo=UTC),
            "collection": name,
        }
        made.append(Run(facts, queries))
    return made


def test_the_page_has_its_pictures_and_breaks_no_rule(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(render_report(runs()), encoding="utf-8")
    elements, messages = browser.dom(page)
    assert messages == []
    assert len(elements.css("figure svg")) == 3
    assert len(elements.css("table")) == 2  # a set each
    assert len(elements.css("details.worst")) == 4
    told = [one.text() for one in elements.css(".worst li b")]
    assert told[0] == "red <b>wine</b> 0"  # a query stays text
    picture = browser.screenshot(page, 1000, 1400)
    with Image.open(picture) as image:
        colours = image.convert("RGB").getcolors(maxcolors=1 << 24)
    assert colours is not None
    assert len(colours) > 50  # bars, curves and text, not an empty page


def test_pictures_fit_a_phone(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(render_report(runs()), encoding="utf-8")
    widths = browser.scroll_widths(page, 390, "html, .picture")
    assert len(widths) == 4
    assert max(widths) <= 390
