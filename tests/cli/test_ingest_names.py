"""`pgblend ingest` of files whose names or bytes are in old encodings, and of several at a time."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

FRENCH = "J'ai déjà mangé à la cafétéria, où le café est très bon, merci à tous."

WAITING = """
    SELECT count(*) FROM pg_locks
    WHERE NOT granted AND relation = 'pgblend_data.collection'::regclass
"""


@pytest.fixture
def ingest(pgblend, parse_valid):
    """Run `pgblend ingest … --collection c --json` and return exit code, report and stderr."""

    def run(*arguments):
        result = pgblend("ingest", *map(str, arguments), "--collection", "c", "--json")
        return result.exit_code, parse_valid(result, "ingest-report"), result.stderr

    return run


def keys(connection):
    rows = connection.execute("SELECT source_key FROM blend.documents ORDER BY 1").fetchall()
    return [key for (key,) in rows]


def write(folder: Path, name: bytes, text: str = "A walrus.") -> Path:
    path = Path(os.fsdecode(os.fsencode(folder) + b"/" + name))
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.slow
def test_a_name_that_is_not_utf_8(ingest, connection, tmp_path):
    odd = write(tmp_path, b"d\xe9j\xe0.txt")
    write(tmp_path, b"plain.txt")
    write(tmp_path, b"M\xfcller/notes.md")
    write(tmp_path, b"M\xfcller/records.jsonl", '{"text": "a fox"}\nno json')
    code, report, stderr = ingest(tmp_path)
    assert (code, report["documents"]["added"], report["documents"]["failed"]) == (4, 4, 1)
    names = ["Müller/notes.md", "Müller/records.jsonl#1", "déjà.txt", "plain.txt"]
    assert sorted(keys(connection)) == sorted(names)
    assert f"warning: {tmp_path}/déjà.txt: its name is not UTF-8: stored as 'déjà.txt'" in stderr
    assert f"failed: {tmp_path}/Müller/records.jsonl:2" in stderr
    assert len(report["warnings"]) == 3
    assert ingest(tmp_path)[1]["documents"]["unchanged"] == 4
    assert ingest(tmp_path, "--prune")[1]["documents"]["pruned"] == 0
    odd.unlink()
    assert ingest(tmp_path, "--prune")[1]["documents"]["pruned"] == 1


def test_two_names_that_become_one(ingest, connection, tmp_path):
    write(tmp_path, "é.txt".encode())
    write(tmp_path, b"\xe9.txt")
    code, report, stderr = ingest(tmp_path)
    assert (code, report["documents"]["added"], report["documents"]["failed"]) == (4, 1, 1)
    assert "both would be 'é.txt', so rename one" in stderr
    assert keys(connection) == ["é.txt"]


def test_a_guessed_encoding_is_told_where_it_is_not_sure(ingest, connection, tmp_path):
    (tmp_path / "short.txt").write_bytes("déjà".encode("latin-1"))
    (tmp_path / "long.txt").write_bytes(FRENCH.encode("latin-1"))
    code, report, stderr = ingest(tmp_path)
    assert code == 0
    assert [warning["source"] for warning in report["warnings"]] == [f"{tmp_path}/short.txt"]
    assert f"{tmp_path}/short.txt: its encoding is a guess, cp1252" in stderr
    contents = connection.execute("SELECT content FROM blend.chunks ORDER BY 1").fetchall()
    assert sorted(contents) == sorted([("déjà",), (FRENCH,)])


@pytest.mark.slow
def test_first_ingests_side_by_side(connection, database_url, tmp_path):
    for number in range(3):
        write(tmp_path, b"%d/%d.txt" % (number, number))
    command = [sys.executable, "-m", "pgblend.cli.main", "--database-url", database_url, "ingest"]
    # All wait where the collection is about to be made, and go on together.
    with connection.transaction():
        connection.execute("LOCK TABLE pgblend_data.collection IN SHARE MODE")
        running = [
            subprocess.Popen(
                [*command, str(tmp_path / str(number)), "--collection", "new"],
                stderr=subprocess.PIPE,
            )
            for number in range(3)
        ]
        while connection.execute(WAITING).fetchone() != (3,):
            assert all(each.poll() is None for each in running)
            time.sleep(0.05)
    said = [each.communicate()[1].decode() for each in running]
    assert [each.returncode for each in running] == [0, 0, 0], said
    assert sum("made collection 'new'" in text for text in said) == 1
    assert keys(connection) == ["0.txt", "1.txt", "2.txt"]


@pytest.mark.extended
@pytest.mark.data
def test_a_file_comes_first_where_its_name_is_asked_for(pgblend, ingest, shared_data, tmp_path):
    names = ["fake-memo.pdf", "fr_olap.pdf", "factbook.xml", "mid_test.docx"]
    for name in names:
        (tmp_path / name).symlink_to(shared_data / "docs" / "good" / name)
    listing = "".join(f"The file {name}, {name}: see {name}.\n\n" for name in names)
    write(tmp_path, b"listing.md", listing)
    assert ingest(tmp_path, "--follow-links")[0] == 0
    for name in names:
        found = pgblend("search", name, "--json")
        assert json.loads(found.stdout)["results"][0]["source_key"] == name
