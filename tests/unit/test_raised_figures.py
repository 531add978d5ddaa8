"""Exponents and the numbers of notes: raised figures in whatever format, no part of a word."""

import io
from collections.abc import Callable

import pytest
from xlsxwriter import Workbook

from pgblend.cli.documents.document import Document
from pgblend.cli.documents.formula import field_formula, raised
from pgblend.cli.documents.light_markup import parse_asciidoc, parse_org, parse_rst
from pgblend.cli.documents.parse_docx import parse_docx
from pgblend.cli.documents.parse_fictionbook import parse_fictionbook
from pgblend.cli.documents.parse_html import parse_page
from pgblend.cli.documents.parse_latex import parse_latex
from pgblend.cli.documents.parse_markdown import parse_markdown
from pgblend.cli.documents.parse_markup import parse_rtf, parse_xml_text
from pgblend.cli.documents.parse_opendocument import parse_opendocument
from pgblend.cli.documents.parse_slides import parse_slides
from pgblend.cli.documents.parse_spreadsheet import parse_spreadsheet
from support.office_files import NAMESPACES, package, root, word

SHOWN = "Berlin¹ has 10⁶ eels of H2O"
RUNS = (
    *(("Berlin", ""), ("1", "up"), (" has 10", ""), ("6", "up")),
    *((" eels of H", ""), ("2", "down"), ("O", "")),
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("6", "⁶"), ("-3", "⁻³"), ("1,2", "¹,²"), ("2+", "²⁺"), ("st", "st"), ("[1]", "[1]")],
)
def test_figures_alone_are_raised(text: str, shown: str) -> None:
    assert raised(text) == shown


MARKUP = "".join(
    {"up": f"<sup>{text}</sup>", "down": f"<sub>{text}</sub>", "": text}[place]
    for text, place in RUNS
)


def test_of_pages_and_markdown() -> None:
    assert parse_page(f"<p>{MARKUP}").text == SHOWN
    assert parse_page("a<SUP class=x><a href='#n'>1, 2</a></SUP>").text == "a¹, ²"
    assert parse_page("<h1>Tides<sup>2</sup></h1>").headings[0].text == "Tides²"
    assert parse_page("the 1<sup>st</sup> of May<sup>[3]</sup>").text == "the 1st of May[3]"
    assert parse_markdown(f"{MARKUP} `10<sup>6</sup>`").text == f"{SHOWN} `10<sup>6</sup>`"


@pytest.mark.parametrize(
    ("parse", "source"),
    [
        (parse_asciidoc, "Berlin^1^ has 10^6^ eels of H~2~O"),
        (parse_org, "Berlin^{1} has 10^{6} eels of H_{2}O"),
        (parse_rst, r"Berlin\ :sup:`1` has 10\ :superscript:`6`\  eels of H\ :sub:`2`\ O"),
        (parse_latex, r"Berlin$^1$ has 10\textsuperscript{6} eels of H$_{2}$O"),
        (lambda data: parse_markdown(data.decode()), "Berlin^1^ has 10^6^ eels of H~2~O"),
    ],
    ids=["asciidoc", "org", "rst", "latex", "pandoc"],
)
def test_of_light_markup(parse: Callable[[bytes], Document], source: str) -> None:
    assert parse(source.encode()).text.strip() == SHOWN


def test_readings_of_markdown_come_after_their_line() -> None:
    source = "# <ruby>食<rp>(</rp><rt>た</rt><rp>)</rp></ruby>べる\n\nlast"
    document = parse_markdown(source)
    assert document.text == "# 食べる (た)\n\nlast"


def test_what_is_no_figure_stays() -> None:
    for text in ("2^10 and 2^20", "a ~ b ~ c", "~~gone~~ x~~2~~", "f^[a note]"):
        assert parse_markdown(text).text == text
    assert parse_asciidoc(b"a ~ b ~ c 2^10 2^20").text == "a ~ b ~ c 2^10 2^20"


def test_of_xml() -> None:
    assert parse_xml_text(f"<article><p>{MARKUP}</p></article>".encode()).text == SHOWN
    book = f"<FictionBook><body><section><p>{MARKUP}</p></section></body></FictionBook>"
    assert parse_fictionbook(book.encode()).text == SHOWN


def test_a_field_of_any_length_is_read_at_once() -> None:
    for more in (" " * 500_000, r"\a" * 200_000, "(" * 200_000):
        assert field_formula(rf"EQ \f(1,2) x{more}").startswith("1/2 x")


def test_of_word() -> None:
    kinds = {"up": "superscript", "down": "subscript", "": "baseline"}
    runs = "".join(
        f'<w:r><w:rPr><w:vertAlign w:val="{kinds[place]}"/></w:rPr>'
        f'<w:t xml:space="preserve">{text}</w:t></w:r>'
        for text, place in RUNS
    )
    assert parse_docx(word(f"<w:p>{runs}</w:p>")).text == SHOWN


def test_of_slides() -> None:
    kinds = {"up": "30000", "down": "-25000", "": "0"}
    runs = "".join(
        f'<a:r><a:rPr baseline="{kinds[place]}"/><a:t>{text}</a:t></a:r>' for text, place in RUNS
    )
    shape = f"<p:sp><p:nvSpPr/><p:spPr/><p:txBody><a:p>{runs}</a:p></p:txBody></p:sp>"
    slide = root("p:sld", f"<p:cSld><p:spTree>{shape}</p:spTree></p:cSld>")
    slides = '<p:sldIdLst><p:sldId r:id="s"/></p:sldIdLst>'
    main = f"<p:presentation {NAMESPACES}>{slides}</p:presentation>"
    data = package(
        "ppt/presentation.xml",
        {"ppt/presentation.xml": main, "ppt/slide.xml": slide},
        {"ppt/presentation.xml": {"s": "slide ppt/slide.xml"}},
    )
    assert parse_slides(data).text == SHOWN


def test_of_opendocument() -> None:
    names = ("office", "style", "text")
    spaces = " ".join(f'xmlns:{n}="urn:oasis:names:tc:opendocument:xmlns:{n}:1.0"' for n in names)
    styles = "".join(
        f'<style:style style:name="{name}"><style:text-properties style:text-position="{place}"/>'
        "</style:style>"
        for name, place in (("up", "super 58%"), ("down", "sub 58%"))
    )
    spans = "".join(
        f'<text:span text:style-name="{place}">{text}</text:span>' for text, place in RUNS
    )
    data = (
        f"<office:document {spaces}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text><text:p>{spans}</text:p></office:text></office:body>"
        "</office:document>"
    )
    assert parse_opendocument(data.encode()).text == SHOWN


def test_of_rtf() -> None:
    data = rb"{\rtf1\ansi Berlin{\super 1} has 10\super 6\nosupersub  eels of H{\sub 2}O}"
    assert parse_rtf(data).text == SHOWN


def test_of_sheets() -> None:
    stream = io.BytesIO()
    with Workbook(stream) as book:
        up, down = (book.add_format({"font_script": place}) for place in (1, 2))
        parts = [[*({"up": [up], "down": [down]}.get(place, [])), text] for text, place in RUNS]
        sheet = book.add_worksheet()
        sheet.write_rich_string(0, 0, *[one for part in parts for one in part])
    assert parse_spreadsheet(stream.getvalue()).text == SHOWN


def test_blanks_without_end_take_no_long_time() -> None:
    """The time of a page grows with its length alone."""
    blanks = " " * 1_000_000
    assert parse_page(f"<p>red<sup>{blanks}</sup> lamp<sup><a>{blanks}x").text == "red lamp x"
