"""Subtitles, notebooks, RTF, books: who speaks, results that are data, what is beside a text."""

import base64
import io
import json
import zipfile
import zlib
from urllib.parse import quote

import pytest

from pgblend.cli.documents.document import ParseError
from pgblend.cli.documents.parse_calendar import parse_calendar
from pgblend.cli.documents.parse_contacts import parse_contacts
from pgblend.cli.documents.parse_drawio import parse_drawio
from pgblend.cli.documents.parse_epub import parse_epub
from pgblend.cli.documents.parse_evernote import parse_evernote
from pgblend.cli.documents.parse_fictionbook import parse_fictionbook
from pgblend.cli.documents.parse_latex import parse_latex
from pgblend.cli.documents.parse_markdown import parse_markdown, parse_mdx
from pgblend.cli.documents.parse_markup import parse_rtf, parse_xml_text
from pgblend.cli.documents.parse_notebook import parse_notebook
from pgblend.cli.documents.parse_subtitles import parse_subtitles


def test_substation_alpha_names_who_speaks():
    source = (
        "[Events]\nFormat: Layer, Start, End, Style, Name, Text\n"
        "Dialogue: 0,0:00:01.00,0:00:02.00,Default,Ann,Haul away.\n"
        "Dialogue: 0,0:00:03.00,0:00:04.00,Default,,The ebb.\n"
    )
    assert parse_subtitles(source.encode()).text == "Ann: Haul away. The ebb."


def test_a_result_that_is_data_alone_is_read():
    cell = {
        "cell_type": "code",
        "source": "f()",
        "outputs": [{"output_type": "display_data", "data": {"application/json": {"ebb": 4}}}],
    }
    text = parse_notebook(json.dumps({"nbformat": 4, "cells": [cell]}).encode()).text
    assert '"ebb": 4' in text


@pytest.mark.parametrize(
    ("data", "text", "told"),
    [
        ({"text/latex": "$\\ebb$"}, "$\\ebb$", ()),
        (
            {"application/vnd.plotly.v1+json": {"x": 1}},
            "",
            ("a result of application/vnd.plotly.v1+json among the results",),
        ),
        (
            {"image/png": "iVBO", "text/plain": "<Figure>"},
            "<Figure>",
            ("a picture among the results",),
        ),
    ],
)
def test_no_result_of_a_notebook_is_lost_in_silence(data, text, told):
    outputs = [{"output_type": "display_data", "data": data}]
    cells = [{"cell_type": "code", "source": "", "outputs": outputs}]
    document = parse_notebook(json.dumps({"nbformat": 4, "cells": cells}).encode())
    assert text in document.text
    assert tuple(each.reason for each in document.left_out) == told


def test_pictures_within_a_cell_are_told():
    cell = {"cell_type": "markdown", "source": "# Tides", "attachments": {"a.png": {}}}
    document = parse_notebook(json.dumps({"nbformat": 4, "cells": [cell]}).encode())
    assert [(each.part, each.reason) for each in document.left_out] == [
        ("cell 1", "pictures within it: a.png")
    ]


def test_what_stands_beside_the_text_of_an_rtf_is_read():
    document = parse_rtf(
        rb"{\rtf1\ansi{\info{\title The Weir}{\author Ann}}"
        rb"{\header Acme Ltd\par}{\header Acme Ltd\par}"
        rb"Water{\footnote\pard Of 1907.} falls{\v secretly}{\rtlch\deleted\revauthdel1 upwards}."
        rb"{\shp{\*\shpinst{\sp{\sn fill}{\sv 1}}{\shptxt A sluice\par}}}"
        rb"{\*\annotation{\*\atndate 7}Ask Bob}{\pict\bin3 }}}}\par}"
    )
    words = " ".join(document.text.split())
    assert words == "Water falls. Acme Ltd Of 1907. A sluice Ask Bob"
    assert (document.title, document.metadata) == ("The Weir", {"author": "Ann"})
    assert [each.part for each in document.left_out] == ["hidden text"]


def test_what_is_chosen_in_a_form_of_an_rtf_is_text():
    form = rb"{\field{\*\fldinst FORM {\*\formfield{%s}}}{\fldrslt {\rtlch %s}}} "
    choices = rb"\fftype2\ffres25\ffdefres1{\*\ffl Ebb}{\*\ffl Flow}"
    document = parse_rtf(
        rb"{\rtf1 " + form % (choices, b"") + form % (rb"\fftype1\ffres1", b"")
        + form % (choices, b"Ebb") + form % (rb"\fftype0{\*\ffdeftext no}", b"typed") + b"}"
    )  # fmt: skip
    assert document.text.split() == ["Flow", "\u2612", "Ebb", "typed"]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            rb"{\fonttbl{\f0 Arial;}{\f1\fcharset238 Arial CE;}}{\f1\'b9\'b3}\f0\'b9",
            "\u0105\u0142\u00b9",
        ),
        (rb"A\u-10179?\u-8704?B", "A\U0001f600B"),
    ],
)
def test_letters_of_an_rtf_are_those_that_it_shows(body, text):
    assert parse_rtf(rb"{\rtf1\ansi\ansicpg1252" + body + b"}").text == text


def test_keys_of_a_bibliography_are_no_words():
    source = rb"\begin{thebibliography}{9}\bibitem[K]{knuth84} The book.\end{thebibliography}"
    assert parse_latex(source).text.split() == ["The", "book."]


@pytest.mark.parametrize(
    ("source", "text", "told"),
    [
        ("1\n00:00:01,000 --> 00:00:02,000\nThe ebb\n\nand the flow.\n\n2\n00:00:02,000 --> "
         "00:00:03,000\nIn 1907\n", "The ebb and the flow. In 1907", []),
        ("0\n0:0:1,0 -> 0:0:2,0\nOdd times\n", "Odd times", []),
        ("{10}{20}The ebb|and flow\n{21}{30}{y:i}again\n", "The ebb and flow again", []),
        ("[SUBTITLE]\n00:00:01.00,00:00:02.00\nOf SubViewer[br]again\n",
         "Of SubViewer again", []),
        ("WEBVTT\n\nNOTE not said\n\nbegin\n00:01.000 --> 00:02.000 align:start\n"
         "<v.loud Ann>Ebb</v> <ruby>\u6f6e<rt>shio</rt></ruby>!\n\nwithout a time\n\nlast\n"
         "00:02.000 --> 00:03.000\nflow\n", "Ann: Ebb \u6f6e! (shio) flow", ["line 9"]),
        ("Of nobody\n\n00:00:01,000 --> 00:00:02,000\nSaid\n", "Said", ["line 1"]),
        ("[Events]\nFormat: Start, End, Name, Text\nDialogue: 0:00:01.00,0:00:02.00,Ann,"
         "{\\p1}m 0 0 l 9 9{\\p0}The ebb\nDialogue: 0:00:02.00,0:00:03.00,,{\\p2}m 0 0\n",
         "Ann: The ebb", []),
    ],
)  # fmt: skip
def test_all_that_is_said_in_subtitles_is_read(source, text, told):
    document = parse_subtitles(source.encode())
    assert document.text == text
    assert [each.part for each in document.left_out] == told


@pytest.mark.parametrize(
    ("source", "text", "metadata"),
    [
        ("\n\n---\ntags: [a]\n---\nEbb\n", "Ebb", {"tags": ["a"]}),
        ("---toml\ntags = ['a']\n---\nEbb\n", "Ebb", {"tags": ["a"]}),
        ('---json\n{"tags": ["a"]}\n---\nEbb\n', "Ebb", {"tags": ["a"]}),
        ('+++\nnote = """\n---\n"""\n+++\nEbb\n', "Ebb", {"note": "---\n"}),
        ("```{note} Of tides\n:class: wide\nEbb\n```\n", "Note: Of tides Ebb", {}),
        ("````{admonition} Of tides\nEbb\n````\n", "Of tides Ebb", {}),
        ("```{code-block} c\nint ebb;\n```\n", "```{code-block} c int ebb; ```", {}),
        ('=== "Low tide"\n\n    Ebb\n', "Low tide Ebb", {}),
        ("Ebb %%not shown%% at 5%%\n", "Ebb at 5%%", {}),
        ("%%\n# Kept\n```json\n{}\n```\n%%\nEbb\n", "Ebb", {}),
        ("```\n%%\nflow\n%%\n```\nEbb\n", "``` %% flow %% ``` Ebb", {}),
        ('<Card title="Tides">Ebb</Card>\n', "Tides Ebb", {}),
    ],
)
def test_markdown_of_many_programs_is_read_as_it_is_shown(source, text, metadata):
    document = parse_mdx(source) if "<Card" in source else parse_markdown(source)
    assert (" ".join(document.text.split()), document.metadata) == (text, metadata)
    assert document.text.count("\n") == source.count("\n")


def test_a_calendar_says_when_where_who_and_what_for():
    entry = (
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:{0}\r\nSUMMARY:Ebb\\, and flow\r\n{1}"
        "DESCRIPTION:Bring boots\r\n and a lamp\r\nEND:{0}\r\nEND:VCALENDAR\r\n"
    )
    event = "DTSTART;TZID=Europe/Berlin:20260504T100000\r\nLOCATION:Quay\r\n" + (
        "ATTENDEE;CN=Ann Berg:mailto:ann@x.org\r\nRRULE:FREQ=WEEKLY;COUNT=3\r\n"
        "BEGIN:VALARM\r\nACTION:DISPLAY\r\nDESCRIPTION:ringing\r\nEND:VALARM\r\n"
    )
    document = parse_calendar(entry.format("VEVENT", event).encode())
    assert document.title == "Ebb, and flow"
    for words in ("2026-05-04 10:00", "Where: Quay", "Ann Berg", "WEEKLY", "Bring bootsand a lamp"):
        assert words in document.text
    assert "ringing" not in document.text
    task = parse_calendar(entry.format("VTODO", "DUE;VALUE=DATE:20260601\r\n").encode())
    assert "2026-06-01" in task.text


def test_what_is_no_calendar_s_line_is_told():
    lines = "SUMMARY:Ebb\nRRULE:EVERY SECOND TUESDAY\nHull at noon\nDTSTART:soon"
    document = parse_calendar(
        f"BEGIN:VCALENDAR\nBEGIN:VEVENT\n{lines}\nEND:VEVENT\nEND:VCALENDAR".encode()
    )
    assert document.text == "Ebb\n\nWhen: soon"
    rule, line = (each.part for each in document.left_out)
    assert rule == "RRULE of Ebb"
    assert "Hull at noon" in line


@pytest.mark.parametrize("order", ["", "<itemref idref='b'/>", "<itemref idref='b'/>" * 2])
def test_a_book_is_read_whole_without_its_container_and_order(order: str) -> None:
    page = "<item id='{0}' href='{0}.html' media-type='text/html' {1}/>".format
    items = page("b", "") + page("n", "properties='nav'") + page("e", "")
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(
            "o/b.opf", f"<package><manifest>{items}</manifest><spine>{order}</spine></package>"
        )
        for name, words in (("b", "Begin."), ("n", "Menu."), ("e", "End.")):
            archive.writestr(f"o/{name}.html", f"<p>{words}</p>")
    assert parse_epub(stream.getvalue()).text.split() == ["Begin.", "End."]


@pytest.mark.parametrize("kept", ["all but the end", "no list", "a broken list"])
def test_of_a_damaged_book_the_whole_chapters_are_read(kept: str) -> None:
    stream = io.BytesIO()
    item = "<item id='{0}' href='{0}.html' media-type='text/html'/>".format
    package = f"<package><metadata><title>Tides</title></metadata>{item('a')}{item('b')}</package>"
    with zipfile.ZipFile(stream, "w") as archive:
        if kept != "no list":
            archive.writestr("b.opf", package[: -10 if kept == "a broken list" else None])
        for name, words in (("a", "Begin."), ("b", "End.")):
            archive.writestr(f"{name}.html", f"<p>{words}</p>")
    data = stream.getvalue()
    document = parse_epub(data[:-40] if kept == "all but the end" else data)
    assert document.text.split() == ["Begin.", "End."]
    assert len(document.left_out) == 1


def test_a_book_of_one_xml_is_read_in_its_order():
    document = parse_fictionbook(
        b"<FictionBook xmlns='f' xmlns:l='http://www.w3.org/1999/xlink'><description><title-info>"
        b"<author><first-name>Ann</first-name><last-name>Berg</last-name></author>"
        b"<book-title>Tides</book-title><annotation><p>Of</p><p>water</p></annotation>"
        b"</title-info></description><body><title><p>Tides</p></title><section><title><p>One</p>"
        b"</title><p>Ebb <emphasis>and</emphasis> flow.<a l:href='#n'>[1]</a></p><poem><stanza>"
        b"<v>High</v><v>low</v></stanza></poem><table><tr><th>When</th><th>Metres</th></tr><tr>"
        b"<td>noon</td><td>4</td></tr></table></section></body><body name='notes'>"
        b"<section id='n'><p>A note.</p></section></body><binary id='x'>AAAA</binary></FictionBook>"
    )
    assert document.text.split("\n") == [
        *("Tides", "", "One", "", "Ebb and flow.[1]", "High", "low", ""),
        *("When | Metres", "noon | 4", "", "A note."),
    ]
    assert [(each.level, each.text) for each in document.headings] == [(1, "Tides"), (2, "One")]
    assert document.tables[0].header == "When | Metres"
    assert (document.title, document.metadata) == (
        "Tides",
        {"author": "Ann Berg", "description": "Of water"},
    )


@pytest.mark.parametrize(
    ("read", "source"),
    [
        (parse_fictionbook, b"<FictionBook><body><section><p>Ebb.</p><p>Flow.</p><p"),
        (parse_evernote, b"<e><note><title>Ebb.</title><content>Flow.</content><tag>"),
    ],
)
def test_what_was_cut_off_is_read_as_far_as_it_goes(read, source):
    document = read(source)
    assert document.text.split() == ["Ebb.", "Flow."]
    assert document.warnings[0].startswith("damaged")


def test_of_a_calendar_that_was_cut_off_the_entries_are_read():
    source = b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Ebb\r\nDTSTART:xx\r\n"
    for end in (b"", b"END:VEVENT\r\n"):
        assert parse_calendar(source + end).text == "Ebb\n\nWhen: xx"


def test_notes_of_evernote_are_pages_under_their_titles():
    note = (
        "<note><title>{0}</title><content><![CDATA[<en-note><div><en-todo checked='true'/>"
        "The <b>e</b>bb of {0}</div>"
        "<en-crypt>AAAA</en-crypt></en-note>]]></content>"
        "<created>20260102T100000Z</created><tag>sea</tag>{1}</note>"
    ).format
    file = (
        "<resource><data>AAAA</data><resource-attributes><file-name>a.png</file-name>"
        "</resource-attributes></resource>"
    )
    alone = parse_evernote(f"<en-export>{note('May', file)}</en-export>".encode())
    assert (alone.title, alone.text) == ("May", "May\n\n\u2612 The ebb of May")
    assert alone.metadata == {"created": "2026-01-02T10:00:00+00:00", "tags": ["sea"]}
    assert [each.part for each in alone.left_out] == ["a part of May", "a.png"]
    both = parse_evernote(f"<en-export>{note('May', '')}{note('June', '')}</en-export>".encode())
    assert [each.text for each in both.headings] == ["May", "June"]


def test_contacts_are_read_as_people_see_them():
    document = parse_contacts(
        b"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ann Berg\r\nN:Berg;Ann;;;\r\nitem1.EMAIL;TYPE=WORK:"
        b"a@x.org\r\nADR:;;Quay 5;Hull;;HU1;UK\r\nNOTE:likes\\, of\r\n  late\\, tides\r\n"
        b"PHOTO;ENCODING=b:AA\r\n AA\r\nEND:VCARD\r\nBEGIN:VCARD\r\nVERSION:2.1\r\n"
        b"N;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BChl;J=\r\n=C3=BCrgen\r\nEND:VCARD\r\n"
    )
    assert document.text.split("\n\n") == [
        "Ann Berg",
        "Mail: a@x.org\nAddress: Quay 5, Hull, HU1, UK\nNote: likes, of late, tides",
        "J\u00fcrgen M\u00fchl",
    ]
    assert [each.part for each in document.left_out] == ["a photo of Ann Berg"]
    with pytest.raises(ParseError, match="BEGIN:VCARD"):
        parse_contacts(b"no card")


def test_pages_and_names_within_xml_are_read():
    document = parse_xml_text(
        b"<rss><item><title>Ebb</title><description>&lt;p&gt;The &lt;b&gt;e&lt;/b&gt;bb&lt;br/&gt;"
        b"of May&lt;/p&gt;</description><x type='html'>Ebb &amp;amp; flow</x><if>a &lt; b</if>"
        b"</item><outline text='Weirs' id='7'><outline text='Hull' _note='leaks'/></outline></rss>"
    )
    assert document.text.split("\n") == [
        *("Ebb", "The ebb", "of May", "Ebb & flow", "a < b", "Weirs", "Hull", "leaks"),
    ]


def test_a_book_s_second_title_and_its_description_are_metadata() -> None:
    stream = io.BytesIO()
    said = "<title>Tides</title><title>A guide</title><coverage>The North Sea</coverage>"
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("META-INF/container.xml", "<c><rootfile full-path='b.opf'/></c>")
        archive.writestr(
            "b.opf",
            f"<package><metadata>{said}<description>&lt;p>For &lt;b>pilots&lt;/b>"
            "</description></metadata></package>",
        )
    document = parse_epub(stream.getvalue())
    assert (document.title, document.metadata) == (
        "Tides",
        {"subtitle": "A guide", "coverage": "The North Sea", "description": "For pilots"},
    )


def test_words_of_a_diagram_are_read_packed_or_not() -> None:
    model = (
        "<mxGraphModel><root><mxCell id='0'/><mxCell id='1' parent='0'/>"
        "<mxCell id='2' value='&lt;b&gt;Weir&lt;/b&gt; \u00fcber&lt;br&gt;Hull' parent='1'/>"
        "<UserObject id='3' label='Lock' tooltip='by hand' Depth='3 m'><mxCell parent='1'/>"
        "</UserObject><mxCell id='4' parent='0' visible='0'/><mxCell id='5' value='secret'"
        " parent='4'/><mxCell id='6' value='flows to' edge='1' parent='1'/></root></mxGraphModel>"
    )
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(quote(model).encode()) + packer.flush()
    words = ["River", "Weir \u00fcber\nHull", "Lock\nby hand\nDepth: 3 m", "flows to"]
    for inner in (model, base64.b64encode(packed).decode()):
        document = parse_drawio(
            f"<mxfile><diagram name='River'>{inner}</diagram></mxfile>".encode()
        )
        assert document.text.split("\n\n") == words
        assert [one.text for one in document.headings] == ["River"]
        assert [one.part for one in document.left_out] == ["a hidden shape or layer"]
    cut = base64.b64encode(packed[:40]).decode()
    bomb = zlib.compressobj(wbits=-15)
    large = base64.b64encode(bomb.compress(bytes(10**7)) + bomb.flush()).decode()
    for inner in (cut, large, "no base64"):
        document = parse_drawio(f"<mxfile><diagram name='A'>{inner}</diagram></mxfile>".encode())
        assert [(one.part, one.reason[:7]) for one in document.left_out] == [("A", "damaged")]


def test_dates_of_xml_are_those_of_elements_that_are_called_so() -> None:
    head = b"<head><title>A letter</title><created>2024-03-16</created></head>"
    letter = parse_xml_text(b"<letter>" + head + b"<due>2030-01-01</due></letter>")
    assert letter.metadata == {"created": "2024-03-16"}
    items = (b"<item><pubDate>%s</pubDate></item>" % day for day in (b"2024-03-16", b"2024-05-01"))
    feed = parse_xml_text(b"<rss><channel>" + b"".join(items) + b"</channel></rss>")
    assert feed.metadata["date"].startswith("2024-05-01")
