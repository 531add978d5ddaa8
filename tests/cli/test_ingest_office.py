"""Office files as people have them, brought in by `pgblend ingest` and found by words."""

import io
import re
import zipfile
from pathlib import Path

import pytest

WILD = Path(__file__).parents[1] / "wild"


@pytest.fixture
def found(pgblend, connection):
    """Bring folders in; return a search by words in one file."""
    for folder in ("08_pdf_forms_and_stamps", "09_word", "11_charts", "12_cell_formats"):
        assert pgblend("ingest", str(WILD / folder), "-c", "t", "--no-embed").exit_code == 0

    return lambda words, key: found_in(connection, "t", words, key)


def found_in(connection, collection, words, key):
    """Return pages and marked snippet of what a search by words finds in one file."""
    return connection.execute(
        "SELECT pages, snippet FROM blend.lexical_search(%s, 9, ARRAY[%s],"
        " jsonb_build_object('$source_key', %s::text), options => '{\"strict\": true}')",
        [words, collection, key],
    ).fetchall()


@pytest.mark.extended
def test_what_people_see_is_found(found):
    for words, keys in {
        "Quillfeather": {"form_drawn.pdf", "form_undrawn.pdf"},
        "Osterholm": {"form_drawn.pdf", "form_undrawn.pdf"},
        "Brindlewood": {"application.pdf"},
        "3.2": {"contract.docx"},
        "berth": {"form.docm", "form.dotx", "strict.docx"},
        "Kestrelmoor": {"boxes.docx"},
        "AZ-4711/26": {"boxes.docx"},
        "herring": {"chart.pptx"},
        "Ostmark": {"chart.pptx"},
        "Landed fish": {"chart.pptx"},
        "00123": {"formats.xlsx"},
        "7.5%": {"formats.xlsx"},
    }.items():
        for key in keys:  # each by itself: of the same text only one is shown
            rows = found(words, key)
            assert rows, (words, key)
            assert all("<" in snippet or "*" in snippet for _, snippet in rows), words
    for key in ("form_drawn.pdf", "form_undrawn.pdf"):
        assert [pages for pages, _ in found("Quillfeather", key)] == [[1]]


# --- relatives of Word, PowerPoint and Excel, and damaged ones

TYPES = {
    ".pptm": "ms-powerpoint.presentation.macroEnabled",
    ".ppsx": "openxmlformats-officedocument.presentationml.slideshow",
    ".ppsm": "ms-powerpoint.slideshow.macroEnabled",
    ".potx": "openxmlformats-officedocument.presentationml.template",
    ".xlsm": "ms-excel.sheet.macroEnabled",
    ".xltx": "openxmlformats-officedocument.spreadsheetml.template",
    ".xltm": "ms-excel.template.macroEnabled",
}
STRICT = {
    b"officeDocument/2006/relationships": b"officeDocument/relationships",
    b"officeDocument/2006/extended-properties": b"officeDocument/extendedProperties",
    b"spreadsheetml/2006/main": b"spreadsheetml/main",
    b"presentationml/2006/main": b"presentationml/main",
    b"drawingml/2006/": b"drawingml/",
}


def rezipped(path, change):
    """Return a file with the parts that `change` makes of its parts; None drops one."""
    stream = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if (data := change(name, old.read(name))) is not None:
                new.writestr(name, data)
    return stream.getvalue()


def of_type(suffix):
    usual = re.compile(rb"vnd\.openxmlformats-officedocument\.\w+\.(?:presentation|sheet)\.main")
    other = f"vnd.{TYPES[suffix]}.main".encode()
    return lambda name, data: usual.sub(other, data) if name == "[Content_Types].xml" else data


def strict(_, data):
    for usual, other in STRICT.items():
        usual = b"http://schemas.openxmlformats.org/" + usual
        data = data.replace(usual, b"http://purl.oclc.org/ooxml/" + other)
    return data


def of_parts(start, data):
    """Put other bytes, or nothing, in the place of some parts."""
    return lambda name, before: data if name.startswith(start) else before


def control(name, data):
    """Put a character into the text that XML forbids, as some programs write it."""
    if name not in ("ppt/slides/slide1.xml", "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml"):
        return data
    return data.replace(b"</a:t>", b"\x01</a:t>").replace(b"</v>", b"\x01</v>")


@pytest.mark.extended
def test_relatives_and_damaged_files_are_found(pgblend, connection, tmp_path):
    sources = {"p": WILD / "11_charts" / "chart.pptx", "x": WILD / "12_cell_formats/formats.xlsx"}
    for suffix in TYPES:
        data = rezipped(sources[suffix[1]], of_type(suffix))
        assert TYPES[suffix].encode() in zipfile.ZipFile(io.BytesIO(data)).read(
            "[Content_Types].xml"
        )
        (tmp_path / f"a{suffix}").write_bytes(data)
    for source in sources.values():
        whole = source.read_bytes()
        for name, data in {
            "strict": rezipped(source, strict),
            "no-properties": rezipped(source, of_parts("docProps/", None)),
            "empty-properties": rezipped(source, of_parts("docProps/", b"")),
            "no-types": rezipped(source, of_parts("[Content_Types]", None)),
            "no-relations": rezipped(source, of_parts("_rels/.rels", None)),
            "control": rezipped(source, control),
            "no-directory": whole[: whole.index(b"PK\x01\x02")],
            "more-before": bytes(100) + whole,
            "more-after": whole + bytes(100),
        }.items():
            (tmp_path / f"{name}{source.suffix}").write_bytes(data)
    result = pgblend("ingest", str(tmp_path), "-c", "r", "--no-embed")
    assert result.exit_code == 0, result.stderr
    for path in tmp_path.iterdir():
        word = "herring" if path.suffix[1] == "p" else "00123"
        assert found_in(connection, "r", word, path.name), path.name
    for name in ("empty-properties", "control", "no-directory"):
        for source in sources.values():
            assert f"left out: {tmp_path / name}{source.suffix}" in result.stderr


@pytest.mark.slow
def test_a_long_table_is_stored_whole_and_in_order(pgblend, connection, tmp_path):
    rows = (f"P-{number:06},pump of station {number % 97},{number}" for number in range(1, 45_000))
    (tmp_path / "parts.csv").write_text("Part,Name,Count\n" + "\n".join(rows), encoding="utf-8")
    pgblend("ingest", str(tmp_path), "-c", "long", "--no-embed")
    found = connection.execute(
        "SELECT metadata->'rows'->>0, metadata->'rows'->>1, heading FROM blend.chunks"
        " WHERE collection = 'long' ORDER BY chunk_index"
    ).fetchall()
    assert len(found) > 2000
    assert [int(first) for first, _, _ in found] == sorted(int(first) for first, _, _ in found)
    assert (found[0][0], found[-1][1]) == ("1", "45000")
    assert found[-1][2] == "Part | Name | Count"
    keys = connection.execute("SELECT content FROM blend.lexical_search('P-044999', 1)").fetchall()
    assert "P-044999" in keys[0][0]
