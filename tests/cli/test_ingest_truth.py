"""What `pgblend ingest` says is so: what it passes over, refuses, embeds first and still owes."""

import zipfile

import pytest
from PIL import Image

from support.model_provider import Behaviour

LEFTOVERS = (
    *("~$x.docx", "~$report.xlsx", "Thumbs.db", "desktop.ini", "~WRL0001.tmp", "notes.txt~"),
    *("#notes.txt#", ".~lock.x.odt#", ".DS_Store", "._x.txt", ".notes.txt.swp"),
)


@pytest.fixture
def ingest(pgblend, parse_valid):
    def run(*paths, options=(), collection="c"):
        given = [*map(str, paths), "--collection", collection, "--json", *options]
        result = pgblend("ingest", *given)
        report = parse_valid(result, "ingest-report") if result.stdout else None
        return result.exit_code, report, result.stderr

    return run


def keys(connection):
    rows = connection.execute("SELECT source_key FROM blend.documents ORDER BY 1").fetchall()
    return [row[0] for row in rows]


def test_what_programs_leave_beside_files_is_passed_over(ingest, connection, tmp_path):
    for name in (*LEFTOVERS, "notes.txt", "~tilde.txt", "a~b.txt"):
        (tmp_path / name).write_text("A walrus.")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("~$in.txt", "lock")
        archive.writestr("in.txt", "A seal.")
    (tmp_path / "page_files").mkdir()
    (tmp_path / "page_files" / "menu.js").write_text("walrus()")
    (tmp_path / "page.html").write_text("<p>An otter.")
    (tmp_path / "tide_files").mkdir()  # beside no page
    (tmp_path / "tide_files" / "a.txt").write_text("An eel.")
    code, report, stderr = ingest(tmp_path, options=["--no-embed"])
    assert (code, report["documents"]["added"]) == (0, 6), stderr
    assert keys(connection) == [
        *("a.zip#in.txt", "a~b.txt", "notes.txt", "page.html", "tide_files/a.txt", "~tilde.txt"),
    ]
    assert "skipped: what a browser saved beside page.html: " in stderr
    assert "skipped: a lock file of Word, Excel or PowerPoint: " in stderr
    # A shell's * names them too.
    code, report, _ = ingest(*(tmp_path / name for name in LEFTOVERS), options=["--no-embed"])
    assert (code, report["documents"]["skipped"]) == (0, len(LEFTOVERS))


def test_a_second_folder_with_the_same_names_is_refused_as_in_one_run(ingest, connection, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        (folder / "readme.md").write_text(f"A walrus of {folder.name}.")
        (folder / "rows.jsonl").write_text(f'{{"text": "a seal of {folder.name}"}}\n')
    assert ingest(one, options=["--no-embed"])[0] == 0
    stored = connection.execute("SELECT * FROM blend.documents").fetchall()
    for options in ((), ("--dry-run",)):
        code, _, stderr = ingest(two, options=["--no-embed", *options])
        assert code == 1
        assert f"{one}/readme.md and {two}/readme.md would both be stored as 'readme.md'" in stderr
        assert "hint: give their common folder with --root" in stderr
    assert connection.execute("SELECT * FROM blend.documents").fetchall() == stored
    # Within a file the second one fails alone.
    (two / "readme.md").rename(two / "other.md")
    code, report, stderr = ingest(two, options=["--no-embed"])
    assert (code, report["documents"]["added"], report["documents"]["failed"]) == (4, 1, 1)
    assert "would both be stored as 'rows.jsonl#1'" in stderr
    assert ingest(two, options=["--no-embed", "--root", str(tmp_path)])[0] == 0
    assert "two/other.md" in keys(connection)
    # A folder that was moved is the same one.
    one.rename(tmp_path / "elsewhere")
    code, report, _ = ingest(tmp_path / "elsewhere", options=["--no-embed"])
    assert (code, report["documents"]["unchanged"]) == (0, 2)


@pytest.mark.extended
def test_scans_are_read_once_something_reads_them(
    ingest, pgblend, gateway_connection, model_provider, monkeypatch, tmp_path
):
    monkeypatch.setattr("pgblend.cli.documents.read_pictures.find_program", lambda name: None)
    Image.new("RGB", (200, 300), "white").save(tmp_path / "scan.pdf")
    Image.new("RGB", (200, 300), "white").save(tmp_path / "picture.png")
    code, report, _ = ingest(tmp_path)
    assert (code, report["documents"]["added"], report["documents"]["skipped"]) == (0, 1, 1)
    assert ingest(tmp_path)[1]["documents"]["unchanged"] == 1
    unread = "SELECT source_key FROM blend.documents WHERE metadata ? 'picturesUnread'"
    assert gateway_connection.execute(unread).fetchall() == [("scan.pdf",)]
    gateway_connection.execute("SELECT set_setting('vision_model', '\"openai/test-chat\"')")
    model_provider.reply = lambda body: f"A walrus of {hash(str(body))}."
    sync = pgblend("sync", str(tmp_path), "--collection", "c")  # reads by time what has changed
    assert sync.exit_code == 0, sync.stderr
    found = gateway_connection.execute(
        "SELECT source_key FROM blend.lexical_search('walrus') ORDER BY 1"
    )
    assert found.fetchall() == [("picture.png",), ("scan.pdf",)]
    assert gateway_connection.execute(unread).fetchall() == []
    assert ingest(tmp_path)[1]["documents"]["unchanged"] == 2


@pytest.mark.extended
def test_own_passages_come_first_and_alone_count(
    ingest, gateway_connection, model_provider, tmp_path
):
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        for number in range(3):
            (tmp_path / name / f"{number}.txt").write_text(f"{name} walrus {number}")
    assert ingest(tmp_path / "new", collection="new")[0] == 0  # makes the space
    ingest(tmp_path / "old", options=["--no-embed"], collection="old")
    (tmp_path / "new" / "3.txt").write_text("new walrus 3")
    code, report, stderr = ingest(tmp_path / "new", options=["--no-embed"], collection="new")
    assert report["waiting"] == 1
    assert "1 waiting for a vector" in stderr
    model_provider.reset()
    code, report, _ = ingest(tmp_path / "new", collection="new")
    assert (code, report["waiting"]) == (0, 0)
    asked = [text for body in model_provider.bodies for text in body["input"]]
    assert len(asked) == 4
    assert "new walrus 3" in asked[0]


@pytest.mark.extended
def test_where_another_process_embeds_an_ingest_leaves_other_collections_to_it(
    ingest, gateway_connection, connection, tmp_path
):
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0.txt").write_text(f"{name} walrus")
    ingest(tmp_path / "old", options=["--no-embed"], collection="old")
    (worker,) = connection.execute("SELECT pgblend._start_worker('elsewhere', 1)").fetchone()
    for ended, others in ((False, 0), (True, 1)):
        if ended:
            connection.execute("SELECT pgblend._stop_worker(%s)", [worker])
        code, report, _ = ingest(tmp_path / "new", collection="new")
        assert (code, report["waiting"], report["embedded_others"]) == (0, 0, others)


def test_texts_that_a_model_refuses_end_with_exit_code_4(
    ingest, gateway_connection, model_provider, tmp_path
):
    for folder, text in (("a", "poison walrus"), ("a", "good walrus"), ("b", "seal")):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / f"{text}.txt").write_text(text)
    model_provider.behaviour = Behaviour(poison="poison", error_message="the model chokes")
    code, report, stderr = ingest(tmp_path / "a")
    assert (code, report["refused"], report["embedded"]) == (4, 1, 1)
    assert "the model refused 1 of the chunks" in stderr
    assert "1 refused by a model · 1 waiting for a vector" in stderr
    # What another collection left is not this one's fault.
    code, report, _ = ingest(tmp_path / "b", collection="b")
    assert (code, report["refused"], report["waiting"]) == (0, 0, 0)


@pytest.mark.parametrize("command", ["query", "ask", "context"])
def test_fast_and_thorough_exclude_each_other(pgblend, command):
    result = pgblend(command, "walrus", "--fast", "--thorough")
    assert result.exit_code == 2
    assert "--fast and --thorough exclude each other" in result.stderr


def test_a_dry_run_tells_hours_and_what_models_cost(
    ingest, pgblend, gateway_connection, model_provider, monkeypatch, tmp_path
):
    monkeypatch.setattr("pgblend.cli.documents.read_pictures.find_program", lambda name: None)
    for number in range(40):
        (tmp_path / f"{number}.txt").write_text(f"walrus {number} " * 50)
    Image.new("RGB", (200, 300), "white").save(tmp_path / "picture.png")
    assert pgblend("collection", "add", "c").exit_code == 0
    for name, value in (("vision_model", "openai/gpt-4o-mini"), ("summary_model", "openai/gpt-4o")):
        gateway_connection.execute("SELECT set_setting(%s, to_jsonb(%s::text))", [name, value])
    assert pgblend("config", "set", "summaries", "true", "-c", "c").exit_code == 0
    code, report, stderr = ingest(tmp_path, options=["--dry-run"])
    assert (code, report["documents"]["added"], report["pictures"]) == (0, 41, 1)
    assert 0 < report["hours"]["low"] <= report["hours"]["mean"] <= report["hours"]["high"]
    # A picture as vision models take it, and what is written about one; of summaries the most.
    assert report["vision_usd"] == pytest.approx(1700 * 15e-8 + 500 * 6e-7)
    assert report["summary_usd"] == pytest.approx(report["tokens"] * 25e-7 + 41 * 300 * 1e-5)
    assert "to have 1 picture read" in stderr
    assert "less than a minute to embed" in stderr
    asked = [body for body in model_provider.bodies if "messages" in body]
    assert asked == []
    assert gateway_connection.execute("SELECT count(*) FROM blend.documents").fetchone() == (0,)
    # What is stored and waits for its summary is summed up by the next run, so it counts.
    (tmp_path / "picture.png").unlink()
    assert ingest(tmp_path, options=["--no-embed"])[0] == 0
    again = ingest(tmp_path, options=["--dry-run"])[1]
    assert again["documents"]["unchanged"] == 40
    assert again["summary_usd"] == pytest.approx(report["tokens"] * 25e-7 + 40 * 300 * 1e-5)


def test_before_much_is_read_a_sample_tells_what_it_takes(
    ingest, gateway_connection, model_provider, monkeypatch, tmp_path
):
    monkeypatch.setattr("pgblend.cli.documents.ingestion._LARGE_BYTES", 20_000)
    monkeypatch.setattr("pgblend.cli.documents.ingestion._SAMPLED_BYTES", 8_000)
    for number in range(40):
        (tmp_path / f"{number}.txt").write_text(f"walrus {number} " * 100)
    dry = ingest(tmp_path, options=["--dry-run"])[1]
    code, report, stderr = ingest(tmp_path)
    (line,) = [line for line in stderr.splitlines() if "before it begins" in line]
    assert "of 40 files" in line
    assert "to embed" in line
    assert (code, report["documents"], report["embedded"]) == (
        0, dry["documents"], dry["chunks"]
    )  # fmt: skip
    # What did not change is not counted.
    again = ingest(tmp_path)[2]
    assert "before it begins" not in again
