"""What the report of `pgblend ingest` names: files, parts that are left out, and what is reread."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from pgblend.cli.documents.document_writer import read_collection
from pgblend.cli.documents.ingest_report import named

WILD = Path(__file__).parents[1] / "wild"


@pytest.fixture
def ingest(pgblend, parse_valid):
    def run(folder):
        result = pgblend("ingest", str(folder), "--collection", "c", "--no-embed", "--json")
        return result.exit_code, parse_valid(result, "ingest-report"), result.stderr

    return run


def test_a_chapter_that_is_missing_is_named_and_the_rest_is_read(ingest, connection):
    code, report, stderr = ingest(WILD / "14_epub_missing_chapter")
    (line,) = (line for line in stderr.splitlines() if "left out: " in line)
    assert "missing_chapter.epub: OEBPS/b.xhtml: its archive lacks" in line
    assert "get the book anew" in line
    assert (code, report["documents"]["added"], len(report["left_out"])) == (0, 1, 1)
    found = connection.execute("SELECT title FROM blend.lexical_search('Tarnbeck')").fetchall()
    assert len(found) == 1


def test_files_that_are_passed_over_are_named_with_what_to_do(ingest, tmp_path):
    for name in ("offer.doc", "talk.ppt", "old.doc", "copy.7z", "copy.rar"):
        (tmp_path / name).write_bytes(b"\xd0\xcf\x11\xe0")
    code, report, stderr = ingest(tmp_path)
    assert (code, report["documents"]["skipped"]) == (0, 5)
    why = "skipped: unsupported format .doc: save it as .docx or PDF: "
    assert f"{why}{tmp_path / 'offer.doc'}, {tmp_path / 'old.doc'}" in stderr
    for suffix, mend in {
        "ppt": "save it as .pptx or PDF",
        "7z": "unpack it",
        "rar": "unpack it",
    }.items():
        (name,) = tmp_path.glob(f"*.{suffix}")
        assert f"skipped: unsupported format .{suffix}: {mend}: {name}" in stderr


def test_very_many_names_are_counted():
    assert named(map(str, range(22))).endswith("18, 19, and 2 more")


def test_a_file_that_is_read_in_another_way_is_read_once_more(ingest, connection, tmp_path):
    """The hash that an earlier version stored of the same bytes is known again."""
    shutil.copy(WILD / "14_epub_missing_chapter" / "missing_chapter.epub", tmp_path / "book.epub")
    (tmp_path / "a.json").write_text('{"said": "This is read as ever."}')
    (tmp_path / "ann.vcf").write_text("BEGIN:VCARD\nFN:Ann Berg\nEND:VCARD\n")
    ingest(tmp_path)
    settings = read_collection(connection, "c").chunk_settings

    def earlier_hash(name, version, media_type):
        digest = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        parts = json.dumps([f"{version} {settings!r} auto", media_type, digest])
        return hashlib.sha256(parts.encode()).hexdigest()

    for name, *how in (("book.epub", 6, "application/epub+zip"), ("ann.vcf", 7, "text/plain")):
        connection.execute(
            "UPDATE pgblend_data.document SET content_hash = %s WHERE source_key = %s",
            [earlier_hash(name, *how), name],
        )
    _, report, stderr = ingest(tmp_path)
    assert report["reread"] == {"CONTACTS": 1, "EPUB": 1}
    assert report["documents"]["unchanged"] == 1
    assert (
        "read once more, since this version reads such files in another way: 1 CONTACTS" in stderr
    )
    _, report, stderr = ingest(tmp_path)
    assert (report["reread"], report["documents"]["unchanged"]) == ({}, 3)
    assert "once more" not in stderr


@pytest.mark.extended
@pytest.mark.parametrize(
    "name", ["a.docx", "a.pptx", "a.xlsx", "a.pdf", "a.png", "a.msg", "a.epub"]
)
def test_a_refusal_has_no_address_of_memory(ingest, tmp_path, name):
    (tmp_path / name).write_bytes(b"PK\x03\x04" + bytes(range(256)) * 4)
    _, report, stderr = ingest(tmp_path)
    assert len(report["failures"]) + len(report["skipped"]) == 1
    assert " 0x" not in stderr
    assert "object at" not in stderr
