"""pgblend context, in every format, and the text around results of a search."""

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from click.testing import Result

from pgblend.cli.base.token_count import count_tokens

Pgblend = Callable[..., Result]
ParseValid = Callable[[Result, str], Any]

CHAPTERS = [
    "The harbour opens at six. Boats leave with the tide.",
    "Deploying takes ten minutes. Never deploy on a Friday.",
    "The cellar holds red wine. Nobody may open it alone.",
]


@pytest.fixture
def manual(library: list[int], connection: psycopg.Connection) -> None:
    """A document of three chunks, counted as an ingest counts them, and one of code."""
    chunks = [
        {
            "content": text,
            "start_line": 2 * number + 1,
            "end_line": 2 * number + 1,
            "token_count": count_tokens(text),
            "piece_tokens": [count_tokens(text)],
            "pages": [number + 1],
        }
        for number, text in enumerate(CHAPTERS)
    ]
    connection.execute(
        "SELECT ingest_document('library', 'manual.pdf', '', 'The manual', 'docs/manual.pdf',"
        " chunks => %s::jsonb)",
        [json.dumps(chunks)],
    )
    code = [{"content": "def deploy():\n    pass", "kind": "code", "start_line": 9, "end_line": 10}]
    connection.execute(
        "SELECT ingest_document('library', 'deploy.py', '', chunks => %s::jsonb)",
        [json.dumps(code)],
    )


@pytest.mark.usefixtures("manual")
def test_json(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    result = pgblend("context", "never deploy on Friday", "--json", "-n", "1")
    assert result.exit_code == 0
    context = parse_valid(result, "context")
    (part,) = context["parts"]
    assert (part["text"], part["spans"], part["pages"]) == (CHAPTERS[1], [[3, 3]], [2])
    assert (part["kind"], part["arm"]) == ("doc", "lexical")
    assert context["stats"]["tokens"] == count_tokens(CHAPTERS[1]) + 1
    assert context["stats"]["estimated_tokens"] == 0
    assert len(context["warnings"]) == 1  # no vectors


@pytest.mark.usefixtures("manual")
def test_the_text_around_is_stitched(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    result = pgblend("context", "never Friday", "-n", "1", "--context-chars", "500", "--json")
    (part,) = parse_valid(result, "context")["parts"]
    assert part["text"] == "\n\n".join(CHAPTERS)
    assert (part["spans"], part["pages"]) == ([[1, 5]], [1, 2, 3])
    assert part["reason"].endswith(", text around it")


@pytest.mark.usefixtures("manual")
def test_markdown_cites_and_fences(pgblend: Pgblend) -> None:
    result = pgblend("context", "deploy", "--md", "--order", "structure", "--max-tokens", "200")
    assert result.exit_code == 0
    assert result.stdout.startswith(
        "### [1] deploy.py:9-10\n\n```\ndef deploy():\n    pass\n```\n\n### [2] "
    )
    assert "### [2] Deploy guide (file:///deploy.md:1-3)" in result.stdout
    assert "(docs/manual.pdf:3, p. 2)" in result.stdout
    assert "of 200 tokens: 3 parts of 3 documents" in result.stderr
    assert count_tokens(result.stdout) <= 200


@pytest.mark.usefixtures("manual")
def test_one_part_is_told_as_one(pgblend: Pgblend) -> None:
    told = pgblend("context", "never Friday", "-n", "1", "--max-tokens", "200").stderr
    assert "of 200 tokens: 1 part of 1 document" in told
    assert "1 parts" not in told


@pytest.mark.usefixtures("manual")
def test_messages_are_for_a_chat_model(pgblend: Pgblend) -> None:
    result = pgblend("context", "when does the harbour open?", "--messages", "-n", "1")
    system, user = json.loads(result.stdout)
    assert (system["role"], user["role"]) == ("system", "user")
    assert CHAPTERS[0] in user["content"]
    assert user["content"].endswith("Question: when does the harbour open?")


@pytest.mark.usefixtures("manual")
def test_the_table_is_for_people(pgblend: Pgblend) -> None:
    result = pgblend("context", "red wine", "--reserve", "doc=50", "--max-part-tokens", "40")
    assert result.exit_code == 0
    assert "[1]" in result.stdout
    assert "lexical #1" in result.stdout


@pytest.mark.usefixtures("library")
def test_wrong_budgets(pgblend: Pgblend) -> None:
    for options, problem in (
        (["--max-tokens", "0"], "0 is not in the range"),
        (["--reserve", "prose=1"], 'has no key "prose"'),
        (["--reserve", "doc=50", "--max-tokens", "40"], "expected at most max_tokens (40)"),
        (["--max-tokens", "40", "--option", "max_tokens=50"], "'max_tokens' is given twice"),
        (["--json", "--md"], "exclude each other"),
    ):
        result = pgblend("context", "wine", *options)
        assert result.exit_code != 0
        assert problem in result.stderr, options


@pytest.mark.usefixtures("library")
def test_nothing_found(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    result = pgblend("context", "xylophone")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "0 of 4,000 tokens: 0 parts" in result.stderr
    assert parse_valid(pgblend("context", "xylophone", "--json"), "context")["parts"] == []


@pytest.mark.usefixtures("manual")
def test_results_show_the_text_around_them(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    arguments = ("search", "never Friday", "-n", "1", "--context-chars", "20")
    (row,) = parse_valid(pgblend(*arguments, "--json"), "search-results")["results"]
    assert (row["context_before"], row["context_after"]) == (
        "leave with the tide.",
        "The cellar holds red",
    )
    assert "leave with the tide." in pgblend(*arguments).stdout
    assert "   > The cellar holds red\n" in pgblend(*arguments, "--md").stdout
    twice = pgblend(*arguments, "--option", "context_chars={}")
    assert "'context_chars' is given twice" in twice.stderr


@pytest.mark.parametrize("command", [("context",), ("ask", "--no-answer")])
def test_stages_may_be_chosen(pgblend: Pgblend, manual: None, command: tuple[str, ...]) -> None:
    asked = (*command, "harbour", "--json", "--option", 'weights={"vector": 0}')
    for switches in (["--fast"], ["--thorough", "--no-rerank", "--no-expand"]):
        result = pgblend(*asked, *switches)
        assert result.exit_code == 0, result.stderr
    assert "rerank" not in json.dumps(json.loads(result.stdout).get("degraded", []))
    strict = pgblend(*asked, "--thorough", "--option", "strict=true")
    assert strict.exit_code != 0  # no model expands or reranks here
