"""What steers a terminal is stored with no text, title, URI or metadata, whichever way it came."""

import json
import zipfile
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner
from psycopg.types.json import Jsonb

from pgblend.cli.main import cli
from support.database import Database

RED = "\x1b[31m"
OFF = "\x1b[0m"
TITLE = "\x1b]0;owned\x07"
DIRTY = f"{RED}Ada{OFF} \x9b2JL\x08.\x7f"
CLEAN = "Ada ."
# Neither is this a control character, nor is a number read and written anew.
PLAIN = {"path": "C:\\bin\\u001b", "lines": "a\tb\r\nc", "exact": 1.10, "none": None}


@pytest.fixture(scope="module")
def db(module_connection: psycopg.Connection) -> Database:
    db = Database(module_connection)
    db.rows("SELECT add_collection('c')")
    return db


def steering(db: Database) -> list[Any]:
    """Return all that is stored and has a control character, written or as JSON writes it."""
    return db.column(
        r"""
        SELECT v.value
        FROM pgblend_data.document AS d
        LEFT JOIN pgblend_data.document_summary AS s ON s.document_id = d.id
        LEFT JOIN pgblend_data.chunk AS c ON c.document_id = d.id
        CROSS JOIN LATERAL (VALUES
            (d.title), (d.uri), (d.metadata::text), (d.set_metadata::text), (s.summary),
            (c.content), (c.heading), (c.context), (c.metadata::text), (c.lexemes::text)
        ) AS v (value)
        WHERE v.value ~ U&'[\0001-\0008\000B\000C\000E-\001F\007F-\009F]|(?<!\\\\)\\\\(u00|[bf])'
        """
    )


def stored(db: Database, key: str) -> tuple[Any, ...]:
    (row,) = db.rows("SELECT title, uri, metadata FROM documents WHERE source_key = %s", key)
    return row


def test_documents_of_sql(db: Database) -> None:
    metadata = {"author": DIRTY, f"{RED}team{OFF}": [{"lead": DIRTY}], **PLAIN}
    for status in ("added", "unchanged"):
        told = db.column(
            "SELECT status FROM ingest_document('c', 'sql', %s, %s, metadata => %s, uri => %s)",
            f"A walrus {DIRTY}", DIRTY, Jsonb(metadata), f"http://a.example/{TITLE}x",
        )  # fmt: skip
        assert told == [status]
    clean = {"author": CLEAN, "team": [{"lead": CLEAN}], **PLAIN}
    assert stored(db, "sql") == (CLEAN, "http://a.example/x", clean)
    assert db.column("SELECT metadata ->> 'exact' FROM documents WHERE source_key = 'sql'") == [
        "1.1"
    ]
    assert not steering(db)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("N\bNA\bAM\bME\bE", "NAME"),
        ("_\bF_\bI_\bL_\bE", "FILE"),
        ("_\bÄ\bÄ語\b\b語", "Ä語"),
        ("typo\b\b\b\bword", "word"),
        ("done 10%\b\b\b20%", "done 20%"),
        ("a\x1bktitle\x1b\\b \x1b]8;;http://e.example\x1b\\link\x1b]8;;\x1b\\", "ab link"),
        ("a\x1bP1$r0m\x1b\\b\x9d0;t\x9cc\x90q\x9cd\x1b(Be", "abcde"),
        ("10%\r20%\r\n30%", "10%\n20%\r\n30%"),
    ],
)
def test_what_a_terminal_shows_is_stored(db: Database, written: str, shown: str) -> None:
    db.rows("SELECT ingest_document('c', 'shown', %s, %s, metadata => %s)",
            f"walrus {written} end", written, Jsonb({"by": written}))  # fmt: skip
    title, _, metadata = stored(db, "shown")
    assert (title, metadata) == (shown, {"by": shown})
    assert db.column(
        "SELECT content FROM chunks JOIN documents USING (document_id) WHERE source_key = 'shown'"
    ) == [f"walrus {shown} end"]


def test_numbers_stay_as_written(db: Database) -> None:
    given = '{"exact": 1.1000000000000000000000010, "by": "\\u001b[1mAda"}'
    db.rows("SELECT ingest_document('c', 'numbers', 'x', metadata => %s::jsonb)", given)
    assert db.column("SELECT metadata::text FROM documents WHERE source_key = 'numbers'") == [
        '{"by": "Ada", "exact": 1.1000000000000000000000010}'
    ]


def test_chunks_of_ones_own(db: Database) -> None:
    chunk = {
        "content": f"B {DIRTY}", "heading": DIRTY, "metadata": {DIRTY: DIRTY}, "context": DIRTY,
    }  # fmt: skip
    db.rows("SELECT ingest_document('c', 'chunks', NULL, content_hash => 'h', chunks => %s)",
            Jsonb([chunk]))  # fmt: skip
    assert db.column(
        "SELECT c.metadata FROM chunks AS c JOIN documents AS d USING (document_id)"
        " WHERE d.source_key = 'chunks'"
    ) == [{CLEAN: CLEAN}]
    assert not steering(db)


@pytest.mark.parametrize("merge", [True, False])
def test_what_is_set_by_hand(db: Database, merge: bool) -> None:
    (document,) = db.column("SELECT document_id FROM ingest_document('c', 'hand', 'A walrus')")
    given = Jsonb({f"{RED}by": DIRTY})
    db.rows("SELECT set_metadata(%s, %s, %s)", document, given, merge)
    db.rows("SELECT set_summary(%s, %s)", document, f"{RED}About walruses{OFF}")
    assert stored(db, "hand")[2] == {"by": CLEAN}
    assert db.column("SELECT summary FROM pgblend_data.document_summary") == ["About walruses"]
    assert not steering(db)


def test_rows_of_a_table(db: Database) -> None:
    db.rows(
        "CREATE TABLE public.posts (id int PRIMARY KEY, title text, body text, by text, u text)"
    )
    row = (DIRTY, f"A {RED}zebra{OFF}", DIRTY, f"http://a.example/{TITLE}x")
    db.rows("INSERT INTO public.posts VALUES (1, %s, %s, %s, %s)", *row)
    db.rows(
        "SELECT attach_table('public.posts', '{body}', title_column => 'title',"
        " metadata_columns => '{by}', uri_column => 'u', collection => 'posts')"
    )
    clean = (CLEAN, "http://a.example/x", {"by": CLEAN})
    assert stored(db, "1") == clean
    db.rows("INSERT INTO public.posts VALUES (2, %s, %s, %s, %s)", *row)
    assert stored(db, "2") == clean
    assert not steering(db)


FILES = {
    "front.md": f'---\ntitle: "\\e[31mWalrus\\e[0m"\nauthor: "\\e[1mAda"\n---\nA {RED}walrus{OFF}.',
    "rows.jsonl": json.dumps({
        "id": "r1", "text": f"A {RED}walrus", "title": DIRTY, "url": f"http://a/{TITLE}",
        f"{RED}who": DIRTY, "deep": {"list": [DIRTY]},
    }),
    "letter.eml": (
        "From: =?utf-8?q?=1B[31mAda?= <a@a.example>\nTo: b@a.example\n"
        "Subject: =?utf-8?q?=1B]0;owned=07Walrus?=\nDate: Wed, 1 May 2024 10:00:00 +0000\n\n"
        f"A {RED}walrus{OFF}.\n"
    ),
    "page.html": (
        "<html><head><title>&#27;[31mWalrus&#27;[0m</title>"
        '<meta name="author" content="&#27;[1mAda"></head><body><p>A walrus.</p></body></html>'
    ),
    "sheet.csv": f"who,what\n{RED}Ada{OFF},{RED}walrus{OFF}\n",
}  # fmt: skip


def test_files_and_messages(db: Database, module_url: str, tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    said = [{"type": "message", "user": "U1", "ts": "1714557600.0001", "text": f"A {RED}walrus"}]
    with zipfile.ZipFile(tmp_path / "slack.zip", "w") as export:
        export.writestr("users.json", json.dumps([{"id": "U1", "name": DIRTY}]))
        export.writestr("channels.json", json.dumps([{"id": "C1", "name": "general"}]))
        export.writestr("general/2024-05-01.json", json.dumps(said))
    command = ["--database-url", module_url]
    told = CliRunner().invoke(cli, [*command, "ingest", str(tmp_path), "-c", "files"])
    assert told.exit_code == 0, told.output
    assert not steering(db)
    found = db.rows(
        "SELECT title, snippet, metadata FROM lexical_search('walrus', 20, '{files}',"
        """ options => '{"dedup": "off"}')"""
    )
    assert len(found) == len(FILES) + 1
    assert "Ada" in str(found)
    asked = CliRunner().invoke(cli, [*command, "query", "walrus", "-c", "files", "--json"])
    assert "\\u001b" not in asked.output
    assert "\x1b" not in told.output + asked.output
