"""Office files as people have them, brought in by `pgblend ingest` and found by words."""

from pathlib import Path

import pytest

WILD = Path(__file__).parents[1] / "wild"


@pytest.fixture
def found(pgblend, connection):
    """Bring folders in; return what searches by words: keys, pages and the marked snippets."""
    for folder in ("08_pdf_forms_and_stamps", "09_word", "11_charts", "12_cell_formats"):
        assert pgblend("ingest", str(WILD / folder), "-c", "t", "--no-embed").exit_code == 0

    def search(words):
        return connection.execute(
            "SELECT d.source_key, f.pages, f.snippet FROM blend.lexical_search(%s, 9, '{t}',"
            """ options => '{"strict": true}') f JOIN blend.documents d USING (document_id)""",
            [words],
        ).fetchall()

    return search


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
        rows = found(words)
        names = {key.rpartition("/")[2] for key, _, _ in rows}
        assert names, words
        assert names <= keys, words  # those of the same text come once
        assert all("<" in snippet or "*" in snippet for _, _, snippet in rows), words
    assert all(pages == [1] for _, pages, _ in found("Quillfeather"))
