"""Hostile titles, keys, texts and queries on every page and picture: no script runs, all is text.

The pages are those that the command line writes for a real database. Each is opened as it is, and
without its policy, which would hide that a text became markup.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from selectolax.lexbor import LexborHTMLParser

from pgblend.cli.main import cli
from support.browser import Browser
from support.database import Database

pytestmark = pytest.mark.browser

OWN = "document.documentElement.setAttribute('owned', 1)"
ATTACKS = (
    f"<script>{OWN}</script>",
    f"</script><script>{OWN}</script>",
    f"</title></style></textarea><script>{OWN}</script>",
    f'"><img src=x onerror="{OWN}">',
    f"' onmouseover='{OWN}' autofocus onfocus='{OWN}",
    f"<svg onload={OWN}><script>{OWN}</script></svg>",
    f"</text></g></svg><svg><script>{OWN}</script>",
    f"<foreignObject><iframe srcdoc='<script>{OWN}</script>'></iframe></foreignObject>",
    f"<![CDATA[<script>{OWN}</script>]]><!-- --><script>{OWN}</script>",
    f"javascript:{OWN}",
    f'<a href="javascript:{OWN}">click</a>',
    "<style>*{display:none}</style><base href='http://127.0.0.1:9/'><meta http-equiv=refresh>",
    f"&lt;script&gt;{OWN}&lt;/script&gt;&#60;script&#62;",
    f"{{{{ 7 * 7 }}}}{{% raw %}}<mark onclick={OWN}>x</mark>",
    '#000001 var(--x) style="fill: #000001" $\\mathdefault{10}$',
)
# What the pages and pictures are made of; of script they have at most their own.
ELEMENTS = re.compile(
    "html|head|meta|title|style|body|header|main|section|p|span|h[123]|d[ldt]|div|ul|ol|li|table"
    "|caption|thead|tbody|t[rhd]|b|bdi|blockquote|mark|i|a|code|figure|details|summary|script"
    "|svg|g|path|rect|line|circle|text|tspan|defs|marker|clipPath|use|metadata|rdf:.*|cc:.*|dc:.*"
)
Pgblend = Callable[..., str]


@pytest.fixture
def pgblend(committed: Database) -> Pgblend:
    def run(*arguments: object) -> str:
        given = ["--database-url", committed.url, *map(str, arguments)]
        result = CliRunner().invoke(cli, given)
        assert result.exit_code == 0, result.output
        return result.stdout

    return run


@pytest.fixture
def library(committed: Database) -> Database:
    """Documents of which every text is an attack, linked with each other."""
    committed.rows("SELECT add_collection(%s)", ATTACKS[0])
    for number, attack in enumerate(ATTACKS):
        committed.rows(
            "SELECT ingest_document(%s, %s, %s, title => %s, uri => %s, metadata => %s)",
            ATTACKS[0],
            f"{number} {attack}",
            f"# {attack}\n\ndeploy {attack} to production {number}",
            attack,
            attack,
            json.dumps({attack: attack}),
        )
    first, *others = committed.column("SELECT document_id FROM documents ORDER BY 1")
    for number, other in enumerate(others):
        committed.rows(
            "SELECT add_edge(%s, %s, %s)",
            f"document:{first}",
            f"document:{other}",
            ATTACKS[number],
        )
    return committed


def check(browser: Browser, page: Path, scripts: int) -> LexborHTMLParser:
    """Nothing of the data is markup, and nothing runs, also without the page's policy."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".html":
        policy = r'<meta http-equiv="Content-Security-Policy"[^>]*>'
        assert len(re.findall(policy, text)) == 1
        bare = page.with_name(f"bare {page.name}")
        bare.write_text(re.sub(policy, "", text), encoding="utf-8")
        tree, messages = browser.dom(bare)
        assert messages == []
        assert_harmless(tree, scripts)
    tree, messages = browser.dom(page)
    assert messages == []
    assert_harmless(tree, scripts)
    return tree


def assert_harmless(tree: LexborHTMLParser, scripts: int) -> None:
    assert len(tree.css("script")) == scripts
    for node in tree.css("*"):
        assert ELEMENTS.fullmatch(node.tag), node.html
        for name, value in node.attributes.items():
            assert not name.startswith("on"), node.html
            assert name not in ("owned", "srcdoc", "src", "autofocus"), node.html
            if name in ("href", "xlink:href"):
                assert re.match(r"#|[^:]*\.html$", str(value)), value


def shown(tree: LexborHTMLParser, selector: str) -> str:
    return "\n".join(" ".join(node.text().split()) for node in tree.css(selector))


@pytest.mark.fault("script injection into the explain page", "no script runs, no data is markup")
@pytest.mark.parametrize("number", [1, 6])
def test_the_page_about_a_search(
    library: Database, pgblend: Pgblend, browser: Browser, tmp_path: Path, number: int
) -> None:
    query = f"deploy production {ATTACKS[number]}"
    page = tmp_path / f"{number}.html"
    option = 'timeouts_ms={"lexical": 60000}'
    pgblend("query", query, "-n", 50, "--option", option, "--explain-html", page)
    tree = check(browser, page, scripts=1)
    assert tree.css_first("h1").text() == query
    titles = shown(tree, ".result .who b")
    assert all(attack in titles for attack in ATTACKS)
    where = shown(tree, ".result .where")
    assert all(attack in where for attack in ATTACKS)


@pytest.mark.fault(
    "script injection into pictures of the graph", "no script runs, no data is markup"
)
def test_the_picture_of_a_neighbourhood(
    library: Database, pgblend: Pgblend, browser: Browser, tmp_path: Path
) -> None:
    page, picture = tmp_path / "graph.html", tmp_path / "graph.svg"
    start = library.value("SELECT 'document:' || min(document_id) FROM documents")
    pgblend("graph", "show", start, "--html", page, "--svg", picture)
    tree = check(browser, page, scripts=0)
    cells = shown(tree, "tbody td")
    assert all(attack in cells for attack in ATTACKS)
    names = shown(check(browser, picture, scripts=0), "g.node title")
    assert all(attack in names for attack in ATTACKS)


@pytest.mark.fault("script injection into the report of eval", "no script runs, no data is markup")
def test_the_report_of_an_evaluation(
    library: Database, pgblend: Pgblend, browser: Browser, tmp_path: Path
) -> None:
    judged_set = ATTACKS[-1]
    collection = ATTACKS[0]
    for number, attack in enumerate(ATTACKS):
        if number == 0:
            library.rows("SELECT add_judged_set(%s, %s)", judged_set, collection)
        library.rows(
            "SELECT record_judgement(%s, %s, %s, %s)",
            judged_set, f"deploy production {attack}", f"{number} {attack}", 1,
        )  # fmt: skip
    pgblend("eval", "run", "--set", judged_set, "--arm", "lexical", "-n", 10)
    report = tmp_path / 'it\'s "a" <b>report.html'
    pgblend("eval", "report", "--explain", "-o", report)
    tree = check(browser, report, scripts=0)
    assert judged_set in shown(tree, "caption")
    assert judged_set in shown(tree, "h1")
    drawn = shown(tree, "figure svg text")
    assert "$\\mathdefault{10}$" in drawn
    assert 'style="fill: #000001"' in drawn
    assert "var(--accent)" in report.read_text()
    queries = shown(tree, ".worst li b")
    assert sum(attack in queries for attack in ATTACKS) >= 9
    pages = sorted(report.with_name(f"{report.stem}-explained").iterdir())
    assert len(pages) == len(tree.css(".worst a")) == 10
    check(browser, pages[0], scripts=1)
