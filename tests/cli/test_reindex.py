"""reindex: seal, rebuild, show, save and load."""

import json
import os
import subprocess
import threading
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import Result
from psycopg.conninfo import conninfo_to_dict

from pgblend.cli.operate.postmaster import find_binaries

Pgblend = Callable[..., Result]
ParseValid = Callable[[Result, str], Any]
NewDatabase = Callable[..., str]

SEARCH = "SELECT source_key, score FROM lexical_search('wine sea wind')"


def _search(url_or_connection: str | psycopg.Connection) -> list[tuple[str, float]]:
    if isinstance(url_or_connection, str):
        with psycopg.connect(url_or_connection) as connection:
            connection.execute("SET search_path = public, blend")
            return connection.execute(SEARCH).fetchall()
    return url_or_connection.execute(SEARCH).fetchall()


@pytest.mark.usefixtures("library")
def test_seal_and_show(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    (before,) = parse_valid(pgblend("reindex", "--status", "--json"), "reindex")["collections"]
    assert (before["status"], before["sealed"], before["pending"]) == ("ready", 0, 3)
    (after,) = parse_valid(pgblend("reindex", "--json"), "reindex")["collections"]
    assert (after["status"], after["sealed"], after["pending"]) == ("ready", 3, 0)
    again = pgblend("reindex", "--rebuild", "--collection", "library", "--csv")
    assert "library,ready,3,3,0,0,1," in again.stdout


@pytest.mark.usefixtures("library")
def test_what_cannot_be_done(pgblend: Pgblend, tmp_path: Path) -> None:
    unknown = pgblend("reindex", "--collection", "nowhere")
    assert unknown.exit_code == 1
    assert "nowhere" in unknown.stderr
    assert pgblend("reindex", "--rebuild", "--status").exit_code == 2
    assert pgblend("reindex", "--save", str(tmp_path / "file")).exit_code == 2
    gone = pgblend("reindex", "--collection", "library", "--save", str(tmp_path / "no" / "file"))
    assert gone.exit_code == 1
    assert "cannot be written" in gone.stderr
    nowhere = pgblend("reindex", "--collection", "nowhere", "--save", str(tmp_path / "file"))
    assert nowhere.exit_code == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("library")
def test_a_failure_has_an_exit_code_and_stays_visible(
    pgblend: Pgblend, connection: psycopg.Connection, parse_valid: ParseValid
) -> None:
    connection.execute(
        "ALTER TABLE pgblend_data.segment ADD CONSTRAINT broken_disk CHECK (n < 0) NOT VALID"
    )
    failed = pgblend("reindex")
    assert failed.exit_code == 1
    assert "could not be written" in failed.stderr
    (row,) = parse_valid(pgblend("reindex", "--status", "--json"), "reindex")["collections"]
    assert row["status"] == "error"
    assert "broken_disk" in row["last_error"]


def test_an_ingest_seals_what_it_added(
    pgblend: Pgblend, connection: psycopg.Connection, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("wine and sea", encoding="utf-8")
    assert pgblend("ingest", str(tmp_path), "--collection", "new", "--no-embed").exit_code == 0
    row = connection.execute("SELECT sealed, pending FROM lexical_status('new')").fetchone()
    assert row == (1, 0)


@pytest.fixture
def saved(pgblend: Pgblend, library: list[int], tmp_path: Path) -> Path:
    """The library's index in a file."""
    file = tmp_path / "library.index"
    result = pgblend("reindex", "--collection", "library", "--save", str(file))
    assert result.exit_code == 0, result.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == [file.name]
    return file


def _load(pgblend: Pgblend, file: Path, collection: str = "library") -> Result:
    return pgblend("reindex", "--collection", collection, "--load", str(file))


def test_a_saved_index_loads_without_a_rebuild(
    pgblend: Pgblend, connection: psycopg.Connection, saved: Path
) -> None:
    expected = _search(connection)
    assert expected
    connection.execute("TRUNCATE pgblend_data.segment, pgblend_data.posting")
    result = _load(pgblend, saved)
    assert result.exit_code == 0, result.stderr
    assert "3 chunks" in result.stderr
    assert _search(connection) == expected
    status = connection.execute("SELECT status, sealed FROM lexical_status()").fetchone()
    assert status == ("ready", 3)


def test_what_changed_since_it_was_saved_is_brought_in(
    pgblend: Pgblend, connection: psycopg.Connection, saved: Path, library: list[int]
) -> None:
    connection.execute("SELECT delete_document(%s)", [library[0]])
    connection.execute("SELECT ingest_document('library', 'new', 'wine by the sea')")
    connection.execute("SELECT ingest_document('library', 'lost', 'wind and wine')")
    connection.execute("DELETE FROM pgblend_data.pending")
    connection.execute("SELECT ingest_document('library', 'pending', 'the sea')")
    assert _load(pgblend, saved).exit_code == 0
    loaded = _search(connection)
    assert {"new", "lost", "pending"} <= {row[0] for row in loaded}
    connection.execute("SELECT lexical_rebuild('library')")
    assert loaded == _search(connection)


def test_a_wrong_file_changes_nothing(
    pgblend: Pgblend, connection: psycopg.Connection, saved: Path, tmp_path: Path
) -> None:
    expected = _search(connection)
    before = connection.execute("SELECT id FROM pgblend_data.segment").fetchall()
    content = saved.read_bytes()
    wrong = {
        "no archive": b"something else",
        "cut off": content[: len(content) // 2],
        "a bit turned": content.replace(b"PGCOPY", b"PGCOPE"),
    }
    for name, bytes_of_file in wrong.items():
        file = tmp_path / name
        file.write_bytes(bytes_of_file)
        result = _load(pgblend, file)
        assert result.exit_code == 1, name
        assert "damaged" in result.stderr, name
    newer = tmp_path / "newer"
    with zipfile.ZipFile(newer, "w") as archive:
        about = {"format": 5, "what": "pgblend lexical index"}
        archive.writestr("format.json", json.dumps(about))
    assert "format 5: expected 4" in _load(pgblend, newer).stderr
    connection.execute("SELECT add_collection('other')")
    assert "not of collection" in _load(pgblend, saved, "other").stderr
    connection.execute("UPDATE pgblend_data.segment SET lengths = ''")
    broken = tmp_path / "broken"
    pgblend("reindex", "--collection", "library", "--save", str(broken))
    assert "damaged" in _load(pgblend, broken).stderr
    assert _load(pgblend, saved).exit_code == 0
    assert _search(connection) == expected
    assert connection.execute("SELECT id FROM pgblend_data.segment").fetchall() != before


def test_another_databases_file_is_refused(
    pgblend: Pgblend,
    new_database: NewDatabase,
    template: str,
    saved: Path,
) -> None:
    foreign = new_database(template)
    with psycopg.connect(foreign) as connection:
        connection.execute("SET search_path = public, blend")
        connection.execute("SELECT add_collection('library')")
        for key in "abc":
            connection.execute("SELECT ingest_document('library', %s, 'quite other text')", [key])
    result = pgblend("reindex", "--collection", "library", "--load", str(saved), url=foreign)
    assert result.exit_code == 1
    assert "3 of 3 chunks differ" in result.stderr


@pytest.mark.extended
@pytest.mark.usefixtures("saved")
def test_a_dump_takes_the_index_along(
    connection: psycopg.Connection, database_url: str, new_database: NewDatabase
) -> None:
    connection.execute("SELECT ingest_document('library', 'pending', 'wine')")
    connection.execute("SELECT delete_document('library', 'sea.md')")
    binaries = find_binaries()
    restored = new_database()

    def run(program: str, url: str, *arguments: str, script: str = "") -> str:
        parts = {name: str(value) for name, value in conninfo_to_dict(url).items()}
        place = (
            f"--host={parts['host']}",
            f"--port={parts['port']}",
            f"--username={parts['user']}",
        )
        return subprocess.run(
            [str(binaries[program]), *place, *arguments, parts["dbname"]],
            input=script,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PGPASSWORD": parts.get("password", "")},
        ).stdout

    dump = run("pg_dump", database_url)
    run("psql", restored, "--quiet", "--set=ON_ERROR_STOP=1", script=dump)
    assert _search(restored) == _search(connection)
    with psycopg.connect(restored) as there:
        status = there.execute("SELECT status, sealed, pending FROM blend.lexical_status()")
        assert status.fetchall() == [("ready", 2, 1)]


def _old_words(connection: psycopg.Connection) -> None:
    """Give the chunks lexemes of PostgreSQL's parser alone, as other rules made them."""
    connection.execute("ALTER TABLE pgblend_data.chunk DISABLE TRIGGER USER")
    connection.execute(
        "UPDATE pgblend_data.chunk SET lexemes = to_tsvector('english', content)"
        " WHERE content NOT LIKE 'plain %'"
    )
    connection.execute("ALTER TABLE pgblend_data.chunk ENABLE TRIGGER USER")
    connection.execute("SELECT blend.lexical_rebuild('dated')")


@pytest.mark.extended
def test_words_of_other_rules_are_made_anew(
    pgblend: Pgblend, connection: psycopg.Connection, database_url: str
) -> None:
    def found(word: str, on: psycopg.Connection = connection) -> list[Any]:
        strict = "SELECT source_key FROM blend.lexical_search(%s, options => '{\"strict\": true}')"
        return sorted(key for (key,) in on.execute(strict, [word]))

    def words_are() -> tuple[str, str]:
        checks = json.loads(pgblend("doctor", "--json").stdout)["checks"]
        (check,) = (one for one in checks if one["name"] == "indexed words")
        return check["status"], check["mend"] or ""

    connection.execute("SELECT blend.add_collection('dated')")
    for key, text in {"a": "node.js runs the server", "b": "plain text runs"}.items():
        connection.execute("SELECT blend.ingest_document('dated', %s, %s)", [key, text])
    # The next passages are in another block, as those of a large collection.
    connection.execute("ALTER TABLE pgblend_data.chunk ALTER COLUMN id RESTART 5001")
    connection.execute("SELECT blend.ingest_document('dated', 'c', 'parseHTMLResponse runs')")
    chunks = "SELECT id, content, xmin::text FROM pgblend_data.chunk ORDER BY id"
    _old_words(connection)
    before = connection.execute(chunks).fetchall()
    assert (found("node"), found("response"), found("runs")) == ([], [], ["a", "b", "c"])
    status, mend = words_are()
    assert (status, "pgblend reindex --rebuild" in mend) == ("warning", True)

    # Stopped after the first block: the index has all words from before, and doctor knows.
    assert connection.execute("SELECT pgblend._renew_lexemes('dated', 0)").fetchone() == (1,)
    assert (found("node"), found("runs")) == ([], ["a", "b", "c"])
    assert words_are()[0] == "warning"

    ended = threading.Event()

    def search() -> set[tuple[str, ...]]:
        answers = set()
        with psycopg.connect(database_url, autocommit=True) as reader:
            while not ended.is_set():
                answers.add(tuple(found("runs", reader)))
        return answers

    with ThreadPoolExecutor(1) as pool:
        answers = pool.submit(search)
        try:
            again = pgblend("reindex", "--rebuild")
        finally:
            ended.set()
        assert answers.result() == {("a", "b", "c")}
    assert again.exit_code == 0, again.stderr
    assert words_are()[0] == "ok"
    assert (found("node"), found("response"), found("runs")) == (["a"], ["c"], ["a", "b", "c"])
    after = connection.execute(chunks).fetchall()
    assert [row[:2] for row in after] == [row[:2] for row in before]
    unwritten = [new[1] for old, new in zip(before, after, strict=True) if old == new]
    assert unwritten == ["plain text runs"]


@pytest.mark.usefixtures("library")
def test_only_the_rules_make_a_chunks_words(connection: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="immutable"):
        connection.execute("UPDATE pgblend_data.chunk SET lexemes = $$'other':1$$")
    own = "SELECT lexemes::text, own_position FROM pgblend_data.chunk ORDER BY id"
    before = connection.execute(own).fetchall()
    connection.execute("UPDATE pgblend_data.chunk SET lexemes = '', metadata = '{\"a\": 1}'")
    assert connection.execute(own).fetchall() == before
