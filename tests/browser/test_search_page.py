"""The page of `pgblend serve` in a real browser, over the project's own documentation."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from support.search_page import (
    HOSTILE,
    QUESTIONS,
    Site,
    Visitor,
    copied,
    kept,
    visitor,
)

pytestmark = pytest.mark.browser
QUESTION = "how do I search over HTTP"
Visit = Callable[..., Visitor]


def test_a_link_lets_one_browser_in_once(chromium: Browser, site: Site, visit: Visit) -> None:
    link = site.link()
    with visitor(chromium, link) as first:
        expect(first.page.locator("#query")).to_be_enabled()
        assert "open=" not in first.page.url
        (cookie,) = first.page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert cookie["value"] not in str(kept(first.page))
        first.page.reload()
        expect(first.page.locator("#query")).to_be_enabled()
        assert first.console == []
    with visitor(chromium, link) as second:
        expect(second.page.get_by_role("alert")).to_contain_text("opened before")
        expect(second.page.locator("#query")).to_be_disabled()
    with visitor(chromium, site.process.url) as stranger:
        expect(stranger.page.get_by_role("alert")).to_contain_text("no right to search here")


def test_rows_come_as_one_types(visit: Visit) -> None:
    one = visit()
    one.page.locator("#query").press_sequentially("zebra crossing", delay=5)
    expect(one.page.locator("#facts")).to_contain_text("hybrid")
    expect(one.page.locator(".row").first).to_contain_text("zebra")  # pages of docs change
    assert any(url.endswith("/v1/search") for url in one.requests)
    one.page.fill("#query", "")
    expect(one.page.locator("#results")).to_have_text("Searches animals, docs.")


def test_facets_filter_and_the_address_keeps_them(visit: Visit) -> None:
    one = visit()
    one.search("zebra crossing")
    collections = one.page.locator(".facet", has_text="Collection").locator("label")
    expect(collections).to_have_count(2)
    rows = one.page.locator(".row")
    expect(rows).not_to_have_count(1)
    collections.filter(has_text="animals").locator("input").check()
    expect(rows).to_have_count(1)
    expect(collections).to_have_count(2)  # the other can still be chosen
    one.page.reload()
    expect(rows).to_have_count(1)
    expect(one.page.locator("#query")).to_have_value("zebra crossing")
    expect(collections.filter(has_text="animals").locator("input")).to_be_checked()
    collections.filter(has_text="docs").locator("input").check()
    expect(rows).not_to_have_count(1)


def test_a_row_says_which_rules_changed_it(site: Site, visit: Visit) -> None:
    rules = {"pinned": [{"query": "zebra*", "documents": ["errors.md"]}],
             "boosts": [{"filter": {"$source_key": "errors.md"}, "factor": 2}],
             "synonyms": [{"words": ["crossing"], "to": ["error"]}]}  # fmt: skip
    site.admin.rows("SELECT set_settings(%s)", json.dumps(rules))
    try:
        one = visit()
        one.search("zebra crossing")
        first = one.page.locator(".row").first
        expect(first).to_contain_text("pinned for zebra*")
        expect(first).to_contain_text('boost {"$source_key":"errors.md"} by 2')
        expect(one.page.locator(".row", has_text="crossing as error").first).to_be_visible()
        first.get_by_role("button", name="Explain").click()
        expect(first.locator("table.parts")).to_contain_text("pinned")
    finally:
        site.admin.rows("SELECT set_settings(%s)", json.dumps(dict.fromkeys(rules)))


def test_dates_filter(visit: Visit) -> None:
    one = visit()
    one.search("zebra crossing")
    first = one.page.locator("input[type=date]").first
    first.fill("2999-01-01")
    expect(one.page.get_by_text("Nothing was found.")).to_be_visible()
    first.fill("")
    expect(one.page.locator(".row", has_text="crossing").first).to_be_visible()


def test_a_row_is_explained(visit: Visit) -> None:
    one = visit()
    one.search(QUESTION)
    row = one.page.locator(".row").nth(1)
    row.get_by_role("button", name="Explain").click()
    expect(row.locator("svg.movement.wide .way.marked")).to_have_count(1)
    expect(row.locator("svg.movement.wide .way.marked title")).to_contain_text("2. ")
    expect(row.locator("table.parts .total")).to_contain_text(row.locator(".score").inner_text())
    row.get_by_text("How the search ran").click()
    expect(row.locator("svg.flow.wide .stage.lexical")).to_be_visible()


def test_a_document_opens_at_its_passage(visit: Visit) -> None:
    one = visit()
    one.search(QUESTION)
    row = one.page.locator(".row").nth(2)
    title = row.locator(".title").inner_text()
    row.locator(".title").click()
    dialog = one.page.get_by_role("dialog")
    expect(dialog.get_by_role("heading", level=2)).to_have_text(title)
    expect(dialog.locator(".chunk.here")).to_have_count(1)
    expect(dialog.locator(".chunk.here")).to_be_in_viewport()
    one.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()


def test_what_is_opened_is_told(visit: Visit, site: Site) -> None:
    """Where searches are logged, a document that is opened is a click of its row."""
    site.admin.rows("SELECT set_setting('log_address', '\"localhost:9\"')")
    one = visit()
    one.search(QUESTION)
    row = one.page.locator(".row").nth(2)
    with one.page.expect_response("**/v1/click") as told:
        row.locator(".title").click()
    assert told.value.status == 200
    noted = site.admin.rows("SELECT chunk_id::text, role_name FROM pgblend_data.click")
    assert noted == [(row.get_attribute("data-chunk"), site.role)]
    site.admin.rows("SELECT reset_setting('log_address')")


def test_by_keyboard_alone(visit: Visit) -> None:
    one = visit()
    one.search(QUESTION)
    for key in ("ArrowDown", "j", "e"):
        one.page.keyboard.press(key)
    row = one.page.locator(".row").nth(1)
    expect(row).to_be_focused()
    expect(row.locator("svg.movement.wide")).to_be_visible()
    one.page.keyboard.press("o")
    expect(one.page.get_by_role("dialog")).to_be_visible()
    one.page.keyboard.press("Escape")
    one.page.keyboard.press("/")
    expect(one.page.locator("#query")).to_be_focused()


def test_texts_of_documents_stay_texts(visit: Visit) -> None:
    one = visit()
    one.search("zebra")
    row = one.page.locator(".row").first
    expect(row.locator(".title")).to_have_text(HOSTILE)
    expect(row.locator(".snippet mark").first).to_have_text("zebra")
    row.get_by_role("button", name="Explain").click()
    expect(row.locator("svg.movement.wide")).to_be_visible()
    row.locator(".title").click()
    here = one.page.locator(".chunk.here")
    expect(here).to_contain_text("</script><script>document.title='owned'</script>")
    expect(here).to_contain_text("& crossing")  # pairs of tags are not shown
    assert here.locator("b, script").count() == 0
    assert one.page.title() == "zebra · pgblend"
    assert one.page.locator("img").count() == 0


def test_copies_find_the_same(visit: Visit, site: Site, tmp_path: Path) -> None:
    one = visit(permissions=["clipboard-read", "clipboard-write"])
    query = "it's a \\backslash over HTTP"
    one.search(query)
    titles = one.page.locator(".title").all_inner_texts()
    with site.admin.connection.transaction(force_rollback=True):
        site.admin.rows(f"SET LOCAL ROLE {site.role}")
        rows = site.admin.rows(copied(one.page, "SQL").replace("%", "%%"))
    assert [row[2] for row in rows] == titles
    environment = os.environ | {"TOKEN": site.token}
    program = tmp_path / "search.py"
    program.write_text(copied(one.page, "Python"), encoding="utf-8")
    for command in ([sys.executable, str(program)], ["sh", "-c", copied(one.page, "curl")]):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert all(title in done.stdout for title in titles)


def test_two_profiles_side_by_side(visit: Visit) -> None:
    one = visit()
    one.search(QUESTION)
    one.page.get_by_label("Beside it").select_option("three_arm")
    lists = one.page.locator(".beside section")
    expect(lists).to_have_count(2)
    shared = lists.first.locator("li:not(.alone)")
    expect(one.page.locator(".between path")).to_have_count(shared.count())
    assert shared.count() > 0
    expect(lists.last.get_by_role("heading")).to_have_text("three_arm")
    assert one.problems() == []


def test_weights_and_what_they_do_to_a_judged_set(visit: Visit) -> None:
    one = visit()
    one.search(QUESTION)
    vector = one.page.locator(".slider", has_text="vector")
    expect(vector.locator("output")).to_have_text("2.00")  # the profile's own
    one.page.get_by_label("Judged set").select_option("questions")
    figures = one.page.locator(".figures")
    expect(figures).to_contain_text(f"of {len(QUESTIONS)} questions, each half", timeout=60_000)
    expect(figures.locator("small")).to_have_text(["±0", "±0"])
    own = figures.locator("dd").all_inner_texts()
    vector.locator("input").fill("0")
    expect(figures.locator("small")).not_to_have_text(["±0", "±0"])
    assert figures.locator("dd").all_inner_texts() != own
    row = one.page.locator(".row").first
    expect(row.locator(".arms")).not_to_contain_text("vector")
    one.page.get_by_role("button", name="As the profile has them").click()
    expect(figures.locator("small")).to_have_text(["±0", "±0"])
    expect(row.locator(".arms")).to_contain_text("vector")


def test_thumbs_are_judgements(visit: Visit, site: Site) -> None:
    judgements = "SELECT source_key, grade FROM blend.judgements WHERE query = %s"
    query = "which settings can be changed"
    one = visit()
    one.search(query)
    row = one.page.locator(".row").first
    good = row.get_by_role("button", name="Good answer")
    good.click()
    expect(good).to_have_attribute("aria-pressed", "true")
    ((key, grade),) = site.admin.rows(judgements, query)
    assert grade == 1
    assert f"{key}" in row.locator(".where").inner_text()
    one.page.reload()
    expect(good).to_have_attribute("aria-pressed", "true")
    row.get_by_role("button", name="No answer").click()
    expect(good).to_have_attribute("aria-pressed", "false")
    assert site.admin.rows(judgements, query) == [(key, 0)]
    row.get_by_role("button", name="No answer").click()
    expect(row.locator("[aria-pressed=true]")).to_have_count(0)
    assert site.admin.rows(judgements, query) == []


def test_why_a_document_is_not_here(visit: Visit) -> None:
    one = visit()
    one.search("zebra")
    one.page.get_by_text("Why is a document not here?").click()
    one.page.get_by_role("textbox", name="Document").fill("errors.md")
    one.page.get_by_role("button", name="Follow it").click()
    expect(one.page.locator(".stages li").first).to_contain_text("It is there")
    expect(one.page.locator(".verdict")).not_to_be_empty()
    assert one.problems() == []


def test_an_answer_opens_its_sources(visit: Visit, site: Site, model_provider: Any) -> None:
    sentence = "A token is 32 random bytes; the database keeps its sha256, role, scopes and expiry."
    model_provider.reply = lambda _: f"{sentence} [1] Nobody else says this. See evil.example [1]."
    name = model_provider.plain_chat_model
    site.admin.rows("SELECT set_setting('answer_model', to_jsonb(%s::text))", name)
    try:
        one = visit()
        one.search("token 32 random bytes sha256 role scopes expiry")
        one.page.get_by_role("button", name="Answer", exact=True).click()
        answer = one.page.get_by_role("region", name="Answer")
        expect(answer.locator(".said")).to_contain_text("32 random bytes", timeout=60_000)
        answer.get_by_text("Left out: 2 sentences without support").click()
        expect(answer).to_contain_text("Nobody else says this. no citation")
        expect(answer).to_contain_text("See evil.example. address not found")
        assert one.problems() == []
        answer.locator(".said .cite").click()
        here = one.page.locator(".chunk.here")
        expect(here.first).to_contain_text("32 random bytes")
        expect(here.locator("mark").first).to_be_in_viewport()
    finally:
        site.admin.rows("SELECT reset_setting('answer_model')")


def test_a_further_question_goes_on_from_the_answer(
    visit: Visit, site: Site, model_provider: Any
) -> None:
    sentence = "A token is 32 random bytes; the database keeps its sha256, role, scopes and expiry."
    parts = ["what is a token", "who sells cheese"]

    def reply(body: dict[str, Any]) -> str:
        if "response_format" not in body:
            is_split = "\n#2: " in body["messages"][1]["content"]
            return f"#1: {sentence} [1]\n#2: NO ANSWER" if is_split else f"{sentence} [1]"
        return json.dumps(
            {"lexicalQueries": [], "vectorQueries": [], "hyde": "", "subQuestions": parts}
        )

    model_provider.reply = reply
    settings = {
        "answer_model": model_provider.plain_chat_model,
        "expansion_model": model_provider.chat_model,
        "sub_questions": {"most": 4},
        "timeouts_ms": {"expand": 60_000, "total": 60_000},
    }
    for name, value in settings.items():
        site.admin.rows("SELECT set_setting(%s, %s)", name, json.dumps(value))
    try:
        one = visit()
        one.search("token 32 random bytes sha256 role scopes expiry")
        one.page.get_by_role("button", name="Answer", exact=True).click()
        answer = one.page.get_by_role("region", name="Answer")
        further = answer.get_by_role("textbox", name="Further question")
        further.fill("and who sells cheese?", timeout=60_000)
        further.press("Enter")
        expect(answer).to_contain_text(f"No evidence was found for: {parts[1]}", timeout=60_000)
        expect(answer).to_contain_text("and who sells cheese?")
        (asked,) = [body for body in model_provider.bodies if "response_format" in body]
        chat = json.loads(asked["messages"][1]["content"])["chat"]
        assert [said["role"] for said in chat] == ["user", "assistant"]
        assert chat[1]["content"].startswith("A token is 32 random bytes")
        assert one.problems() == []
    finally:
        for name in settings:
            site.admin.rows("SELECT reset_setting(%s)", name)


def test_an_answer_comes_by_the_sentence(visit: Visit, site: Site, model_provider: Any) -> None:
    go = threading.Event()

    def pieces() -> Iterator[str]:
        yield "A token is 32 random bytes; "
        yield "the database keeps its sha256, role, scopes and expiry [1]."
        yield " Nobody says "
        go.wait(60)
        yield "more."

    model_provider.pieces = pieces()
    name = model_provider.plain_chat_model
    site.admin.rows("SELECT set_setting('answer_model', to_jsonb(%s::text))", name)
    try:
        one = visit()
        one.search("token 32 random bytes sha256 role scopes expiry")
        one.page.get_by_role("button", name="Answer", exact=True).click()
        answer = one.page.get_by_role("region", name="Answer")
        expect(answer.locator(".said")).to_contain_text("32 random bytes", timeout=60_000)
        expect(answer).to_have_attribute("aria-busy", "true")  # the model still speaks
        go.set()
        expect(answer.locator(".sources li")).to_have_count(1)
        expect(answer).not_to_have_attribute("aria-busy", "true")
        assert one.problems() == []
    finally:
        go.set()
        site.admin.rows("SELECT reset_setting('answer_model')")


def test_the_graph_around_a_document(visit: Visit) -> None:
    one = visit()
    one.search(QUESTION)
    one.page.locator(".row").first.get_by_role("button", name="Graph").click()
    dialog = one.page.get_by_role("dialog", name="Graph")
    nodes, lines = dialog.locator(".node"), dialog.locator("line")
    expect(nodes.first).to_be_visible()
    before, edges = nodes.count(), lines.count()
    assert before > 1
    assert edges > 0
    circle = nodes.nth(1).locator("circle")
    circle.hover()
    expect(dialog.locator("line:not(.dim)")).not_to_have_count(0)
    box = circle.bounding_box()
    assert box is not None
    one.page.mouse.down()
    one.page.mouse.move(box["x"] + 60, box["y"] + 40, steps=4)
    one.page.mouse.up()
    assert circle.bounding_box() != box
    overview = dialog.get_by_role("button", name="pgblend, document")  # links to every page
    overview.press("Enter")
    expect(nodes).not_to_have_count(before)
    expect(dialog.get_by_role("status")).not_to_contain_text("Nothing new")
    after = nodes.count()
    overview.press("Enter")
    expect(dialog.get_by_role("status")).to_contain_text("Nothing new")
    expect(nodes).to_have_count(after)
    assert one.problems() == []
    types = dialog.get_by_role("checkbox")
    for place in range(types.count()):
        types.nth(place).uncheck()
    expect(lines).to_have_count(0)
    expect(nodes).to_have_count(1)
    types.first.check()
    expect(lines).not_to_have_count(0)


def test_a_graph_of_too_many_nodes_says_which_are_shown(site: Site, visit: Visit) -> None:
    """The page asks for 40 neighbours: here the heaviest of 60."""
    edges = (
        "FROM unnest(ARRAY(SELECT chunk_id FROM chunks WHERE collection = 'docs' ORDER BY chunk_id"
        " LIMIT 60)) WITH ORDINALITY AS k (id, n)"
    )
    node = "graph_node('animals', 'hostile')"
    site.admin.rows(f"SELECT add_edge({node}, 'chunk:' || k.id, 'by hand', k.n::real) {edges}")
    try:
        one = visit()
        one.search("zebra crossing")
        one.page.locator(".row").first.get_by_role("button", name="Graph").click()
        dialog = one.page.get_by_role("dialog", name="Graph")
        told = "there are more than 40 nodes: those of the heaviest edges are shown"
        expect(dialog.get_by_role("status")).to_contain_text(told)
        expect(dialog.get_by_role("status")).not_to_contain_text("Nothing new")
        expect(dialog.locator(".node")).to_have_count(41)
    finally:
        site.admin.rows(f"SELECT delete_edge({node}, 'chunk:' || k.id, 'by hand') {edges}")


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_it(visit: Visit, width: int, scheme: str) -> None:
    one = visit(viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert one.problems() == []
    one.search(QUESTION)
    one.page.locator(".explain").first.click()
    expect(one.page.locator(".row").first.locator("table.parts")).to_be_visible()
    assert one.problems() == []
    assert one.width() <= width
    one.page.locator(".title").first.click()
    expect(one.page.locator(".chunk.here")).to_be_visible()
    assert one.problems() == []
