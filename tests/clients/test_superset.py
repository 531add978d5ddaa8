"""Apache Superset in Chromium: the bundle of docker/superset, over an analyst's views."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clients.conftest import Environment, Login, granted
from conftest import Server
from docs.conftest import free_port
from playwright.sync_api import Page, Response, expect, sync_playwright

from pgblend.cli.base.database import connect
from support.browser import find_chromium
from support.database import Database
from support.documentation import ROOT
from support.search_log import HOUR, log_search
from support.superset import ACCOUNT, LIBRARIES, import_bundle, superset

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.local_model]
BUNDLE = ROOT / "docker" / "superset"
CHARTS = {
    "How long searches take",
    "Which stage takes it",
    "How many searches",
    "Queries that find nothing",
}
PATIENCE_MS = 300_000  # of a browser on a busy machine


@pytest.fixture(scope="module")
def chromium() -> str:
    program = find_chromium()
    if program is None:
        pytest.skip("there is no chromium here: docker/chromium.sh installs one")
    return program


@pytest.fixture(scope="module")
def analyst(server: Server, handbook_url: str) -> Iterator[Login]:
    """An analyst of the handbook, where searches were logged."""
    with connect(handbook_url) as connection:
        db = Database(connection)
        db.rows("UPDATE pgblend_data.collection SET created_at = %s", HOUR)
        of_handbook = {"collections": ["handbook"]}
        stages = [{"name": "lexical", "ms": 4, "rows": 1}, {"name": "vector", "ms": 6, "rows": 1}]
        log_search(db, 1, 20, stages=stages, **of_handbook)
        log_search(db, 2, 40, stages=stages, **of_handbook)
        log_search(db, 3, 60, result_count=0, query="a stapler", **of_handbook)
        log_search(db, 4, 60, result_count=0, query="a secret", collections=["hidden"])
    yield from granted(server, handbook_url, "pgblend_analyst")


@pytest.fixture(scope="module")
def page(
    chromium: str,
    analyst: Login,
    environment: Environment,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Page]:
    """A page of a Superset that has the bundle, where somebody has logged in."""
    given = os.environ.get("PGBLEND_SUPERSET")
    python = Path(given) if given else environment(*LIBRARIES)
    folder = tmp_path_factory.mktemp("superset")
    with superset(python, folder, free_port()) as address, sync_playwright() as playwright:
        place = f"{analyst.user}:XXXXXXXXXX@{analyst.host}:{analyst.port}/{analyst.database}"
        shown = "dashboards:XXXXXXXXXX@localhost:5432/mydb"
        import_bundle(address, BUNDLE, {shown: place}, analyst.password)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        opened = browser.new_page(base_url=address, viewport={"width": 1400, "height": 1200})
        opened.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        opened.goto("/login/")
        for field, value in zip(("#username", "#password"), ACCOUNT, strict=True):
            opened.locator(field).fill(value)
        opened.locator("button[type=submit]").click()
        opened.wait_for_url("**/superset/welcome/**")
        yield opened
        browser.close()


def test_its_dashboard_shows_searches(page: Page) -> None:
    answers: list[Response] = []
    page.on("response", lambda got: answers.append(got) if "/chart/data" in got.url else None)
    page.goto("/superset/dashboard/pgblend-searches/")
    for title in CHARTS:
        expect(page.get_by_text(title)).to_be_visible()
    expect(page.locator("canvas")).to_have_count(3)
    expect(page.get_by_text("a stapler")).to_be_visible()
    assert page.get_by_text("a secret").count() == 0
    assert page.get_by_role("alert").count() == 0
    found = [row for got in answers for row in rows(got)]
    assert {row["median"] for row in found if "median" in row} == {50}
    assert {row["searches"] for row in found if "searches" in row and "query" in row} == {1}


def rows(answer: Response) -> list[dict[str, Any]]:
    """Return the rows of a chart."""
    assert answer.ok, answer.text()
    found: list[dict[str, Any]] = answer.json()["result"][0]["data"]
    return found


def test_its_tree_has_the_schema(page: Page) -> None:
    page.goto("/sqllab/?dbid=1&sql=SELECT+1")
    page.get_by_text("blend", exact=True).first.click()
    for view in ("collections", "documents", "search_latency", "searches"):
        expect(page.get_by_text(view, exact=True).first).to_be_visible()
