"""The page about a search in a real browser: it draws, it reacts, it reports no error."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pgblend.cli.search.explain_page import render_page
from pgblend.cli.search.explain_trace import Trace
from support.browser import Browser
from support.traces import HOSTILE, hostile, trace

pytestmark = pytest.mark.browser

# The page's policy lets no other script run in it, so it is tried out from outside, in a frame.
READER = """<!DOCTYPE html><body><iframe width="1200" height="900" src="page.html"></iframe>
<script>
document.querySelector("iframe").onload = (event) => {
  const page = event.target.contentDocument;
  const say = (name, value) => document.body.dataset[name] = JSON.stringify(value);
  const all = (selector) => [...page.querySelectorAll(selector)];
  const marked = () => [...new Set(all(".marked").map((part) => part.dataset.rank))];
  const way = page.querySelector('svg.movement.wide .way[data-rank="2"]');
  const title = page.querySelector('.moves.wide a[data-rank="3"]');
  say("open", all(".result[open]").map((card) => card.id));
  way.dispatchEvent(new Event("pointerenter"));
  say("pointed", [marked(), way.nextElementSibling === null]);
  way.dispatchEvent(new Event("pointerleave"));
  say("left", marked());
  way.dispatchEvent(new Event("click"));
  say("clicked", page.activeElement.closest(".result").id);
  title.focus();
  say("focused", marked());
  title.click();
  say("followed", page.activeElement.closest(".result").id);
  say("opened", all(".result[open]").map((card) => card.id));
};
</script>
"""


def write(folder: Path, document: dict) -> Path:
    page = folder / "page.html"
    page.write_text(render_page(Trace.from_json(document)), encoding="utf-8")
    return page


def pixels(picture: Path) -> np.ndarray:
    with Image.open(picture) as image:
        return np.asarray(image.convert("RGB"), dtype=np.int16)


def test_it_draws_without_an_error(browser: Browser, tmp_path: Path) -> None:
    tree, console = browser.dom(write(tmp_path, trace()))
    assert console == []
    assert len(tree.css("svg.flow.wide g.stage")) == 10
    assert len(tree.css("svg.timeline.wide g.stage")) == 8
    assert len(tree.css("svg.timeline.wide .call")) == 1
    assert len(tree.css("svg.movement.wide g.way")) == 3
    assert [card.id for card in tree.css("details.result[open]")] == ["result-1"]


def test_a_search_without_anything(browser: Browser, tmp_path: Path) -> None:
    nothing = trace(count=0, query="", stages=[], settings={}, degraded=[], total_ms=0)
    tree, console = browser.dom(write(tmp_path, nothing))
    assert console == []
    assert tree.css("svg") == []
    assert tree.css_first(".empty").text() == "Nothing was found."


def test_hostile_texts_run_nothing(browser: Browser, tmp_path: Path) -> None:
    tree, console = browser.dom(write(tmp_path, hostile()))
    assert console == []
    assert tree.css_first("title").text().startswith("</script><script>")
    assert tree.css_first("h1").text() == HOSTILE[0]
    assert len(tree.css("script")) == 1
    assert tree.css("img") == []


def test_the_policy_refuses_what_is_not_the_pages_own(browser: Browser, tmp_path: Path) -> None:
    page = write(tmp_path, trace())
    html = page.read_text(encoding="utf-8")
    page.write_text(
        html.replace("</main>", "</main><script>document.title = 'owned'</script>"
                     "<img src='http://127.0.0.1:9/x.png'>"),
        encoding="utf-8",
    )  # fmt: skip
    tree, console = browser.dom(page)
    assert tree.css_first("title").text() != "owned"
    assert len(console) == 2
    assert all("Content Security Policy" in message for message in console)


def test_pointing_and_choosing(browser: Browser, tmp_path: Path) -> None:
    write(tmp_path, trace())
    reader = tmp_path / "reader.html"
    reader.write_text(READER, encoding="utf-8")
    tree, console = browser.dom(reader, "--allow-file-access-from-files")
    assert console == []
    assert {
        name.removeprefix("data-"): value
        for name, value in tree.css_first("body").attributes.items()
    } == {
        "open": '["result-1"]',
        "pointed": '[["2"],true]',
        "left": "[]",
        "clicked": '"result-2"',
        "focused": '["3"]',
        "followed": '"result-3"',
        "opened": '["result-1","result-2","result-3"]',
    }


@pytest.mark.parametrize(
    ("width", "scheme"), [(1200, "light"), (1200, "dark"), (800, "light"), (500, "light")]
)
def test_the_picture(browser: Browser, tmp_path: Path, width: int, scheme: str) -> None:
    page = write(tmp_path, trace(count=10))
    flags = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    picture = pixels(browser.screenshot(page, width, 2600, *flags))
    assert picture.shape == (2600, width, 3)
    paper = picture[2, 2]
    assert bool(paper.mean() > 200) is (scheme == "light")
    inked = (np.abs(picture - paper).sum(axis=2) > 60).mean(axis=1)  # by line
    assert (inked > 0).mean() > 0.4
    # Colours of the first and the last line of the movement, and of the arms.
    red, green, blue = (picture[..., channel] for channel in range(3))
    spread = picture.max(axis=2) - picture.min(axis=2)
    violet = (spread > 60) & (blue > green + 40) & (red > green + 20)
    leafy = (spread > 60) & (green > red + 40) & (green > blue + 20)
    assert violet.sum() > 300
    assert leafy.sum() > 100


def test_nothing_is_wider_than_a_phone(browser: Browser, tmp_path: Path) -> None:
    for document in (trace(count=12), hostile()):
        write(tmp_path, document)
        (widest,) = browser.scroll_widths(tmp_path / "page.html", 360)
        assert widest <= 360
