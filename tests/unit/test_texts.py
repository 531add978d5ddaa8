"""Subtitles, notebooks, RTF: who speaks, results that are data, what stands beside a text."""

import json

import pytest

from pgblend.cli.documents.parse_latex import parse_latex
from pgblend.cli.documents.parse_markup import parse_rtf
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


def test_keys_of_a_bibliography_are_no_words():
    source = rb"\begin{thebibliography}{9}\bibitem[K]{knuth84} The book.\end{thebibliography}"
    assert parse_latex(source).text.split() == ["The", "book."]
