"""Links found in texts, and that finding them takes time in proportion."""

import time

import pytest

from pgblend.cli.documents import find_links as find_links_module
from pgblend.cli.documents.document import Link
from pgblend.cli.documents.find_links import find_links
from pgblend.cli.documents.parse_html import parse_page


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see [[Note]]", [("Note", "wiki", "link")]),
        ("![[Note#Part|as]]", [("Note#Part|as", "wiki", "embed")]),
        ("| [[Note\\|as]] |", [("Note\\|as", "wiki", "link")]),
        (r"\[[Note]] [ [Note] ]", []),
        ("[a](b.md)", [("b.md", "path", "link")]),
        ("![a](<b c.png> 'title')", [("b c.png", "path", "embed")]),
        ("[a [b]](c(d).md \"t\")", [("c(d).md", "path", "link")]),
        (r"[a](b\)c.md)", [("b)c.md", "path", "link")]),
        ("[a] (b.md) [a](b c.md)", []),
        ("[a][1]\n\n[1]: b.md 'title'", [("b.md", "path", "link")]),
        ("[^1]: a footnote", []),
        ("<https://example.org/x>", [("https://example.org/x", "path", "link")]),
        ("<a class='k' href=\"x.html\">x</a>", [("x.html", "path", "link")]),
        ("`code [[Note]]` ``a ` [[Note]]``", []),
        ("a ` alone\n\n[[Note]] and ` again", [("Note", "wiki", "link")]),
        ("```\n[[Note]]\n```\n[[Other]]", [("Other", "wiki", "link")]),
        ("- item\n  ~~~~ md\n  [[Note]]\n", [("Note", "wiki", "link")]),  # no blank line before
        ("\n~~~\n[[Note]]\n~~~~\n[[Other]]", [("Other", "wiki", "link")]),
        ("````\n```\n[[Note]]\n````", []),
        ("<!-- [[Note]] --> %%[[Note]]%% [[Other]]", [("Other", "wiki", "link")]),
        ("<!-- [[Note]]", [("Note", "wiki", "link")]),
        ("Title\n~~~~~\n:pep:`8`, :rfc:`2119#section-1`, :pep:`text <20>`",
         [("pep 8", "name", "link"), ("rfc 2119", "name", "link"), ("pep 20", "name", "link")]),
        (":doc:`../guide` :ref:`label` `shown <other.rst>`_",
         [("../guide", "path", "link"), ("other.rst", "path", "link")]),
        ("[[" + "x" * 2001 + "]]", []),
        ("", []),
    ],
)  # fmt: skip
def test_links_of_a_text(text: str, found: list[tuple[str, str, str]]) -> None:
    assert [(link.target, link.kind, link.type) for link in find_links(text)] == found


def test_places_are_those_of_the_text() -> None:
    text = "```\ncode\n```\n[a](b) and [[c]]\n"
    assert [text[link.offset] for link in find_links(text)] == ["[", "["]
    assert [link.target for link in find_links(text)] == ["b", "c"]


@pytest.mark.parametrize(
    "part",
    ["[", "[[", "![", "[a](", "<!--", "%%", "`", "```\n", "<a ", "<a href='", ":pep:`", "`<"],
)
def test_hostile_texts_take_no_time(part: str) -> None:
    began = time.process_time()
    find_links(part * 30_000)
    assert time.process_time() - began < 10  # minutes, were it quadratic


def test_links_of_a_page() -> None:
    page = "<nav><a href=menu>m</a></nav><p>One <a href=' two.html '>two</a><a name=x>x</a>"
    assert parse_page(page).links == (Link(4, "two.html", "path"),)


def test_a_large_text_is_looked_through_in_parts(monkeypatch):
    fenced = "```\n[[code]]\n\n[[code]]\n```\n\n"
    block = f"See [[one]] and [two](two.md).\n\n{fenced}%% [[no]]\n\n [[no]] %%\n\n"
    text = block * 5 + "<!-- [[no]]\n\n-->\n\n:pep:`8`\n\nodd %% [[last]]\n\n[[end]]"
    whole = find_links(text)
    assert [link.target for link in whole[-3:]] == ["pep 8", "last", "end"]
    assert len(whole) == 13
    monkeypatch.setattr(find_links_module, "_PART_CHARACTERS", 10)
    assert find_links(text) == whole
