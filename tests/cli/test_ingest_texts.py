"""Texts as people have them: what is shown is found, what is not shown is no word."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from pgblend.cli.main import cli

WILD = Path(__file__).parents[1] / "wild"
_CASES = ("10_odt_deletions", "14_epub_missing_chapter", "15_html", "17_markdown", "23_subtitles")
_SPACES = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0"'
)
_FILES = {
    "yaml.md": "---\ntitle: Ropes: a guide\ntags: [x\nauthor: Ann\n---\n\nSisal is coarse.\n",
    "json.md": '{"title": "Knots", "tags": ["reef"]}\n\nThe bowline holds.\n',
    "pelican.md": "Title: Sheets\nDate: 2026-05-04\n\nThe jib is trimmed.\n",
    "pandoc.md": "% Keels\n% Ann Berg\n\nBallast is lead.\n",
    "hr.md": "---\nProse between rules.\n---\n\nOn deck.\n",
    "notes.md": (
        "# Notes\n\n> [!WARNING]\n> Mind the boom.\n\n"
        "Tar[^resin] is <b>sticky</b>&nbsp;stuff, un*believ*able"
        "<!-- secretword -->.\n\n[^resin]: From pines.\n\n:::tip Varnish\nTwo coats.\n:::\n\n"
        "!!! note \"Paint\"\n    Red lead.\n\n```\nkeep\\_this <b>\n```\n"
    ),
    "tabs.mdx": (
        "import Tabs from '@theme/Tabs';\nexport const hiddenword = 1;\n\n"
        '# Rigging\n\n<Tabs groupId="oswords">\n<TabItem value="valueword" label="Cutter rig">'
        "\n\nOne mast.\n\n</TabItem>\n</Tabs>\n{/* quietword */}\n"
    ),
    "talk.vtt": (
        "WEBVTT\n\nNOTE a commentword\n\nc1\n00:00:01.000 --> 00:00:03.000 align:start\n"
        "<v Ann>The lighthouse <i>lens</i>\n\n00:00:03.000 --> 00:00:05.000\n"
        "was ground in Paris.\n\n00:12:00.000 --> 00:12:05.000\nThe end.\n"
    ),
    "film.ass": (
        "[Script Info]\nTitle: Whalers\n[Events]\nFormat: Layer, Start, End, Style, Name, Text\n"
        "Dialogue: 0,0:00:01.00,0:00:03.00,Styleword,,{\\i1}The harpoon{\\i0}\\Nwas forged, twice\n"
    ),
    "song.lrc": "[ti:Shanty]\n[00:12.00]Haul away the\n[00:15.00]bowsprit line\n",
    "old.ipynb": json.dumps({
        "nbformat": 3,
        "metadata": {"name": "Tides", "authors": [{"name": "Ann"}]},
        "worksheets": [{"cells": [
            {"cell_type": "heading", "level": 2, "source": ["Neap tides"]},
            {"cell_type": "code", "input": ["ebb = 4"], "outputs": [
                {"output_type": "stream", "text": ["springtide"]},
                {"output_type": "display_data", "png": "AAAA"},
            ]},
        ]}],
    }),
    "flat.fodt": (
        f"<office:document {_SPACES}><office:meta><dc:title>Anchors</dc:title>"
        "<dc:creator>Ann</dc:creator><meta:keyword>iron</meta:keyword></office:meta><office:body><office:text>"
        "<text:p>Flukes bite.</text:p></office:text></office:body></office:document>"
    ),
}  # fmt: skip
_BOX = "<draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
_PAGE = f"<draw:page>{_BOX}</draw:page>"


def _write_slides(path):
    body = "".join(map(_PAGE.format, ("The capstan", "The windlass")))
    content = (
        f"<office:document-content {_SPACES}><office:body><office:presentation>{body}"
        "</office:presentation></office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/manifest.xml", "<m/>")
        archive.writestr("content.xml", content)


@pytest.fixture(scope="module")
def report(module_url, tmp_path_factory):
    """Bring in a folder of texts; return what standard error says."""
    folder = tmp_path_factory.mktemp("texts")
    for case in _CASES:
        shutil.copytree(WILD / case, folder, dirs_exist_ok=True)
    for name, text in _FILES.items():
        (folder / name).write_text(text)
    # As PowerShell writes what a program prints.
    wide = '{"id": "w1", "text": "Spöke"}\n{"id": "w2", "text": "Dörnen"}\r\n'
    (folder / "wide.jsonl").write_bytes(wide.encode("utf-16"))
    _write_slides(folder / "deck.odp")
    result = CliRunner().invoke(
        cli, ["--database-url", module_url, "ingest", str(folder), "-c", "t", "--no-embed"]
    )
    assert result.exit_code == 0, result.output
    return result.stderr


def _found(connection, words):
    query = (
        "SELECT source_key FROM blend.lexical_search(%s, 5, '{t}', options => '{\"strict\": true}')"
    )
    return [key for (key,) in connection.execute(query, [words]).fetchall()]


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("request", "tracked.odt"),
        ("Pemberley", "tracked.odt"),
        ("Tarnbeck", "missing_chapter.epub"),
        ("cancel the ferry pass", "accordion.html"),
        ("bicycle", "accordion.html"),
        ("Ardennes", "shadow.html"),
        ("Senja", "alt.html"),
        ("MAX_CONNECTIONS", "escaped.md"),
        ('"harbour master refused"', "talk.srt"),
        ('"lighthouse lens was ground"', "talk.vtt"),
        ('"harpoon was forged"', "film.ass"),
        ('"haul away the bowsprit line"', "song.lrc"),
        ("sisal", "yaml.md"),
        ("bowline", "json.md"),
        ("jib", "pelican.md"),
        ("ballast", "pandoc.md"),
        ("prose between rules", "hr.md"),
        ("unbelievable", "notes.md"),
        ("warning boom", "notes.md"),
        ("varnish coats", "notes.md"),
        ('"Cutter rig"', "tabs.mdx"),
        ("neap", "old.ipynb"),
        ("springtide", "old.ipynb"),
        ("spöke", "w1"),
        ("dörnen", "w2"),
        ("flukes", "flat.fodt"),
        ("windlass", "deck.odp"),
    ],
)
def test_what_is_shown_is_found(report, module_connection, words, key):
    assert key in _found(module_connection, words), report


@pytest.mark.parametrize(
    "word",
    [
        *(
            "guilders",
            "secretword",
            "quietword",
            "hiddenword",
            "valueword",
            "oswords",
            "commentword",
        ),
        *("theme", "Styleword", "resin", "c1"),
    ],
)
def test_what_is_not_shown_is_no_word(report, module_connection, word):
    assert _found(module_connection, word) == []


@pytest.mark.parametrize(
    ("key", "title", "metadata"),
    [
        ("toml.md", "Harvest", {"tags": ["barley"]}),
        ("yaml.md", "Ropes: a guide", {"author": "Ann"}),
        ("json.md", "Knots", {"tags": ["reef"]}),
        ("pelican.md", "Sheets", {"date": "2026-05-04"}),
        ("pandoc.md", "Keels", {"author": "Ann Berg"}),
        ("film.ass", "Whalers", {}),
        ("song.lrc", "Shanty", {}),
        ("old.ipynb", "Tides", {"author": ["Ann"]}),
        ("flat.fodt", "Anchors", {"author": "Ann", "tags": ["iron"]}),
    ],
)
def test_what_stands_about_a_text_is_metadata(report, module_connection, key, title, metadata):
    found = module_connection.execute(
        "SELECT title, metadata FROM blend.documents WHERE source_key = %s", [key]
    ).fetchone()
    assert (found[0], found[1] | metadata) == (title, found[1])
    (text,) = module_connection.execute(
        "SELECT content FROM blend.chunks AS c JOIN blend.documents AS d USING (document_id)"
        " WHERE d.source_key = %s",
        [key],
    ).fetchone()
    assert "+++" not in text
    assert "title" not in text.lower()


def test_times_are_places_and_code_stays(report, module_connection):
    chunk = (
        "SELECT c.content, c.metadata FROM blend.chunks AS c"
        " JOIN blend.documents AS d USING (document_id)"
    )
    rows = dict(module_connection.execute(f"{chunk} WHERE d.source_key = 'talk.vtt'").fetchall())
    (text,) = rows
    assert text == "Ann: The lighthouse lens was ground in Paris.\n\nThe end."
    assert rows[text]["times"] == ["00:00:01", "00:12:05"]
    (notes,) = module_connection.execute(f"{chunk} WHERE d.source_key = 'notes.md'").fetchone()[:1]
    assert "keep\\_this <b>" in notes
    assert "Tar[1] is sticky" in notes


def test_what_is_left_out_is_named(report):
    lines = [line for line in report.splitlines() if "left out: " in line]
    assert any("missing_chapter.epub: OEBPS/b.xhtml: " in line for line in lines)
    assert any("yaml.md: its front matter: not valid: " in line for line in lines)
    assert any("old.ipynb: cell 2: a picture among the results: " in line for line in lines)
