"""What others wrote steers no terminal, reads as it is written, and is no formula."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from pgblend.cli.base.output import BIDIRECTIONAL, one_line
from pgblend.plpy.lexical.forms import uncontrolled

pytestmark = pytest.mark.extended

HOSTILE = "bad\x1b]0;title\x07\x1b[8mhidden\x9b2J\rover\u202edlog\u2066"
SET = f"s {HOSTILE}"
PGBLEND = [sys.executable, "-P", "-m", "pgblend.cli.main"]


def on_a_terminal(*command: str) -> str:
    """Return what a command writes on a terminal of its own, both of its outputs."""
    parent, child = pty.openpty()
    process = subprocess.Popen(command, stdin=child, stdout=child, stderr=child, close_fds=True)
    os.close(child)
    said = b""
    try:
        while part := os.read(parent, 1 << 16):
            said += part
    except OSError:  # the other end is closed
        pass
    process.wait(120)
    os.close(parent)
    return said.decode()


@pytest.fixture
def hostile(connection: psycopg.Connection, database_url: str) -> str:
    """A collection, a document and a judged set whose texts would steer a terminal."""
    connection.execute("SELECT blend.add_collection('c')")
    connection.execute(
        "SELECT blend.ingest_document('c', 'k', %s, title => %s)", [f"wine {HOSTILE}", HOSTILE]
    )
    connection.execute("SELECT blend.add_judged_set(%s, 'c')", [SET])
    connection.execute("SELECT blend.record_judgement(%s, %s, 'k', 1)", [SET, f"wine {HOSTILE}"])
    return database_url


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "wine"),
        ("query", "wine", "--json"),
        ("query", "wine", "--raw-csv"),
        ("document", "list", "-c", "c"),
        ("eval", "run", "--set", SET, "--arm", "lexical"),
        ("query", "wine", "--profile", HOSTILE),
    ],
    ids=lambda arguments: " ".join(arguments)[:24].encode("ascii", "replace").decode(),
)
def test_nothing_steers_a_terminal(hostile: str, arguments: tuple[str, ...]) -> None:
    said = on_a_terminal(*PGBLEND, "--database-url", hostile, *arguments)
    assert said.strip()
    ours = said.replace("\r\n", "\n")
    for part in ("\x1b]", "\x1b[8m", "\x07", "\x9b", "\u202e", "\u2066"):
        assert part not in ours, repr(ours[:2000])


def test_standard_error_of_a_program_neither(hostile: str) -> None:
    command = [*PGBLEND, "--database-url", hostile, "query", "wine", "--profile", HOSTILE]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "\x1b" not in done.stderr
    assert "\\u202e" in done.stderr


def test_data_for_a_program_is_as_it_is(hostile: str) -> None:
    command = [*PGBLEND, "--database-url", hostile, "document", "list", "-c", "c"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["documents"][0]["title"] == uncontrolled(HOSTILE)
    shown = on_a_terminal(*command, "--json")
    assert json.loads(shown)["documents"][0]["title"] == uncontrolled(HOSTILE)


@pytest.mark.parametrize("mark", ["\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2069"])
def test_what_turns_a_text_is_shown(mark: str) -> None:
    assert one_line(f"a{mark}b") == f"a\\u{ord(mark):04x}b"
    assert BIDIRECTIONAL


FORMULAS = (
    "=1+1", "+1", "-cmd|' /C calc'!A0", "@SUM(A1)", "\t=1", " =1", "\uff1d1", "\u3000=1",
    "\u2003 =1", "\u200b=1", "\ufeff=1", "\u202e=1", "|cmd", "%x",
)  # fmt: skip


def test_csv_has_no_formulas_unless_it_is_raw(
    connection: psycopg.Connection, database_url: str
) -> None:
    connection.execute("SELECT blend.add_collection('c')")
    for number, formula in enumerate((*FORMULAS, "a=b", "-")):
        connection.execute(
            "SELECT blend.ingest_document('c', %s, 'wine', title => %s)", [f"k{number}", formula]
        )
    command = [*PGBLEND, "--database-url", database_url, "document", "list", "-c", "c"]
    safe, raw = (
        subprocess.run([*command, way], capture_output=True, text=True, check=True).stdout
        for way in ("--csv", "--raw-csv")
    )
    for formula in FORMULAS:
        assert f"'{formula}" in safe
        assert f"'{formula}" not in raw
        assert formula in raw
    assert "'a=b" not in safe


def test_open_shows_no_link_to_other_accounts(tmp_path: Path) -> None:
    """A browser's arguments are in the list of processes: it is given a file of our own."""
    from pgblend.cli.commands.open import _forwarding

    link = "http://127.0.0.1:8767/#open=pgb_secret"
    before = tmp_path / "open.html"
    before.write_text("of before")
    before.chmod(0o644)
    path = _forwarding(tmp_path, link)
    assert "pgb_secret" not in path.as_uri()
    assert path.stat().st_mode & 0o777 == 0o600
    assert f'url={link}"' in path.read_text()
    assert list(tmp_path.iterdir()) == [path]
