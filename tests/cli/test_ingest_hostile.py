"""`pgblend ingest` over files that mean harm: one line each, and the rest of the run goes on."""

import io
import json
import os
import subprocess
import sys
import time
import zipfile
from contextlib import suppress

import psutil
import pytest
from xlsxwriter import Workbook

from pgblend.cli.documents.ingestion import IngestRequest, IngestRun
from pgblend.cli.documents.parse_settings import Limits
from support.waiting import wait_until

MEGABYTE = 1 << 20


@pytest.fixture
def run(database_url):
    """Ingest paths under some limits; returns the report."""

    def run_with(*paths, **limits):
        request = IngestRequest(paths, "c", embed=False, limits=Limits(**limits))
        ingest = IngestRun(database_url, request, lambda *_: lambda _: None)
        ingest.execute()
        return ingest.report

    return run_with


def stored(connection):
    rows = connection.execute("SELECT source_key FROM blend.documents ORDER BY 1")
    return [key for (key,) in rows]


def failures(report):
    return {
        os.path.basename(problem.source): problem.message for problem in report.of_kind("failed")
    }


def zip_of(**files):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "/"), data)
    return stream.getvalue()


@pytest.mark.fault("zip bombs and their like", "one line each; the rest is ingested")
def test_home_made_bombs(run, connection, tmp_path):
    laughs = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))
    files = {
        "bomb.docx": zip_of(word__document=bytes(300 * MEGABYTE)),
        "laughs.xml": f'<!DOCTYPE x [<!ENTITY a0 "ha">{laughs}]><x>&a9;</x>'.encode(),
        "slip.epub": zip_of(**{"..__..__evil.txt": b"x"}),
        "deep.json": b"[" * MEGABYTE,
        "deep.html": b"<div>" * 100_000,
        "deep.eml": b"Content-Type: message/rfc822\n\n" * 3000 + b"\nhello\n",
        "a good one.txt": b"Here is text.",
        "zebra.txt": b"And here.",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    with (tmp_path / "line.txt").open("wb") as file:
        file.truncate(1 << 30)
    report = run(tmp_path)
    found = failures(report)
    assert stored(connection) == ["a good one.txt", "zebra.txt"]
    assert sorted(found) == sorted([*(set(files) - set(stored(connection))), "line.txt"])
    assert found["line.txt"] == "larger than 256 MB: split it, or use JSONL"
    assert found["deep.json"] == "not readable JSON: nested too deep"
    assert found["deep.eml"] == "its parts nest too deep to be read"
    assert found["slip.epub"].startswith("no readable EPUB: its container names no book")
    assert not (tmp_path.parent / "evil.txt").exists()
    assert all("\n" not in message for message in found.values())


def test_numbers_of_thousands_of_digits_are_texts(run, connection, tmp_path):
    digits, bits = "7" * 5000, "0x" + "f" * 5000
    files = {
        "a.jsonl": f'{{"text": "one", "n": {digits}}}\n{{"text": "two", "n": -1e999}}\n',
        "fenced.md": f';;;\n{{"n": {digits}}}\n;;;\nthree\n',
        "json.md": '{"n": 1e5000}\n# four\n',
        "toml.md": f"+++\nn = {bits}\n+++\nfive\n",
        "yaml.md": f"---\nn: {bits}\n---\nsix\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert failures(run(tmp_path)) == {}
    rows = connection.execute("SELECT source_key, metadata ->> 'n' FROM blend.documents").fetchall()
    assert dict(rows) == {
        **{"a.jsonl#1": digits, "a.jsonl#2": "-1e999", "fenced.md": digits, "json.md": "1e5000"},
        **{"toml.md": bits, "yaml.md": bits},
    }


@pytest.mark.extended
def test_a_line_of_a_gigabyte_among_records(run, connection, tmp_path):
    with (tmp_path / "r.jsonl").open("wb") as file:
        file.write(b'{"id": "a", "text": "one"}\n')
        file.seek(200 * MEGABYTE, os.SEEK_CUR)
        file.write(b'\n{"id": "b", "text": "two"}\n')
    report = run(tmp_path)
    assert failures(report) == {"r.jsonl:2": "a line longer than 64 MB"}
    assert stored(connection) == ["a", "b"]


@pytest.mark.extended
def test_memory_is_limited(run, connection, tmp_path):
    with (tmp_path / "big.txt").open("wb") as file:
        file.truncate(250 * MEGABYTE)
    (tmp_path / "small.txt").write_text("small")
    report = run(tmp_path, memory_bytes=450 * MEGABYTE)
    assert failures(report) == {"big.txt": "reading it takes more than 450 MB of memory"}
    assert stored(connection) == ["small.txt"]


@pytest.mark.extended
def test_a_sheet_of_billions_of_empty_cells_is_read(run, connection, tmp_path):
    with Workbook(tmp_path / "wide.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write(0, 0, "first")
        sheet.write(1_048_575, 16_383, "last")
    (tmp_path / "z.txt").write_text("small")
    report = run(tmp_path)
    assert (failures(report), report.chunks) == ({}, 2)
    assert stored(connection) == ["wide.xlsx", "z.txt"]


@pytest.mark.slow
def test_time_is_limited(run, connection, tmp_path):
    (tmp_path / "a.txt").write_text("first")
    (tmp_path / "slow.txt").write_text("word " * (8 * MEGABYTE))
    (tmp_path / "z.txt").write_text("last")
    report = run(tmp_path, seconds=1, seconds_per_megabyte=0)
    assert failures(report) == {"slow.txt": "reading it takes more than 1 s of processor time"}
    assert stored(connection) == ["a.txt", "z.txt"]
    assert report.documents["added"] == 2


@pytest.mark.slow
@pytest.mark.fault("a folder of slow files", "a budget of time for all; the rest is named")
def test_a_run_has_a_budget_of_time(run, connection, tmp_path):
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(f"word{number} " * (MEGABYTE // 4))
    (tmp_path / "z.txt").write_text("last")
    report = run(tmp_path, run_seconds=0.2)
    left = failures(report)
    assert set(left.values()) == {
        "it was not read: the run's time for reading is over (--time-budget)"
    }
    assert {*left, *stored(connection)} == {*(f"{n}.txt" for n in range(3)), "z.txt"}
    assert "z.txt" in left
    for number in range(3):  # what was left is read by the next run; the long ones cost a minute
        (tmp_path / f"{number}.txt").unlink()
    assert run(tmp_path, run_seconds=None).documents["failed"] == 0
    assert "z.txt" in stored(connection)


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.jsonl"
    with path.open("w") as file:
        for number in range(800):
            text = " ".join(f"word{number}x{place}" for place in range(60))
            file.write(json.dumps({"id": f"d{number}", "text": text}) + "\n")
    return path


def start(database_url, corpus):
    command = [sys.executable, "-m", "pgblend.cli.main", "--database-url", database_url]
    return subprocess.Popen(
        [*command, "ingest", str(corpus), "--collection", "c", "--no-embed", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def kill_parser(process, but=0):
    """Kill the run's parsing process, once it is another than `but`; return its number."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        for child in psutil.Process(process.pid).children():
            with suppress(psutil.NoSuchProcess):  # another one that has just ended
                if child.pid != but and "pgblend.cli.documents.parser" in child.cmdline():
                    time.sleep(0.5)  # until it is at work
                    child.kill()
                    return child.pid
        time.sleep(0.01)
    raise AssertionError("no parsing process came up")


@pytest.mark.slow
@pytest.mark.fault("kill -9 of a parser", "replaced; nothing lost or doubled")
def test_a_killed_parser_is_replaced_and_nothing_is_lost_or_doubled(
    database_url, connection, corpus
):
    process = start(database_url, corpus)
    kill_parser(process)
    output, _ = process.communicate(timeout=120)
    report = json.loads(output)
    assert (process.returncode, report["failures"]) == (0, [])
    assert report["documents"]["added"] == len(stored(connection)) == 800
    assert report["documents"]["unchanged"] == 0


@pytest.mark.slow
def test_what_kills_its_parser_twice_is_named(database_url, connection, corpus):
    process = start(database_url, corpus)
    first = kill_parser(process)
    kill_parser(process, but=first)
    output, errors = process.communicate(timeout=120)
    report = json.loads(output)
    assert process.returncode in (1, 4), errors
    (failure,) = report["failures"]
    assert failure["message"] == "its parser was killed, as happens where memory runs out"
    assert failure["source"].startswith(str(corpus))
    assert report["documents"]["added"] == len(stored(connection))
    again, _ = start(database_url, corpus).communicate(timeout=120)
    assert json.loads(again)["failures"] == []
    assert len(stored(connection)) == 800


def test_no_parser_outlives_its_run(database_url, connection, corpus):
    process = start(database_url, corpus)
    wait_until(psutil.Process(process.pid).children)
    children = psutil.Process(process.pid).children()
    process.kill()
    process.communicate()
    assert not psutil.wait_procs(children, timeout=30)[1]


@pytest.mark.extended
@pytest.mark.fault("hostile files", "one line each; the rest is ingested")
def test_every_hostile_file_gets_one_line(run, connection, shared_data):
    folder = shared_data / "docs" / "hostile"
    report = run(folder)
    named = {
        problem.source
        for kind in ("failed", "skipped", "warning", "left out")
        for problem in report.of_kind(kind)
    }
    documents = dict(
        connection.execute("SELECT source_key, chunks FROM blend.documents").fetchall()
    )
    for path in folder.iterdir():
        assert documents.get(path.name, 0) > 0 or str(path) in named, path
    told = [problem.source for problem in report.problems if problem.kind != "left out"]
    assert len(told) == len(set(told))  # of what is left out each part has a line
