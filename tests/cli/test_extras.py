"""A plain install: everything has its help, and what lacks an extra names it."""

import base64
import io
import json
from pathlib import Path

import psycopg
import pytest
from PIL import Image

from pgblend.cli.base.extras import MODULES
from pgblend.cli.operate.reference import commands_as_markdown
from support.hidden_extras import run_without
from support.sampled import sampled

NEEDS = {
    "gateway": ["gateway"],
    "serve": ["gateway"],
    "mcp": ["mcp"],
    "eval run --set s": ["eval"],
    "eval compare 1 2": ["eval"],
    "eval gate --set s --min ndcg@10=0.5": ["eval"],
    "eval import . --set s": ["eval"],
    "eval report -o report.html": ["eval"],
    "eval tune --set s": ["eval"],
    "space compare a b --set s": ["eval"],
}


def test_all_help_is_there(tmp_path: Path) -> None:
    code = "from pgblend.cli.operate.reference import commands_as_markdown as f; print(f(), end='')"
    done = run_without(tmp_path, code=code)
    assert done.stdout == commands_as_markdown(), done.stderr


@pytest.mark.parametrize("command", sampled([*NEEDS], 3))
def test_a_command_names_the_extra_that_it_lacks(command: str, tmp_path: Path) -> None:
    nowhere = "postgresql://postgres@127.0.0.1:1/x"
    done = run_without(tmp_path, "--database-url", nowhere, *command.split())
    (extra,) = NEEDS[command]
    assert (done.returncode, done.stdout) == (1, "")
    first, hint = done.stderr.splitlines()
    assert first.startswith(f"pgblend: error: this needs the extra '{extra}' of pgblend")
    assert all(module in first for module in MODULES[extra])
    assert hint == f"hint: install it: pip install 'pgblend[{extra}]'"


def test_another_import_that_fails_is_not_taken_for_an_extra(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['anyio'] = None; sys.argv[0] = 'pgblend'\n"
        "from pgblend.cli.main import main; main()"
    )
    assert run_without(tmp_path, "--help", code=code).returncode == 0
    done = run_without(tmp_path, "gateway", code=code, extras=())
    assert "ModuleNotFoundError: No module named 'anyio" in done.stderr
    assert "extra" not in done.stderr.splitlines()[-1]


def _picture() -> bytes:
    buffer = io.BytesIO()
    Image.effect_noise((200, 200), 50).save(buffer, "PNG")
    return buffer.getvalue()


TEXTS = {
    "wine.md": "# Wine\n\nRed wine.",
    "table.csv": "name,year\nknuth,1974",
    "code.py": "def f():\n    return 1",
    "note.rtf": r"{\rtf1 a note}",
    "feed.xml": "<feed><title>Sea</title>sails</feed>",
    "page.html": "<p>Ships",
}
OTHERS = {"report.pdf": "%PDF-1.4", "sheet.xlsx": "PK", "shown.png": "no picture"}
INSTALL = "pip install 'pgblend[documents]'"


@pytest.mark.slow
@pytest.mark.parametrize("reads_pictures", [False, True])
def test_ingest_reads_text_and_names_what_it_cannot_read(
    reads_pictures: bool, tmp_path: Path, database_url: str, connection: psycopg.Connection
) -> None:
    folder, site, programs = (tmp_path / name for name in ("docs", "site", "bin"))
    for made in (folder, site, programs):
        made.mkdir()
    for name, text in (TEXTS | OTHERS).items():
        (folder / name).write_text(text)
    with (folder / "page.html").open("a") as page:
        page.write(f'<img src="data:image/png;base64,{base64.b64encode(_picture()).decode()}">')
    (programs / "tesseract").write_text("#!/bin/sh\necho List of languages\necho eng\n")
    (programs / "tesseract").chmod(0o755 if reads_pictures else 0o644)
    done = run_without(
        site,
        *("--database-url", database_url, "ingest", str(folder), "--collection", "c"),
        *("--no-embed", "--json"),
        PATH=str(programs),
    )
    assert done.returncode == 4, done.stderr
    report = json.loads(done.stdout)
    of_picture = f"IMAGE is read with {INSTALL}"
    assert {Path(each["source"]).name: each["message"] for each in report["failures"]} == {
        "report.pdf": f"PDF is read with {INSTALL}",
        "sheet.xlsx": f"XLSX is read with {INSTALL}",
    } | ({"shown.png": of_picture} if reads_pictures else {})
    skipped = [each for each in report["skipped"] if INSTALL in each["message"]]
    assert len(skipped) == len(report["skipped"]) == (not reads_pictures)
    assert [each["message"] for each in report["warnings"]] == (
        [f"pictures are read with {INSTALL}: 1"] if reads_pictures else []
    )
    rows = connection.execute("SELECT uri FROM pgblend_data.document").fetchall()
    assert {Path(row[0]).name for row in rows} == set(TEXTS)


@pytest.mark.extended
def test_a_price_list_that_is_not_there_is_named(
    tmp_path: Path, database_url: str, connection: psycopg.Connection
) -> None:
    connection.execute(
        "SELECT blend.set_setting('embedding_model', '\"openai/text-embedding-3-small\"')"
    )
    (tmp_path / "wine.md").write_text("Red wine.")
    arguments = ("--database-url", database_url, "ingest", str(tmp_path / "wine.md"))
    options = ("--collection", "c", "--dry-run", "--json")
    done = run_without(tmp_path, *arguments, *options)
    report = json.loads(done.stdout)
    assert report["cost_usd"] is None
    (degraded,) = report["degraded"]
    assert degraded["part"] == "cost"
    assert "pip install 'pgblend[gateway]'" in degraded["hint"]
    assert json.loads(run_without(tmp_path, *arguments, *options, extras=()).stdout)["cost_usd"] > 0
