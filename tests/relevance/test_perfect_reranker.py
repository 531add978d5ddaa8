"""A perfect reranker puts the right passage first, wherever it is among those that it reads.

On the SQL pages of PostgreSQL's manual. Questions are made by a script: the first words of
sentences that one passage alone has. The scores are given (rerank_scores), so no model takes part.
"""

import json
import re
import subprocess
from collections import Counter
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner

from pgblend.cli.main import cli
from support.database import Database

ROOT = Path(__file__).parents[2]
WORDS = 6  # of a question
PAGES_OF_ONE_TEXT = 40
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The manual's pages on SQL commands."""
    folder = tmp_path_factory.mktemp("manual")
    done = subprocess.run([ROOT / "docker/manual.sh", folder], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"PostgreSQL's manual is not to be had: {done.stderr.strip()[-200:]}")
    return sorted(folder.glob("*.html"))


def ingest(database_url: str, folder: Path) -> None:
    call = ["--database-url", database_url, "ingest", str(folder), "--collection", "c"]
    result = CliRunner().invoke(cli, call)
    assert result.exit_code == 0, result.output


def questions(db: Database) -> list[tuple[str, int]]:
    """Return the first words of sentences of one passage alone, and its id; one a passage."""
    passages = db.rows("SELECT chunk_id, content FROM blend.chunks ORDER BY chunk_id")
    begun: dict[str, int] = {}
    times = Counter[str]()
    for chunk_id, content in passages:
        text = " ".join(content.split())
        for sentence in re.findall(r"(?<=\. )[A-Z][a-z ]{30,}", text):
            question = " ".join(sentence.split()[:WORDS])
            times[question] += 1
            begun.setdefault(question, chunk_id)
    of_passage = {
        chunk_id: question for question, chunk_id in begun.items() if times[question] == 1
    }
    return [(question, chunk_id) for chunk_id, question in of_passage.items()]


def check(db: Database, least: int) -> None:
    """Ask the questions, and look where the right passage comes among those that are read."""
    asked = read = not_first = not_fused_first = 0
    for question, right in questions(db)[: 2 * least]:
        asked += 1
        options = {"timeouts_ms": {"lexical": 60000}, "rerank": "on"}
        targets = db.column(
            "SELECT chunk_id FROM blend.rerank_candidates(%s, options => %s)",
            question,
            json.dumps(options),
        )
        if right not in targets:
            continue
        read += 1
        not_fused_first += targets[0] != right
        options["rerank_scores"] = {str(one): float(one == right) for one in targets}
        first = db.column(
            "SELECT chunk_id FROM blend.hybrid_search(%s, 10, options => %s)",
            question,
            json.dumps(options),
        )[0]
        not_first += first != right
    print(f"{asked} questions, {read} passages read, {not_fused_first} not first before")
    assert read >= least
    assert not_fused_first > 0, "fusion has all right: nothing is shown"
    assert not_first == 0


def test_of_any_page(database_url: str, connection: psycopg.Connection, pages: list[Path]) -> None:
    ingest(database_url, pages[0].parent)
    check(Database(connection), 150)


def test_of_one_long_text(
    database_url: str, connection: psycopg.Connection, pages: list[Path], tmp_path: Path
) -> None:
    bodies = (
        re.search(r"<body[^>]*>(.*)</body>", page.read_text(), re.DOTALL)
        for page in pages[:PAGES_OF_ONE_TEXT]
    )
    joined = "".join(body[1] for body in bodies if body)
    (tmp_path / "book.html").write_text(f"<html><body>{joined}</body></html>")
    ingest(database_url, tmp_path)
    assert Database(connection).value("SELECT count(*) FROM blend.documents") == 1
    check(Database(connection), 40)
