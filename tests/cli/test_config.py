"""config: get, set, list, reset."""

from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

Pgblend = Callable[..., Result]
ParseValid = Callable[[Result, str], Any]


@pytest.mark.parametrize(
    ("name", "value", "parsed", "shown"),
    [
        ("rrf_k", "20", 20, "20\n"),
        ("strict", "true", True, "true\n"),
        ("gateway_url", "http://127.0.0.1:9", "http://127.0.0.1:9", "http://127.0.0.1:9\n"),
        ("vector_scan", '"exact"', "exact", "exact\n"),
        ("mmr", '{"lambda": 0.7}', {"lambda": 0.7, "pool": 50}, '{"pool": 50, "lambda": 0.7}\n'),
    ],
)
def test_set_get_and_reset(
    pgblend: Pgblend, parse_valid: ParseValid, name: str, value: str, parsed: Any, shown: str
) -> None:
    before = pgblend("config", "get", name).stdout
    changed = pgblend("config", "set", name, value)
    assert (changed.exit_code, changed.stdout) == (0, "")
    assert pgblend("config", "get", name).stdout == shown
    got = parse_valid(pgblend("config", "get", name, "--json"), "config-get")
    assert got == {"name": name, "value": parsed}
    assert pgblend("config", "reset", name).exit_code == 0
    assert pgblend("config", "get", name).stdout == before


def test_a_setting_without_a_value(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    assert pgblend("config", "get", "gateway_url").stdout == "\n"
    got = parse_valid(pgblend("config", "get", "gateway_url", "--json"), "config-get")
    assert got == {"name": "gateway_url", "value": None}


def test_list(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    pgblend("config", "set", "rrf_k", "20")
    listed = parse_valid(pgblend("config", "list", "--json"), "config-list")["settings"]
    by_name = {row["name"]: row for row in listed}
    assert by_name["rrf_k"]["value"] == 20
    assert by_name["rrf_k"]["source"] == "database"
    assert by_name["k1"]["source"] == "default"
    assert "rrf_k,20,database" in pgblend("config", "list", "--csv").stdout
    assert "| rrf\\_k | 20 |" in pgblend("config", "list", "--md").stdout
    assert "Reciprocal rank fusion" in pgblend("config", "list").stdout


@pytest.mark.parametrize(
    ("arguments", "exit_code", "expected"),
    [
        (["get", "nope"], 1, "nope"),
        (["set", "nope", "1"], 1, "nope"),
        (["reset", "nope"], 1, "nope"),
        (["set", "rrf_k", "many"], 1, "rrf_k"),
        (["set", "min_score", "7"], 1, "min_score"),
        (["set", "weights", '{"vector": '], 2, "not JSON"),
        (["set", "weights", '{"taste": 1}'], 1, "taste"),
    ],
)
def test_wrong_names_and_values(
    pgblend: Pgblend, arguments: list[str], exit_code: int, expected: str
) -> None:
    before = pgblend("config", "list", "--json").stdout
    result = pgblend("config", *arguments)
    assert result.exit_code == exit_code
    assert expected in result.stderr
    assert result.stdout == ""
    assert pgblend("config", "list", "--json").stdout == before
