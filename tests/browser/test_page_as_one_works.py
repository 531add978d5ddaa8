"""The page as somebody works with it: typing, Enter, more rows, Back, and a document's hits."""

import json
import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from playwright.sync_api import Error, expect

from support.database import add_documents, embed_waiting
from support.search_page import Site, Visitor

pytestmark = pytest.mark.browser
Visit = Callable[..., Visitor]


def fact(one: Visitor, name: str) -> Any:
    return one.page.locator(f"#facts [data-fact={name}]")


def test_models_are_asked_on_enter(visit: Visit, site: Site, model_provider: Any) -> None:
    expansion = {"lexicalQueries": ["token"], "vectorQueries": [], "hyde": ""}
    model_provider.reply = lambda _: json.dumps(expansion)
    settings = {
        "mode": "thorough",
        "expansion_model": model_provider.chat_model,
        "rerank_model": model_provider.rerank_model,
        "timeouts_ms": {"expand": 60_000, "rerank": 60_000, "embed": 60_000, "total": 180_000},
    }
    for name, value in settings.items():
        site.admin.rows("SELECT set_setting(%s, %s)", name, json.dumps(value))
    try:
        one = visit()
        with one.page.expect_response("**/v1/facets"):
            one.page.locator("#query").press_sequentially(
                "what does a token hold in the base", delay=60
            )
        expect(fact(one, "mode")).to_have_text("hybrid, Enter asks the models")
        assert all("input" in body for body in model_provider.bodies)  # for vectors
        one.page.keyboard.press("Enter")
        expect(fact(one, "mode")).to_have_text("hybrid, expanded, reranked, thorough")
        assert sum("input" not in body for body in model_provider.bodies) == 2
    finally:
        for name in settings:
            site.admin.rows("SELECT reset_setting(%s)", name)


def test_a_late_answer_by_words_does_not_go_over_the_whole_one(visit: Visit) -> None:
    one = visit()
    held: list[Any] = []

    def hold(route: Any) -> None:
        is_by_words = '"fast"' in str(route.request.post_data)
        held.append(route) if is_by_words else route.continue_()

    one.page.route("**/v1/search", hold)
    one.search("filters by metadata")
    assert held
    with suppress(Error):  # it was given up
        held[0].continue_()
    one.page.wait_for_timeout(1_000)
    expect(fact(one, "mode")).to_contain_text("hybrid")


def test_more_rows_by_the_cursor(visit: Visit) -> None:
    one = visit()
    one.search("search")
    rows = one.page.locator(".row")
    expect(rows).to_have_count(10)
    expect(fact(one, "results")).to_have_text(re.compile(r"^10 of \d+$"))
    one.page.get_by_role("button", name="More", exact=True).click()
    expect(rows).to_have_count(20)
    expect(fact(one, "results")).to_have_text(re.compile(r"^20 of \d+$"))
    chunks = rows.evaluate_all("rows => rows.map((row) => row.dataset.chunk)")
    assert len(set(chunks)) == 20
    assert rows.last.locator(".badge").inner_text() == "20"
    rows.last.locator(".explain").click()
    expect(rows.last.locator("table.parts")).to_be_visible()
    assert one.problems() == []


def test_back_goes_to_the_search_before(visit: Visit) -> None:
    one = visit()
    query = one.page.locator("#query")
    one.search("filters by metadata")
    one.search("filters by metadata of documents")  # typed on: no search of its own
    one.search("zebra crossing")
    animals = one.page.locator(".facet", has_text="Collection").locator("label", has_text="animals")
    animals.locator("input").check()
    expect(one.page.locator(".row")).to_have_count(1)
    one.page.go_back()
    expect(animals.locator("input")).not_to_be_checked()
    expect(query).to_have_value("zebra crossing")
    one.page.go_back()
    expect(query).to_have_value("filters by metadata of documents")
    expect(one.page.locator(".row")).to_have_count(10)
    one.page.go_forward()
    expect(query).to_have_value("zebra crossing")


def test_weights_survive_a_reload(visit: Visit) -> None:
    one = visit()
    one.search("filters by metadata")
    vector = one.page.locator(".slider", has_text="vector")
    vector.locator("input").fill("0.5")
    expect(vector.locator("output")).to_have_text("0.50")
    one.page.reload()
    expect(vector.locator("output")).to_have_text("0.50")
    one.page.get_by_role("button", name="As the profile has them").click()
    expect(vector.locator("output")).to_have_text("2.00")


def test_help_where_nothing_is_found(visit: Visit) -> None:
    one = visit()
    one.search('"zebra" crossing')
    one.page.locator("input[type=date]").first.fill("2999-01-01")
    told = one.page.get_by_role("region", name="What may help")
    expect(told).to_contain_text("Searched: animals, docs.")
    assert one.problems() == []
    told.get_by_role("button", name="Search for zebra crossing").click()
    expect(one.page.locator("#query")).to_have_value("zebra crossing")
    told.get_by_role("button", name="Search without the filters").click()
    expect(one.page.locator(".row").first).to_contain_text("crossing")


def test_words_alone_are_told_only_where_vectors_took_no_part(visit: Visit, site: Site) -> None:
    one = visit()
    told = one.page.get_by_role("region", name="What may help")
    alone = "Only words were searched"

    def search_the_future(query: str) -> None:
        one.page.fill("#query", query)
        one.page.locator("input[type=date]").first.fill("2999-01-01")
        expect(told).to_contain_text("Searched: animals, docs.")

    # A passage waits for its vector, the others have theirs.
    add_documents(site.admin, "animals", [("waits.md", "Waits", "The numbat has no vector yet.")])
    search_the_future("numbat")
    expect(one.page.locator("#facts")).to_contain_text("hybrid")
    expect(told).not_to_contain_text(alone)
    embed_waiting(site.admin)
    (gateway,) = site.admin.rows("SELECT get_setting('gateway_url') #>> '{}'")[0]
    site.admin.rows("SELECT set_setting('gateway_url', '\"http://127.0.0.1:9\"')")
    try:
        time.sleep(2)  # the door takes a changed setting within a second
        search_the_future("bandicoot")
        expect(told).to_contain_text(alone)
    finally:
        site.admin.rows("SELECT set_setting('gateway_url', to_jsonb(%s::text))", gateway)
        time.sleep(2)


def test_code_that_goes_over_passages_ends_where_it_ends(visit: Visit, site: Site) -> None:
    lines = "\n".join(f"# step {number} of the script is **kept**" for number in range(80))
    text = f"# Quokkas\n\n```sh\n{lines}\n```\n\n## After it\n\nThe quokka is **small**."
    (stored,) = site.admin.rows(
        "SELECT chunk_count FROM ingest_document('animals', 'quokka.md', %s, title => 'Quokkas')",
        text,
    )
    assert stored[0] > 1
    embed_waiting(site.admin)
    one = visit()
    one.search("quokka small")
    one.page.locator(".row", has_text="Quokkas").first.locator(".title").first.click()
    shown = one.page.get_by_role("dialog").locator(".text")
    expect(shown).to_contain_text("# step 79 of the script is **kept**")
    expect(shown).to_contain_text("The quokka is small.")
    expect(shown).not_to_contain_text("## After it")


def test_a_document_marks_the_words_and_goes_to_them(visit: Visit) -> None:
    one = visit()
    one.search("token scopes")
    one.page.locator(".row", has_text="scopes").first.locator(".title").first.click()
    dialog = one.page.get_by_role("dialog")
    expect(dialog.locator("mark").first).to_be_visible()
    words = {word.lower() for word in dialog.locator("mark").all_inner_texts()}
    assert words & {"token", "tokens", "scope", "scopes"}
    now = dialog.locator("mark.now")
    dialog.get_by_role("button", name="Next hit").click()
    expect(now).to_have_count(1)
    expect(now).to_be_in_viewport()
    count = dialog.get_by_role("status").inner_text()
    dialog.get_by_role("button", name="Hit before").click()
    expect(dialog.get_by_role("status")).not_to_have_text(count)
    assert one.problems() == []


MARKDOWN = (
    'See the **wombat** [guide to _wombats_](guide.md "x") and `wombat --help`.\n\n'
    "| wombat | size |\n|---|---|\n| big | 2 |\n\n> a wombat said `ls` a_b_c 2*3*4\n\n"
    "- [ ] wombat task\n\nBurrow\n======\n\n* * *\n\n[1]: http://burrow.example/x"
)
OTHER_MARKS = (
    "> [!NOTE]\n> a <b>numbat</b> &amp; ==kin==[^1] of <a@burrow.example>\\*\n\n"
    "```sh\nnumbat '**x**'\n```\n\n|:--:|--|\n| so |\n\n:::tip\nH~2~O<br>for the numbat\n:::\n"
)  # fmt: skip


def test_snippets_relevance_and_copies(visit: Visit, site: Site) -> None:
    copied = [
        ("one.md", "One", MARKDOWN),
        ("two.md", "Two", MARKDOWN),
        ("three.py", "", "# wombat **kwargs"),
        ("four.md", "Four", OTHER_MARKS),
    ]
    add_documents(site.admin, "animals", copied)
    embed_waiting(site.admin)
    one = visit()
    one.search("wombat")
    row = one.page.locator(".row", has_text="guide").first
    snippet = row.locator(".snippet").inner_text()
    assert not re.search(r"\*\*|`|\]\(|\||---|_wombats_", snippet), snippet
    assert "guide to wombats" in snippet
    assert "2*3*4 wombat task Burrow" in snippet
    assert not re.search(r"==|http", snippet), snippet
    assert row.locator(".snippet mark").count() > 0
    expect(row.locator(".relevance")).to_have_text(re.compile(r"relevance [\d.]+"))
    code = one.page.locator(".row", has_text="three.py").locator(".snippet")
    expect(code).to_have_text("# wombat **kwargs")
    row.get_by_text("The same text in another document").click()
    row.locator(".copies .title").click()
    expect(one.page.get_by_role("dialog").get_by_role("heading", level=2)).to_have_text(
        re.compile("One|Two")
    )
    text = one.page.get_by_role("dialog").locator(".text").inner_text()
    assert "See the wombat guide to wombats and wombat --help." in text
    assert "a wombat said ls a_b_c 2*3*4" in text
    one.page.get_by_role("button", name="Close").click()
    one.page.locator(".row", has_text="three.py").locator(".title").first.click()
    expect(one.page.get_by_role("dialog").locator(".text")).to_contain_text("# wombat **kwargs")
    one.page.get_by_role("button", name="Close").click()
    one.search("numbat")
    row = one.page.locator(".row", has_text="Four")
    expect(row.locator(".snippet")).to_have_text(
        "NOTE a numbat & kin of a@burrow.example* numbat '**x**' so H2O for the numbat"
    )
    row.locator(".title").first.click()
    text = one.page.get_by_role("dialog").locator(".text").inner_text()
    assert "a numbat & kin of a@burrow.example*\n\nnumbat '**x**'\n" in text


def test_what_excludes_is_named_where_nothing_is_found(visit: Visit) -> None:
    one = visit()
    one.search("zebra -lion -tiger")
    one.page.locator("input[type=date]").first.fill("2999-01-01")
    told = one.page.get_by_role("region", name="What may help")
    expect(told).to_contain_text("Passages with lion, tiger are left out")
    expect(one.page.locator("#status")).to_have_text("0 results, none with: lion, tiger")


def test_what_is_copied_is_shown(visit: Visit) -> None:
    one = visit(permissions=[])
    one.search("zebra")
    one.page.get_by_role("button", name="SQL", exact=True).click()
    expect(one.page.locator("#copy pre")).to_contain_text("FROM blend.hybrid_search(")
    assert one.problems() == []


def test_an_explanation_has_the_time_of_models(visit: Visit) -> None:
    one = visit()
    one.search("which time do models take")
    one.page.locator(".row .explain").first.click()
    flow = one.page.locator(".row .flow.wide").first
    one.page.get_by_text("How the search ran").first.click()
    expect(flow.locator(".stage.embed .figure").first).to_contain_text("ms")
