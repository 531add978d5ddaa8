"""The page of `pgblend serve` over the documentation of pgblend, and a browser that visits it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from click.testing import CliRunner
from playwright.sync_api import Browser, BrowserContext, Page, expect

from pgblend.cli.doors.tokens import make_link
from pgblend.cli.main import cli
from support.database import Database, add_documents, add_space, embed_waiting
from support.serve_process import ServeProcess

expect.set_options(timeout=60_000)  # a busy machine is no error
DOCS = Path(__file__).parents[2] / "docs"
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>"
# What the documentation answers, and where.
QUESTIONS = {
    "how do I search over HTTP": "http.md",
    "which errors are there and what do they mean": "errors.md",
    "measure search quality with a judged set": "evaluate.md",
    "links between documents and the graph arm": "graph.md",
    "attach a table of mine": "tables.md",
    "rights of roles and row security": "security.md",
    "backup and upgrade": "operate.md",
    "answers with citations": "answers.md",
    "ingest a folder of PDF files": "ingest.md",
    "rerank and embedding models": "models.md",
    "filter by metadata": "searching.md",
    "langchain and llamaindex": "frameworks.md",
}
WCAG = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


def fill_documentation(db: Database, url: str, role: str) -> None:
    """Store docs/ with vectors and judgements, and an animal; the role may write to both."""
    done = CliRunner().invoke(cli, ["--database-url", url, "ingest", str(DOCS), "-c", "docs"])
    assert done.exit_code == 0, done.output
    db.rows("SELECT add_collection('animals')")
    add_documents(db, "animals", [("hostile", HOSTILE, f"zebra {HOSTILE} & <b>crossing</b>")])
    add_space(db)
    embed_waiting(db)
    for collection in ("docs", "animals"):
        db.rows("SELECT grant_collection(%s, %s, 'write')", collection, role)
    db.rows(f"GRANT pgblend_writer TO {role}")
    db.rows("SELECT add_judged_set('questions', 'docs')")
    for question, key in QUESTIONS.items():
        db.rows("SELECT record_judgement('questions', %s, %s, 1)", question, key)


@dataclass
class Site:
    """A door whose page searches docs/, as a role."""

    process: ServeProcess
    admin: Database
    role: str
    token: str

    def link(self) -> str:
        """Return a new link to the page."""
        return make_link(self.admin.connection, self.process.url, self.role, 1)


@dataclass
class Visitor:
    """A browser window that opened a link; what it asked for, and what its console said."""

    page: Page
    requests: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)

    def search(self, query: str) -> None:
        """Type a query, and wait for the whole search, facets too."""
        with self.page.expect_response("**/v1/facets"):
            self.page.fill("#query", query)
        expect(self.page.locator("#facts")).to_contain_text("hybrid")

    def problems(self) -> list[str]:
        """Return what axe finds wrong with the page as it is."""
        found = Axe().run(self.page, options={"runOnly": WCAG["runOnly"]}).response["violations"]
        return [f"{one['id']}: {[node['target'] for node in one['nodes']]}" for one in found]

    def width(self) -> int:
        """Return how wide the page's content is."""
        return int(self.page.evaluate("document.documentElement.scrollWidth"))


@contextmanager
def visitor(browser: Browser, link: str, **options: object) -> Iterator[Visitor]:
    """Open a link in a window of its own; nothing may be asked of another host, or go wrong."""
    context: BrowserContext = browser.new_context(reduced_motion="reduce", **options)
    context.set_default_timeout(30_000)
    try:
        one = Visitor(context.new_page())
        one.page.on("request", lambda request: one.requests.append(request.url))
        one.page.on("console", lambda message: one.console.append(message.text))
        one.page.on("pageerror", lambda error: one.console.append(str(error)))
        one.page.goto(link)
        yield one
    finally:
        context.close()


def copied(page: Page, name: str) -> str:
    """Return what a button of `Copy as` puts into the clipboard."""
    page.get_by_role("button", name=name, exact=True).click()
    expect(page.locator("#status")).to_have_text(f"{name} copied")
    return str(page.evaluate("navigator.clipboard.readText()"))


def kept(page: Page) -> dict[str, object]:
    """Return what the page keeps in the browser."""
    return dict(json.loads(page.evaluate("localStorage.getItem('pgblend')")))
