"""--explain and --explain-html of the searches, and `diagnose`, on a real database."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import Result
from selectolax.lexbor import LexborHTMLParser

Pgblend = Callable[..., Result]
ParseValid = Callable[[Result, str], Any]
pytestmark = pytest.mark.usefixtures("library")


@pytest.mark.parametrize(
    "command", [["query"], ["query", "--csv"], ["search", "--files"], ["search", "--fuzzy", "--md"]]
)
def test_results_stay_as_they_are(pgblend: Pgblend, command: list[str]) -> None:
    patient = 'timeouts_ms={"lexical": 60000}'  # so that a busy machine finds the same
    arguments = [*command, "production wine", "--option", patient]
    plain, explained = pgblend(*arguments), pgblend(*arguments, "--explain")
    assert plain.exit_code == explained.exit_code == 0
    assert explained.stdout == plain.stdout
    assert "\x1b" not in explained.stderr
    lines = [line.split() for line in explained.stderr.splitlines()]
    assert ["production", "wine"] in lines
    (fetch,) = [line for line in lines if line[:1] == ["fetch"]]
    assert fetch[-1] == "2"
    arm = "fuzzy" if "--fuzzy" in command else "lexical"
    first = next(place for place, line in enumerate(lines) if line[:1] == ["1"])
    assert f"found by {arm} #1" in " ".join(lines[first + 1])


def test_settings_name_their_source(pgblend: Pgblend) -> None:
    result = pgblend("query", "wine", "--explain", "--option", "rrf_k=20")
    rows = [line.split() for line in result.stderr.splitlines()]
    assert ["rrf_k", "20", "call"] in rows


def test_json_holds_the_trace(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    result = pgblend("query", "production wine", "--json", "--explain")
    envelope = parse_valid(result, "search-results")
    assert not any("fetch" in line for line in result.stderr.splitlines())
    result.stdout_bytes = json.dumps(envelope["explain"]).encode()
    trace = parse_valid(result, "search-explain")
    assert trace["query"] == "production wine"
    assert [row["chunk_id"] for row in trace["results"]] == [
        row["chunk_id"] for row in envelope["results"]
    ]
    plain = parse_valid(pgblend("query", "production wine", "--json"), "search-results")
    assert plain == {key: value for key, value in envelope.items() if key != "explain"}


def test_the_arm_that_is_missing_is_told(pgblend: Pgblend) -> None:
    lines = pgblend("query", "wine", "--explain").stderr.splitlines()
    (vector,) = [line for line in lines if line.split()[:1] == ["vector"]]
    assert "not run: no embedding space yet" in vector


@pytest.mark.usefixtures("vectors")
def test_vsearch_runs_its_own_arm(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    result = pgblend("vsearch", "wind for ships at sea", "--json", "--explain")
    envelope = parse_valid(result, "search-results")
    names = [s["name"] for s in envelope["explain"]["stages"] if not s.get("skipped")]
    assert "vector" in names
    assert "embed" in names
    assert "lexical" not in names
    assert all(set(row["arms"]) == {"vector"} for row in envelope["results"])


def test_nothing_found_is_explained(pgblend: Pgblend, tmp_path: Path) -> None:
    page = tmp_path / "nothing.html"
    result = pgblend("search", "xylophone", "--explain", "--explain-html", str(page))
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "pgblend: no results" in result.stderr
    assert LexborHTMLParser(page.read_text()).css_first(".empty").text() == "Nothing was found."


def test_the_page_shows_the_results(pgblend: Pgblend, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = pgblend("query", "production wine", "--explain-html", str(page))
    assert result.exit_code == 0, result.stderr
    assert "Deploy guide" in result.stdout
    assert f"pgblend: wrote {page}" in result.stderr
    tree = LexborHTMLParser(page.read_text(encoding="utf-8"))
    assert tree.css_first("h1").text() == "production wine"
    titles = [node.text() for node in tree.css(".result .who b")]
    assert titles == ["Wine | a *list*", "Deploy guide"]
    assert [node.text() for node in tree.css("svg.flow.wide g.lexical .name")] == ["lexical"]


def test_the_page_shows_snippets_without_marks_of_markdown(
    pgblend: Pgblend, connection: psycopg.Connection, tmp_path: Path
) -> None:
    text = (
        "## Orchids\n\n- **Water** the [orchid](https://a.example/b_(c)) with `rain`, "
        "see ![a pot](pot.png) and [[care|Care]].\n\n"
        "| month | litres |\n|---|---|\n| May | ~~2~~ 3 |"
    )
    for key in ("orchid.md", "orchid.py"):
        connection.execute("SELECT ingest_document('library', %s, %s)", [key, text])
    page = tmp_path / "page.html"
    options = ("--filter", '{"$source_key": {"prefix": "orchid"}}', "--option", "dedup=off")
    result = pgblend("query", "orchid", *options, "--explain-html", str(page))
    assert result.exit_code == 0, result.stderr
    tree = LexborHTMLParser(page.read_text(encoding="utf-8"))
    results = tree.css(".result")
    shown = {each.css_first(".who b").text(): " ".join(each.text().split()) for each in results}
    assert "Water the orchid with rain, see a pot and Care" in shown["orchid.md"]
    assert not re.search(r"\*\*|\]\(|~~|\|--|##|`", shown["orchid.md"]), shown["orchid.md"]
    assert "**Water**" in shown["orchid.py"]  # a program's own marks stay


def test_hostile_documents(
    pgblend: Pgblend, connection: psycopg.Connection, tmp_path: Path
) -> None:
    attack = "</script><script>alert('x')</script>"
    connection.execute(
        "SELECT ingest_document('library', %s, %s, title => %s)",
        [attack, f"{attack} hostile \x1b[2J text", attack],
    )
    page = tmp_path / "page.html"
    result = pgblend("query", f"hostile {attack}", "--explain", "--explain-html", str(page))
    assert result.exit_code == 0, result.stderr
    assert "\x1b" not in result.output
    tree = LexborHTMLParser(page.read_text(encoding="utf-8"))
    assert len(tree.css("script")) == 1
    assert tree.css_first(".result .who b").text() == attack


def test_a_file_that_cannot_be_written(pgblend: Pgblend, tmp_path: Path) -> None:
    page = tmp_path / "no" / "page.html"
    result = pgblend("query", "wine", "--explain-html", str(page))
    assert result.exit_code == 1
    assert f"pgblend: error: cannot write {page}: No such file or directory" in result.stderr
    assert pgblend("query", "wine", "--explain-html", str(tmp_path)).exit_code == 2


def test_errors_are_those_of_the_search(pgblend: Pgblend) -> None:
    for options in (["--option", "nope=1"], ["--collection", "nope"]):
        plain = pgblend("query", "wine", *options)
        explained = pgblend("query", "wine", *options, "--explain")
        assert plain.exit_code == explained.exit_code == 1
        assert plain.stderr == explained.stderr
    assert pgblend("vsearch", "wine", "--explain").exit_code == 5


def test_a_diagnosis_for_people(pgblend: Pgblend) -> None:
    result = pgblend("diagnose", "ships", "wine.md", "--option", "fuzzy=off")
    assert result.exit_code == 0, result.stderr
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert lines[0] == 'No arm has it among its candidates: it lacks the word "ships".'
    assert lines[1] == "Ask with words that it has."
    assert lines[3].split() == ["✓", "document", "It", "is", "there,", "with", "1", "passage."]
    assert lines[5].split() == ["✗", "lexical", "It", "lacks", "the", "word", '"ships".']
    assert lines[6].split()[:2] == ["·", "vector"]


def test_a_diagnosis_as_json(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    found = parse_valid(pgblend("diagnose", "wine", "wine.md", "--json"), "diagnose")
    assert found["verdict"] == "It is result 1."
    assert found["lost_at"] is None
    filtered = parse_valid(
        pgblend("diagnose", "wine", "file:///wine.md", "--filter", '{"author": "x"}', "--json"),
        "diagnose",
    )
    assert filtered["lost_at"] == "filter"
    assert filtered["document"]["source_key"] == "wine.md"
    absent = parse_valid(pgblend("diagnose", "wine", "nope.md", "--json"), "diagnose")
    assert absent["document"] is None


def test_wrong_diagnoses(pgblend: Pgblend) -> None:
    empty = pgblend("diagnose", "wine", "")
    assert empty.exit_code == 1
    assert "is empty: expected a text" in empty.stderr
    assert pgblend("diagnose", " ", "wine.md").exit_code == 2
    assert pgblend("diagnose", "wine").exit_code == 2
