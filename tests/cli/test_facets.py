"""pgblend facets: counts over the candidates of a search, in every format."""

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

Pgblend = Callable[..., Result]
pytestmark = pytest.mark.usefixtures("library")
QUERY = ("facets", "production sea")


def test_json(pgblend: Pgblend, parse_valid: Callable[[Result, str], Any]) -> None:
    result = pgblend(*QUERY, "--key", "author", "-k", "year", "--json")
    assert result.exit_code == 0
    envelope = parse_valid(result, "facets")
    assert envelope["pool_size"] == 3
    assert [(f["key"], f["value"], f["count"]) for f in envelope["facets"]] == [
        ("author", "knuth", 2),
        ("author", "hugh", 1),
        ("year", 1974, 1),
        ("year", None, 2),
    ]
    assert len(envelope["warnings"]) == 1  # no vectors


def test_the_table_is_for_people(pgblend: Pgblend) -> None:
    result = pgblend(*QUERY, "-k", "year")
    assert "(none)" in result.stdout
    assert "1974" in result.stdout
    assert "counted over 3 passages" in result.stderr
    assert "| year | 1974 | 1 | 1 |" in pgblend(*QUERY, "-k", "year", "--md").stdout


def test_csv(pgblend: Pgblend) -> None:
    rows = list(csv.DictReader(io.StringIO(pgblend(*QUERY, "-k", "year", "--csv").stdout)))
    assert [row["value"] for row in rows] == ["1974", ""]


def test_options_narrow_what_is_counted(
    pgblend: Pgblend, parse_valid: Callable[[Result, str], Any]
) -> None:
    for options, size, facets in (
        (["--filter", '{"author": "knuth"}'], 2, 1),
        (["-n", "1"], 3, 1),
        (["--until", "1999-01-01"], 0, 0),
        (["--profile", "balanced", "-c", "library", "--lang", "english"], 3, 2),
    ):
        envelope = parse_valid(pgblend(*QUERY, "-k", "author", *options, "--json"), "facets")
        assert (envelope["pool_size"], len(envelope["facets"])) == (size, facets), options


def test_nothing_found(pgblend: Pgblend) -> None:
    result = pgblend("facets", "xylophone", "-k", "author")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "no results" in result.stderr


def test_errors(pgblend: Pgblend) -> None:
    assert pgblend(*QUERY).exit_code == 2
    assert pgblend(*QUERY, "-k", "author", "--files").exit_code == 2
    result = pgblend(*QUERY, "-k", "$nope")
    assert result.exit_code == 1
    assert 'there is no field "$nope"' in result.stderr


def test_buckets(pgblend: Pgblend, parse_valid: Callable[[Result, str], Any]) -> None:
    result = pgblend(*QUERY, "--bucket", "year=[1970, 1980]", "--key", "author", "--json")
    found = [(f["key"], f["value"]) for f in parse_valid(result, "facets")["facets"]]
    assert ("year", {"gte": 1970, "lt": 1980}) in found
    assert ("author", "hugh") in found
    table = pgblend(*QUERY, "--bucket", "$date=year").stdout
    assert '"gte"' in table
    nothing = pgblend(*QUERY)
    assert nothing.exit_code == 2
    assert "name what to count" in nothing.stderr
