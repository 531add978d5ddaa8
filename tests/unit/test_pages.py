"""Pages of the web: what a reader can see is text, what leads through the site is none."""

from pathlib import Path

import pytest

from pgblend.cli.documents.parse_html import parse_page

PAGES = Path(__file__).parents[1] / "pages"
# What the menus, rows of links and banners of the pages say.
_FURNITURE = (
    *("Tablink", "Sidelink", "Oncelink", "Crumblink", "Catlink", "Sharelink", "Footlink"),
    *("Quaylink", "Toplink", "Introlink", "Headtitle", "biscuitword", "Copy code", "\u00b6"),
    *("Skip to", "Skip navigation", "Jump to", "Edit this page", "Search", "Prev", "Next", "edit]"),
)


@pytest.mark.parametrize("path", sorted(PAGES.glob("*.html")), ids=lambda path: path.stem)
def test_a_page_of_a_generator_is_read_without_its_navigation(path):
    page = parse_page(path.read_text())
    assert [word for word in _FURNITURE if word in page.text] == []
    assert page.text.startswith("Moorings") or "\n\nMoorings\n" in page.text[:40]
    assert "A mooring holds a ship by hawsers." in page.text
    assert "\nship.moor()\n" in page.text
    assert "Rope | Load\nhemp | 12" in page.text
    assert "Moorings" in [heading.text for heading in page.headings]
    (table,) = page.tables
    assert table.header == "Rope | Load"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<details><summary>Fees</summary>None in May.</details>", "Fees\n\nNone in May."),
        ("<h3><button>With a bike?</button></h3><div hidden>Yes.</div>", "With a bike?\n\nYes."),
        ("<button aria-expanded=false>Refunds</button><p>Soon.", "Refunds\n\nSoon."),
        ("<p>Run<button>Copy</button> it", "Run it"),
        ("<x-y><template shadowrootmode=open><p>In <b>shadow</b></template></x-y>", "In shadow"),
        ("<template><p>never shown</template><p>Shown", "Shown"),
        ("<p>At <img alt='Map of Senja' src=x.png>", "At Map of Senja"),
        ("<map><area alt='East quay' href=e></map>", "East quay"),
        ("<svg><title>Tides</title><text>Ebb</text><text>Moon</text></svg>", "Tides\nEbb\nMoon"),
        ("<p>Tide<svg aria-hidden=true><title>Icon</title></svg>", "Tide"),
        ("<a href=g><svg><g><title>Our workshop</title></g></svg></a>", "Our workshop"),
        ("<p>Rope<button aria-label='Order rope'><svg></svg></button>", "Rope\nOrder rope"),
        ("<div role=button aria-label='Order sisal'></div>", "Order sisal"),
        ("<p>Rope<span role=button aria-label='Order it'></span>", "Rope Order it"),
        ("<button><svg><title>Order twine</title></svg></button>", "Order twine"),
        ("<button aria-label='Order hemp'>Buy it</button>", "Buy it"),
        ("<button><svg><title>Buy</title></svg>Buy it</button>", "Buy it"),
        ("<button aria-label=Eel><img alt='An eel' src=x></button>", "An eel"),
        ("<p>Rope<button aria-label='Copy code to clipboard'></button>", "Rope"),
        ("<p>Rope<button aria-label='Toggle dark mode'><svg><title>Moon</title></svg></button>",
         "Rope"),
        ("<p>So <math><mi>a</mi><mo>=</mo><mn>2</mn><annotation>a=2</annotation></math>", "So a=2"),
        ("<p><math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac></math>",
         "(a+b)/2"),
        ("<p><math><msup><mn>10</mn><mn>6</mn></msup><msub><mi>x</mi><mi>i</mi></msub></math>",
         "10^6x_i"),
        ("<p><math><munderover><mo>&sum;</mo><mi>i</mi><mi>n</mi></munderover>"
         "<msqrt><mi>k</mi></msqrt></math>", "\u2211_i^n \u221ak"),
        ("<p>So <math display=block><mi>a</mi></math> it is", "So\na\nit is"),
        ("<p><span><math><mi>y</mi></math><span aria-hidden=true>y</span></span> it", "y it"),
        ("<iframe srcdoc='&lt;p>In a frame'></iframe>", "In a frame"),
        ("<object data=x.pdf><p>Plan of the dock</object>", "Plan of the dock"),
        ("<canvas>Chart: 4 knots</canvas>", "Chart: 4 knots"),
        ("<video>Your browser is old</video><p>Film", "Film"),
        ("<p>Page<noscript>Enable JavaScript</noscript>", "Page"),
        ("<select><optgroup label=Ropes><option>Hemp<option>Sisal</select>", "Ropes\nHemp\nSisal"),
        ("<input value='Berth 9'><input type=hidden value=no>", "Berth 9"),
        ("<input placeholder='Name of the ship'>", "Name of the ship"),
        ("<input type=submit value='Order a pilot'>", "Order a pilot"),
        ("<textarea>two\nlines</textarea>", "two\nlines"),
        ("<dialog>Closed on Sundays</dialog>", "Closed on Sundays"),
        ("<meter value=6 max=10>6 of 10</meter>", "6 of 10"),
        ("<progress value=3 max=4>three quarters</progress>", "three quarters"),
        ("<output>42</output>", "42"),
        ("<p>Load<meter>3 of 5</meter><progress>70 %</progress>full", "Load 3 of 5 70 % full"),
        ("Code<xmp><b>a\n b</xmp><listing>x\n y</listing>end", "Code\n\n<b>a\n b\n\nx\n y\n\nend"),
        ("<a href=r.pdf aria-label='Get the report'><svg></svg></a>", "Get the report"),
        ("<p>Eels<a href='#eels' aria-label='Permalink'><svg></svg></a>", "Eels"),
        ("<div role=img aria-label='Map of the weir'></div>", "Map of the weir"),
        ("<svg role=img aria-label='Sales by year'><path d=m1 /></svg>", "Sales by year"),
        ("<p>Go <span role=img aria-label='rocket'>\U0001f680</span>", "Go \U0001f680"),
        ("<p>The <q>old</q> pier", "The \u201cold\u201d pier"),
        ("<ruby>\u6f22<rp>(</rp><rt>kan</rt>\u5b57<rt>ji</rt></ruby>", "\u6f22\u5b57 (kan ji)"),
        ("<p>日本\n  語の文、\r\nそして\nend 한국\n어", "日本語の文、そして end 한국 어"),
        ("<p><ruby>食<rt>た</rt></ruby>べる<br><ruby>漢<rt>かん</rt>字<rt>じ</rt></ruby>の本",
         "食べる (た)\n漢字の本 (かんじ)"),
        ("<ol start=3><li>Cast off<li>Turn</ol>", "3. Cast off\n4. Turn"),
        ("<ol type=i><li>Cast off<li value=4>Turn</ol>", "i. Cast off\niv. Turn"),
        ("<ul><li>Hemp<ol><li>long</ol><li>Sisal</ul>", "- Hemp\n\n1. long\n\n- Sisal"),
        ("<menu><li>Soup of the day<li>Eel</menu>", "- Soup of the day\n- Eel"),
        ("<p><del>old</del> <ins>new</ins> H<sub>2</sub>O", "old new H2O"),
        ("<p>Prev<wbr>ious &lt;b>", "Previous <b>"),
        ("<table><tr><th><p>Ship</p></th><th><div><p>Fee</p>\n</div><tr><td><p>Eel<td><p>7",
         "Ship | Fee\nEel | 7"),
        ("<table><tr><td><p>Eel</p><p>Carp</p><td>7</table>", "Eel\n\nCarp\n\n7"),
        ("<dl><dt>Luff<dd>To turn to the wind</dl>", "Luff\nTo turn to the wind"),
        ("<fieldset><legend>Crew</legend><label>Mate</label></fieldset>", "Crew\n\nMate"),
        ("<figure><img src=x.png><figcaption>The crane</figcaption></figure>", "The crane"),
        ("<hgroup><h1>Eel</h1><p>A fish</hgroup>", "Eel\n\nA fish"),
        ("<search><p>Look for eels here</search>", "Look for eels here"),
        ("<article><header><h1>Eel</h1>By Ann</header><footer><a href=x>More</a></footer>",
         "Eel\n\nBy Ann\n\nMore"),
    ],
)  # fmt: skip
def test_what_a_reader_sees_is_text(source, text):
    assert parse_page(source).text == text


def test_readings_are_no_part_of_a_heading():
    page = parse_page("<h1><ruby>食<rt>た</rt></ruby>べる</h1>")
    assert (page.title, page.text) == ("食べる", "食べる (た)")


def test_frames_are_links_to_their_pages():
    page = parse_page("<frameset><frame src=menu.html><frame src=eels.html></frameset>")
    assert [link.target for link in page.links] == ["menu.html", "eels.html"]


@pytest.mark.parametrize(
    "start", ['<?xml version="1.0"?>\n<html>', '<!DOCTYPE html>\n<html lang="de" xmlns="x">']
)
def test_an_element_of_xml_may_end_where_it_begins(start):
    page = parse_page(
        f'{start}<head><title/></head><body><script src="a.js"/><a id="p1"/>The weir.<br/>'
    )
    assert (page.text, page.title) == ("The weir.", "")


def test_a_page_may_begin_with_many_comments():
    # Each might be parted in two ways: 60 took longer than anybody waits.
    assert parse_page("<!--a-->" * 60 + "<body>The weir.").text == "The weir."


@pytest.mark.parametrize(
    "source",
    [
        "<nav><a href=a>A</a></nav>",
        "<div role=navigation><h2>Menu</h2><a href=a>A</a></div>",
        "<p><a href=a>Prev</a> | <a href=b>Up</a> | <a href=c>Home</a> | <a href=d>Next</a></p>",
        "<table><tr><td><a href=a>Zur\u00fcck</a><td>Seite<td><a href=b>Weiter</a></table>",
        "<div>\u00ab <a rel=prev href=a>Eels</a> <a rel=next href=b>Cod</a> \u00bb</div>",
        "<div class=breadcrumbs><a href=a>Home</a> / <a href=b>Fish</a></div>",
        "<div id=cookie-banner>We use cookies. <button>Agree</button></div>",
        "<ul><li><a href=a>News</a><li><a href=b>Shop</a><li><a href=c>Jobs</a></ul>",
        "<header><a href=/>Logo</a><nav><a href=a>A</a></nav></header>",
        "<a class=skip href='#main'>Skip to content</a>",
        "<div id=footer role=contentinfo><p>Document generated by Confluence on May 3, 2025 10:15"
        "</p><a href=http://a.com>Atlassian</a></div>",
        "<address class=footer>Generated by\u00a0<a href=d>doxygen</a> 1.9.1</address>",
        "<footer><p>Built with MkDocs.</p></footer>",
    ],
)
def test_what_leads_through_a_site_is_no_text(source):
    assert parse_page(f"{source}<h1>Eels</h1><p>They swim.").text == "Eels\n\nThey swim."


@pytest.mark.parametrize(
    "source",
    [
        "<div class=menu><h2>Menu</h2><p>Eel soup with dill, 9 euros; bread, 2 euros.</div>",
        "<h1>Fish</h1><ul><li><a href=a>Eels</a><li><a href=b>Cod</a><li><a href=c>Carp</a></ul>",
        "<p>See the <a href=a>next</a> and the <a href=b>previous</a> eel run in May.</p>",
        "<aside class=sidebar>A note: eels are eaten <a href=a>smoked</a> in the north.</aside>",
        "<p>Cookies of the consent form are stored for a day.</p>",
    ],
)
def test_what_only_looks_like_navigation_stays(source):
    page = parse_page(source)
    assert "eel" in page.text.casefold() or "Cookies" in page.text
