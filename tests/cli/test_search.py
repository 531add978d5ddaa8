"""search, vsearch and query: every format, every option, and what happens without vectors."""

import csv
import io
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from click.testing import Result

Pgblend = Callable[..., Result]
ParseValid = Callable[[Result, str], Any]
pytestmark = pytest.mark.usefixtures("library", "patience")


@pytest.fixture
def patience(connection: psycopg.Connection) -> None:
    """A busy machine may take longer than a search of the command line should."""
    connection.execute(
        "SELECT set_setting('timeouts_ms', '{\"lexical\": 60000, \"embed\": 60000}')"
    )


def keys(result: Result, parse_valid: ParseValid) -> list[str]:
    """The source keys of JSON results, in their order."""
    results = parse_valid(result, "search-results")["results"]
    ranks = [row["rank"] for row in results]
    assert ranks == sorted(set(ranks))
    return [row["source_key"] for row in results]


def test_excluded_words_are_named_also_where_nothing_is_found(
    pgblend: Pgblend, library: list[int]
) -> None:
    found = pgblend("search", "wine -ships")
    assert (found.exit_code, "wine.md" in found.stdout) == (0, True)
    assert "pgblend: note: passages with 'ships' are left out" in found.stderr
    nothing = pgblend("search", "wine -wine -red")
    assert (nothing.stdout, "pgblend: no results" in nothing.stderr) == ("", True)
    assert "passages with 'wine', 'red' are left out" in nothing.stderr
    assert "left out" not in pgblend("search", "git push --force").stderr


def test_words_are_found_best_first(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    result = pgblend("search", "deploy production", "--json")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert keys(result, parse_valid) == ["deploy.md", "wine.md"]
    envelope = parse_valid(result, "search-results")
    assert envelope["query"] == "deploy production"
    best = envelope["results"][0]
    assert "<mark>deploy</mark>" in best["snippet"]
    assert best["metadata"] == {"author": "knuth", "year": 1974}
    assert best["arms"]["lexical"]["rank"] == 1


def test_misspelt_words_are_put_right(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    assert keys(pgblend("search", "prodution", "--json"), parse_valid) == []
    result = pgblend("search", "prodution", "--fuzzy", "--json")
    assert set(keys(result, parse_valid)) == {"deploy.md", "wine.md"}
    best = parse_valid(result, "search-results")["results"][0]
    assert best["arms"]["fuzzy"]["corrections"] == {"produt": ["product"]}
    assert "<mark>production</mark>" in best["snippet"]


def test_copies_are_named_beside_the_row(pgblend: Pgblend, connection: psycopg.Connection) -> None:
    connection.execute("SELECT add_collection('twins')")
    for number in range(5):
        connection.execute(
            "SELECT ingest_document('twins', %s, 'A text that five files hold.')", [f"{number}.txt"]
        )
    for switches in ((), ("--md",)):
        shown = " ".join(pgblend("search", "five files", "-c", "twins", *switches).stdout.split())
        assert "also in 1.txt, 2.txt, 3.txt, 1 more" in shown.replace("\\", "")
    lines = pgblend("search", "five files", "-c", "twins", "--md").stdout.splitlines()
    assert [line[:10] for line in lines[1:4]] == ["   - score", "   - lexic", "   - also "]


def test_the_table_is_for_people(pgblend: Pgblend) -> None:
    result = pgblend("search", "deploy production")
    assert result.exit_code == 0
    first, second = result.stdout.index("Deploy guide"), result.stdout.index("Wine | a *list*")
    assert first < second
    assert "file:///deploy.md:1-3" in result.stdout
    assert "lexical #1" in result.stdout
    assert "make deploy" in result.stdout
    assert "& wait" in result.stdout
    for markup in ("<mark>", "&amp;", "\x1b"):
        assert markup not in result.stdout


def test_csv(pgblend: Pgblend) -> None:
    rows = list(csv.DictReader(io.StringIO(pgblend("search", "production", "--csv").stdout)))
    assert {row["source_key"] for row in rows} == {"deploy.md", "wine.md"}
    assert rows[0]["rank"] == "1"
    assert "\n\nRed wine" in next(row["content"] for row in rows if row["source_key"] == "wine.md")


def test_markdown(pgblend: Pgblend) -> None:
    written = pgblend("search", "wine", "--md").stdout
    assert written.startswith("1. **Wine \\| a \\*list\\*** (file:///wine.md:1-3)\n")
    assert "   > The production of **wine** in France." in written


def test_files(pgblend: Pgblend, connection: psycopg.Connection) -> None:
    assert pgblend("search", "sea ships", "--files").stdout == "sea.md\n"
    chunks = (
        '[{"content": "twice", "own_start": 0, "start_offset": 0, "end_offset": 5,'
        ' "start_line": 1, "end_line": 1, "token_count": 1},'
        ' {"content": "Twice", "own_start": 0, "start_offset": 6, "end_offset": 11,'
        ' "start_line": 2, "end_line": 2, "token_count": 1}]'
    )
    connection.execute(
        "SELECT ingest_document('library', 'twice.md', E'twice\\nTwice', chunks => %s::jsonb)",
        [chunks],
    )
    assert pgblend("search", "twice", "--csv").stdout.count("twice.md") == 2
    assert pgblend("search", "twice", "--files").stdout == "twice.md\n"


def test_nothing_found(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    table = pgblend("search", "xylophone")
    assert (table.exit_code, table.stdout, table.stderr) == (0, "", "pgblend: no results\n")
    assert keys(pgblend("search", "xylophone", "--json"), parse_valid) == []
    assert pgblend("search", "xylophone", "--files").stdout == ""


@pytest.mark.parametrize("command", ["search", "vsearch", "query", "context", "ask"])
@pytest.mark.parametrize("blank", ["", " ", "\u200b\t"])
def test_a_blank_query_is_wrong_usage(pgblend: Pgblend, command: str, blank: str) -> None:
    result = pgblend(command, blank)
    assert result.exit_code == 2
    assert f"Invalid value for 'QUERY': {blank!r}: expected a question or words" in result.stderr


NARROWING = (
    (["-n", "1"], 1),
    (["--limit", "1"], 1),
    (["--filter", '{"author": "hugh"}'], 1),
    (["--filter", '{"author": "nobody"}'], 0),
    (["--filter", "{}"], 2),
    (["--filter", '{"year": {"gte": 1974}}'], 1),
    (["--filter", '{"not": {"author": {"in": ["knuth"]}}}'], 1),
    (["--filter", '{"$uri": {"prefix": "file:///w"}}'], 1),
    (["--since", "2001-01-01"], 2),
    (["--until", "2001-01-01T12:00:00Z"], 0),
    (["-c", "library"], 2),
    (["--collection", "library", "--collection", "other"], 2),
    (["--collection", "other"], 0),
    (["--lang", "english"], 2),
    (["--lang", "german"], 0),
    (["--option", "offset=1"], 1),
    (["--option", "offset=1", "--option", "k1=0.9"], 1),
    (["--min-score", "1"], 0),
)


@pytest.mark.parametrize("command", [pytest.param("search", marks=pytest.mark.slow), "query"])
def test_options_narrow_the_search(
    pgblend: Pgblend,
    parse_valid: ParseValid,
    connection: psycopg.Connection,
    command: str,
) -> None:
    connection.execute("SELECT add_collection('other')")
    for options, expected in NARROWING:
        result = pgblend(command, "production", *options, "--json")
        assert result.exit_code == 0, result.stderr
        assert len(keys(result, parse_valid)) == expected, options


REFUSED = (
    (["--option", "rrf_kk=20"], "rrf_kk"),
    (["--option", "k1=-1"], "k1"),
    (["--option", 'columns=["uri"]'], "rows of commands, HTTP and frameworks are whole"),
    (["--collection", "nope"], "nope"),
    (["--lang", "klingon"], "klingon"),
    (["--filter", '{"a": [1]}'], "filter"),
    (["--filter", '{"a": {"like": 1}}'], "like"),
    (["--since", "soon"], "since"),
    (["-n", "99999999999"], "out of range"),
)


@pytest.mark.parametrize("command", ["search", "vsearch", "query"])
def test_what_the_server_refuses_is_one_line(pgblend: Pgblend, command: str) -> None:
    for options, expected in REFUSED:
        result = pgblend(command, "wine", *options)
        assert result.exit_code == 1
        assert result.stdout == ""
        errors = [line for line in result.stderr.splitlines() if not line.startswith("hint: ")]
        assert len(errors) == 1
        assert errors[0].startswith("pgblend: error: ")
        assert expected in errors[0]


def test_wrong_usage_ends_with_2(pgblend: Pgblend) -> None:
    for options in (
        ["-n", "0"],
        ["-n", "ten"],
        ["--min-score", "2"],
        ["--min-score", "nan"],
        ["--filter", "author=knuth"],
        ["--option", "k1"],
        ["--option", "k1=1", "--option", "k1=2"],
        ["--option", "min_score=0.1", "--min-score", "0.1"],
        ["--json", "--files"],
    ):
        result = pgblend("search", "wine", *options)
        assert result.exit_code == 2, options
        assert result.stdout == ""


def test_vsearch_without_vectors_ends_with_5(pgblend: Pgblend) -> None:
    result = pgblend("vsearch", "wine")
    assert result.exit_code == 5
    assert result.stdout == ""
    assert result.stderr.startswith("pgblend: error: VECTORS_UNAVAILABLE: ")
    assert "hint: " in result.stderr


def test_query_without_vectors_goes_on_and_says_so(
    pgblend: Pgblend, parse_valid: ParseValid
) -> None:
    result = pgblend("query", "deploy production", "--json")
    assert result.exit_code == 0
    assert keys(result, parse_valid) == ["deploy.md", "wine.md"]
    envelope = parse_valid(result, "search-results")
    assert len(envelope["degraded"]) == len(envelope["warnings"]) == 1
    assert result.stderr.count("vector") == 1


def test_without_results_the_warnings_are_still_told(
    pgblend: Pgblend, parse_valid: ParseValid
) -> None:
    envelope = parse_valid(pgblend("query", "xylophone", "--json"), "search-results")
    assert envelope["results"] == []
    assert [note.partition(":")[0] for note in envelope["degraded"]] == ["vector"]
    assert len(envelope["warnings"]) == 1
    facets = parse_valid(pgblend("facets", "xylophone", "-k", "author", "--json"), "facets")
    assert facets["degraded"] == envelope["degraded"]
    context = parse_valid(pgblend("context", "xylophone", "--json"), "context")
    assert context["degraded"] == envelope["degraded"]


@pytest.mark.parametrize(
    ("command", "mode"),
    [(["query"], "bm25_only"), (["search"], "bm25"), (["search", "--fuzzy"], "fuzzy")],
)
@pytest.mark.parametrize("words", ["production wine", "xylophone"])
def test_json_says_what_the_search_was(
    pgblend: Pgblend, parse_valid: ParseValid, command: list[str], mode: str, words: str
) -> None:
    envelope = parse_valid(pgblend(*command, words, "--json"), "search-results")
    assert envelope["meta"] == {
        "mode": mode,
        "expanded": False,
        "reranked": False,
        "vectorsUsed": False,
    }


def test_a_profile_is_passed_on(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    balanced = pgblend("query", "wine", "--profile", "balanced", "--json")
    assert keys(balanced, parse_valid) == ["wine.md"]
    unknown = pgblend("query", "wine", "--profile", "nope")
    assert unknown.exit_code == 1
    assert "nope" in unknown.stderr


@pytest.mark.usefixtures("vectors")
def test_with_vectors_both_arms_find(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    result = pgblend("vsearch", "wind for ships at sea", "--json")
    assert result.exit_code == 0, result.stderr
    assert keys(result, parse_valid)[0] == "sea.md"
    hybrid = pgblend("query", "wind for ships at sea", "--json")
    assert hybrid.stderr == ""
    best = parse_valid(hybrid, "search-results")["results"][0]
    assert best["source_key"] == "sea.md"
    assert set(best["arms"]) == {"lexical", "vector"}
    assert -1 <= best["relevance"] <= 1
    table = pgblend("query", "wind for ships at sea").stdout
    assert "lexical #1, vector #1" in table


@pytest.mark.usefixtures("vectors")
def test_chunks_that_wait_for_vectors_are_noted_once(
    pgblend: Pgblend, connection: psycopg.Connection
) -> None:
    connection.execute("SELECT ingest_document('library', 'new.md', 'A new wind.')")
    result = pgblend("query", "wind")
    assert result.exit_code == 0
    assert result.stderr.count("no vector yet") == 1
    assert result.stderr.startswith("pgblend: note: ")


RULES = (
    *("--option", 'boosts=[{"filter": {"$source_key": "wine.md"}, "factor": 3}]'),
    *("--option", 'pinned=[{"query": "prod*", "documents": ["sea.md", "file:///nowhere"]}]'),
    *("--option", 'synonyms=[{"words": ["production", "ships"]}]'),
)


def test_a_row_says_what_rules_changed(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    found = parse_valid(pgblend("query", "production", *RULES, "--json"), "search-results")
    assert [row["source_key"] for row in found["results"]][:2] == ["sea.md", "wine.md"]
    table = " ".join(pgblend("query", "production", *RULES).stdout.split())
    assert "pinned for prod*" in table
    assert 'boost {"$source_key": "wine.md"} by 3' in table.replace("{ ", "{")
    assert "production as ships" in table
    written = pgblend("query", "production", *RULES, "--md").stdout
    assert "pinned for prod\\*" in written
    explained = " ".join(pgblend("query", "production", *RULES, "--explain").stderr.split())
    assert "pinned" in explained
    assert "file:///nowhere" in explained  # which nothing is called
    assert "rules" in explained


def test_rules_are_set_and_kept_with_their_history(pgblend: Pgblend) -> None:
    rules = '[{"query": "*", "documents": ["sea.md"]}]'
    assert pgblend("config", "set", "pinned", rules, "-c", "library").exit_code == 0
    assert pgblend("search", "production", "--files").stdout.splitlines()[0] == "sea.md"
    assert "sea.md" in pgblend("config", "history", "pinned", "-c", "library").stdout
    wrong = pgblend("config", "set", "boosts", '[{"filter": {"a": {"is": 1}}, "factor": 2}]')
    assert wrong.exit_code != 0
    assert "is no operator here" in wrong.stderr
    assert pgblend("config", "reset", "pinned", "-c", "library").exit_code == 0
    assert "sea.md" not in pgblend("search", "production", "--files").stdout
