"""Subtitles and notebooks: who speaks, and results that are data."""

import json

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
