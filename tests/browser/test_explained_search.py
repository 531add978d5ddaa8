"""A real search, explained by the database, on a page in a real browser."""

import json
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from pgblend.cli.search.explain_page import render_page
from pgblend.cli.search.explain_trace import Trace
from support.browser import Browser
from support.database import Database, add_documents, add_space, embed_waiting, vector_of
from support.traces import HOSTILE

pytestmark = pytest.mark.browser


def test_what_the_database_says_is_shown(db: Database, browser: Browser, tmp_path: Path) -> None:
    db.rows("SELECT add_collection('c')")
    titles = [title.replace("\x00", "") for title in HOSTILE if title]
    documents = [
        (f"{number}", title, f"deploy number {number} to production {title[:200]}")
        for number, title in enumerate(titles)
    ]
    add_documents(db, "c", documents)
    add_space(db)
    embed_waiting(db)
    add_documents(db, "c", [("new", "No vector yet", "deploy something new")])
    marked = HOSTILE[0].replace('"', "")  # no phrase, which only one document would have
    query = f"deploy to production {marked}"
    document = db.value(
        "SELECT search_explain(%s, 20, options => %s, query_embedding => %s)",
        query,
        '{"rrf_k": 10, "candidate_depth": 5}',
        vector_of("deploy to production"),
    )
    schema = json.loads(
        (files("pgblend.cli.schemas") / "search-explain.schema.json").read_text(encoding="utf-8")
    )
    Draft202012Validator(schema).validate(document)
    page = tmp_path / "page.html"
    page.write_text(render_page(Trace.from_json(document)), encoding="utf-8")
    tree, console = browser.dom(page)
    assert console == []
    assert tree.css_first("h1").text() == query
    results = document["results"]
    assert len(results) >= 5
    assert len(tree.css("details.result")) == len(results)
    assert len(tree.css("svg.movement.wide .way")) == len(results)
    drawn = [node.text() for node in tree.css("svg.flow.wide .name")]
    assert {"lexical", "vector", "fuse", "page", "fetch"} <= set(drawn)
    changed = [row.text() for row in tree.css_first("table.settings").css("tbody tr")]
    assert {"rrf_k10call", "candidate_depth5call"} <= set(changed)
    assert "vector: some passages have no vector yet" in tree.css_first("section.degraded").text()
