"""The page about a search: what it shows, and that no text of a user's becomes markup."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from selectolax.lexbor import LexborHTMLParser

from pgblend.cli.search import explain_flow, explain_page
from pgblend.cli.search.explain_page import render_page
from pgblend.cli.search.explain_text import score_rows
from pgblend.cli.search.explain_trace import NOTHING, Trace
from support.traces import HOSTILE, hostile, result, stage, trace


def page(document: dict) -> LexborHTMLParser:
    return LexborHTMLParser(render_page(Trace.from_json(document)))


def texts(tree: LexborHTMLParser, selector: str) -> list[str]:
    return [" ".join(node.text().split()) for node in tree.css(selector)]


def test_it_shows_every_stage_with_time_rows_and_reason() -> None:
    tree = page(trace())
    boxes = texts(tree, "svg.flow.wide g.stage title")
    assert boxes == [
        "embed: 80.0 ms, 1 vector",
        "lexical: 4.0 ms, 100 rows",
        "vector: 6.0 ms, 100 rows; degraded: some passages have no vector yet",
        "fuzzy: not run: every word is known",
        "fuse: 0.5 ms, 150 rows",
        "dedup: 0.2 ms, 140 rows",
        "rerank: not run: mode is fast",
        "page: <0.1 ms, 3 rows",
        "fetch: 9.0 ms, 3 rows",
        "other: 0.3 ms",
    ]
    assert texts(tree, "section.degraded li") == ["vector: some passages have no vector yet"]
    assert texts(tree, ".notes li") == [
        "fuzzy not run: every word is known",
        "vector degraded: some passages have no vector yet",
        "rerank not run: mode is fast",
    ]


def test_it_shows_the_way_of_every_result() -> None:
    tree = page(trace())
    assert texts(tree, "svg.movement.wide .head") == ["lexical", "vector", "fuse", "dedup"]
    cells = [
        [cell.text() for cell in row.css("td")]
        for row in tree.css("section[aria-labelledby=movement-head] tbody tr")
    ]
    assert cells == [
        ["1", "41", "2", "1"],
        ["2", NOTHING, "3", "2"],
        ["3", "43", "4", "3"],
    ]


def test_settings_say_who_set_them() -> None:
    tables = page(trace()).css("table.settings")
    changed, all_of_them = (
        [[cell.text() for cell in row.css("th, td")] for row in t.css("tbody tr")] for t in tables
    )
    assert changed == [["candidate_depth", "50", "call"]]
    assert all_of_them == [["candidate_depth", "50", "call"], ["rrf_k", "60", "default"]]


def test_no_results_are_said() -> None:
    tree = page(trace(count=0))
    assert texts(tree, ".empty") == ["Nothing was found."]
    assert tree.css("svg.movement") == []


def test_a_page_needs_nothing_else() -> None:
    html = render_page(Trace.from_json(trace()))
    tree = LexborHTMLParser(html)
    assert tree.css("link, img, iframe, object, embed, script[src], base, form") == []
    assert not re.search(r"@import|url\(", html)
    policy = tree.css_first("meta[http-equiv=Content-Security-Policy]").attributes["content"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe-inline" not in re.search(r"script-src ([^;]*)", policy)[1]


class Elements(HTMLParser):
    """Counts elements, and gathers the attributes that could run code."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.suspicious: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        for name, value in attributes:
            if name.startswith("on") or (
                name == "href" and not re.fullmatch(r"#result-\d+", value)
            ):
                self.suspicious.append(f"{tag} {name}={value}")


def test_hostile_texts_stay_texts() -> None:
    html = render_page(Trace.from_json(hostile()))
    elements = Elements()
    elements.feed(html)
    assert elements.names.count("script") == 1
    assert elements.names.count("style") == 1
    assert elements.suspicious == []
    assert "img" not in elements.names
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", html)
    tree = LexborHTMLParser(html)
    assert tree.css_first("h1").text() == HOSTILE[0]
    titles = [node.text() for node in tree.css(".result .who b")]
    assert titles[:4] == list(HOSTILE[:4])
    turned = HOSTILE[4].replace("\u202e", "\\u202e")
    assert titles[4:] == [turned, HOSTILE[5], "a b [31mred next", HOSTILE[7], "document 19"]
    assert "49" not in titles[3]
    assert tree.css(".result .where")[-1].text() == "lines 1-9"


def test_only_the_snippets_own_marks_are_marks() -> None:
    tree = page(trace(count=1))
    assert tree.css_first("blockquote").text() == "to roll back & go on"
    assert texts(tree, "blockquote mark") == ["roll back"]


def test_the_parts_of_a_score() -> None:
    (one,) = Trace.from_json(trace(count=1)).results
    rows = [(row.name, row.rank, row.adds, row.start, row.width) for row in score_rows(one)]
    assert rows == [
        ("lexical", 1, 0.6, 0.0, 0.6),
        ("vector", 41, 0.4, 0.6, 0.4),
        ("recency", None, -0.1, 0.9, pytest.approx(0.1)),
    ]
    cells = [
        [cell.text() for cell in row.css("th, td.number")]
        for row in page(trace(count=1)).css("table.parts tbody tr")
    ]
    assert cells == [
        ["lexical", "1", "9.5", "1", "0.600"],
        ["vector", "41", "0.25", "1", "0.400"],
        ["recency", NOTHING, NOTHING, NOTHING, "-0.100"],
        ["score", "0.900"],
    ]


def test_arms_without_a_weight_or_a_part() -> None:
    """A reranker has no weight; the raw sum is what the arms add up to, and adds nothing itself."""
    arms = {
        "hyde": {"rank": 2, "score": 0.5, "weight": 0.7},
        "lexical_variant_1": {"rank": 1, "score": 3.0, "weight": 0.5},
        "rerank": {"rank": 1, "score": 0.9},
        "fused": {"rank": 1, "score": 0.03},
    }
    told = result(1, arms=arms, parts={"hyde": 0.3, "rerank": 0.4, "position": 0.2})
    (one,) = Trace.from_json(trace(results=[told])).results
    assert [(row.name, row.family, row.adds) for row in score_rows(one)] == [
        ("hyde", "vector", 0.3),
        ("lexical_variant_1", "lexical", 0.0),
        ("fused", "fused", None),
        ("rerank", "rerank", 0.4),
        ("position", "position", 0.2),
    ]
    told["scores"] = {"fuse": 0.8, "blend": 0.9}
    assert (
        page(trace(results=[told]))
        .css_first(".small")
        .text()
        .startswith("after fuse 0.800 · after blend 0.900 · ")
    )


def test_what_no_stage_took_is_a_box_of_its_own() -> None:
    stages = Trace.from_json(trace()).stages
    assert sum(stage.ms for stage in stages) == pytest.approx(100)
    other = stages[-1]
    assert other.name == "other"
    assert other.spans == ((0.0, 0.1), (pytest.approx(99.81), 100.0))
    untimed = [{**one, "start_ms": None} for one in trace()["stages"]]
    old = Trace.from_json(trace(stages=untimed))  # a trace of the first release
    assert old.stages[-1].spans == ()
    assert explain_page.draw_timeline(old, explain_page.TIMELINE_WIDE).rows == []


@pytest.mark.parametrize("layout", [explain_page.TIMELINE_WIDE, explain_page.TIMELINE_SLIM])
def test_the_time_axis_shows_what_ran_side_by_side(layout: explain_page.TimelineLayout) -> None:
    drawn = explain_page.draw_timeline(Trace.from_json(trace()), layout)
    rows = {row.stage.name: row for row in drawn.rows}
    assert list(rows) == ["lexical", "embed", "vector", "fuse", "dedup", "page", "fetch", "other"]
    call, (lexical,), (embed,) = rows["embed"].call, rows["lexical"].bars, rows["embed"].bars
    assert call is not None
    assert call.x < lexical.x + lexical.width  # asked while the words were looked up
    assert call.x + call.width == pytest.approx(embed.x + embed.width)
    scale = (drawn.width - drawn.left) / 100
    assert embed.width == pytest.approx(80 * scale)
    for row in drawn.rows:
        for bar in (*row.bars, *([row.call] if row.call else [])):
            assert drawn.left <= bar.x
            assert bar.x + bar.width <= drawn.width + 1e-9
        if row.label_anchor == "start":
            assert row.label_x + layout.time <= drawn.width + 6
    assert [tick.x for tick in drawn.ticks] == sorted({tick.x for tick in drawn.ticks})
    assert 2 <= len(drawn.ticks) <= 7
    assert (drawn.ticks[0].anchor, drawn.ticks[1].anchor) == ("start", "middle")
    assert drawn.ticks[-1].x == drawn.width
    assert drawn.ticks[-1].anchor == "end"  # else its label would be cut


def test_boxes_do_not_touch_and_bars_share_the_time() -> None:
    for layout in (explain_flow.WIDE, explain_flow.TALL):
        drawn = explain_flow.draw_flow(Trace.from_json(trace()), layout)
        boxes = drawn.boxes
        assert len(boxes) == (10 if layout.idle else 9)  # an arm that did not run
        for place, one in enumerate(boxes):
            assert one.x >= 0
            assert one.x + one.width <= drawn.width + 1e-9
            assert one.y + one.height <= drawn.height + 1e-9
            for other in boxes[place + 1 :]:
                assert (
                    one.x + one.width <= other.x
                    or other.x + other.width <= one.x
                    or one.y + one.height <= other.y
                    or other.y + other.height <= one.y
                )
        shares = {box.stage.name: box.bar / layout.bar for box in boxes}
        assert shares["embed"] == pytest.approx(0.8)
        assert shares["rerank"] == 0
        assert sum(shares.values()) <= 1


def test_an_empty_trace_can_be_drawn() -> None:
    empty = Trace.from_json(trace(count=0, stages=[], degraded=[], total_ms=0))
    assert explain_flow.draw_flow(empty, explain_flow.WIDE).boxes == []
    assert explain_page.draw_movement(empty, explain_page.WIDE).lines == []


@pytest.mark.parametrize("layout", [explain_page.WIDE, explain_page.SLIM])
def test_dots_of_a_column_keep_their_order_and_do_not_touch(layout) -> None:
    deep = [
        result(
            rank,
            arms={"lexical": {"rank": depth, "score": 1}},
            places={"fuse": 30 + depth},
        )
        for rank, depth in enumerate([500, 2, 101, 100, 102, 99, 12, 13, 14, 1], start=11)
    ]
    drawn = explain_page.draw_movement(Trace.from_json(trace(results=deep)), layout)
    assert [column.name for column in drawn.columns] == ["lexical", "fuse", "result"]
    for column in range(3):
        dots = sorted((line.dots[column] for line in drawn.lines), key=lambda dot: dot.rank)
        heights = [dot.y for dot in dots]
        assert heights == sorted(heights)
        assert all(b - a >= 2 * layout.radius for a, b in pairwise(heights))
        assert heights[0] >= layout.radius
        assert heights[-1] <= drawn.height - layout.radius
    last = [line.dots[-1].y for line in drawn.lines]
    assert last == [drawn.list_top + (place + 0.5) * layout.row for place in range(10)]


def test_an_arm_that_could_not_run_is_drawn_with_the_reason() -> None:
    document = trace(stages=[stage("lexical", 1, 3)], degraded=["vector: no gateway; start one"])
    assert texts(page(document), "svg.flow.wide g.degraded title") == [
        "vector: not run: no gateway; start one"
    ]


def test_a_long_list_is_drawn_in_part() -> None:
    document = trace(count=80, stages=[stage("fuse", 1, 80)])
    assert len(explain_page.draw_movement(Trace.from_json(document), explain_page.WIDE).lines) == 50
    assert "The first 50 are drawn." in render_page(Trace.from_json(document))
