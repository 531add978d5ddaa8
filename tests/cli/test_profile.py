"""profile: list, show, set, drop."""

from collections.abc import Callable
from typing import Any

import pytest
from click.testing import Result

Pgblend = Callable[..., Result]
ParseValid = Callable[[Result, str], Any]


def test_list(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    listed = parse_valid(pgblend("profile", "list", "--json"), "profile-list")["profiles"]
    assert [row["name"] for row in listed] == [
        "balanced", "code", "gno", "gno_epic", "graph", "rrf_mmr", "three_arm",
    ]  # fmt: skip
    assert "name,built_in,description\nbalanced,true," in pgblend("profile", "list", "--csv").stdout
    assert "three_arm" in pgblend("profile", "list").stdout


def test_set_show_and_drop(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    made = pgblend("profile", "set", "mine", "--description", "a\ntest", "--setting", "rrf_k=20")
    assert (made.exit_code, made.stdout) == (0, "")
    assert made.stderr == "profile mine has 1 setting\n"
    shown = parse_valid(pgblend("profile", "show", "mine", "--json"), "profile-show")
    assert (shown["description"], shown["settings"]) == ("a\ntest", {"rrf_k": 20})
    assert pgblend("profile", "show", "mine").stdout == "mine: a test\n  rrf_k = 20\n"
    pgblend("profile", "set", "mine", "--setting", 'fuzzy="off"')
    assert pgblend("profile", "show", "mine").stdout == 'mine: a test\n  fuzzy = "off"\n'
    assert pgblend("profile", "drop", "mine").exit_code == 0
    assert pgblend("profile", "drop", "mine").exit_code == 1


def test_from_another(pgblend: Pgblend, parse_valid: ParseValid) -> None:
    arguments = ("--from", "gno", "--setting", "rrf_k=20", "--setting", "over_fetch=null")
    assert pgblend("profile", "set", "mine", *arguments).exit_code == 0
    gno, mine = (
        parse_valid(pgblend("profile", "show", name, "--json"), "profile-show")["settings"]
        for name in ("gno", "mine")
    )
    del gno["over_fetch"]
    assert mine == {**gno, "rrf_k": 20}
    assert pgblend("profile", "show", "mine").stdout.startswith("mine\n  blend = {")


@pytest.mark.parametrize(
    ("arguments", "exit_code", "expected"),
    [
        (["show", "nope"], 1, "there is no profile 'nope'"),
        (["drop", "nope"], 1, "there is no profile 'nope'"),
        (["drop", "gno"], 1, 'profile "gno" comes with pgblend'),
        (["set", "gno"], 1, 'profile "gno" comes with pgblend'),
        (["set", "Mine"], 1, "profile name is 'Mine'"),
        (["set", "mine", "--from", "nope"], 1, "there is no profile 'nope'"),
        (["set", "mine", "--setting", "rrf_k=many"], 1, '"rrf_k" is "many"'),
        (["set", "mine", "--setting", "taste=1"], 1, 'no setting "taste"'),
        (["set", "mine", "--setting", "rrf_k"], 2, "expected KEY=VALUE"),
        (["set", "mine", "--setting", "k1=1", "--setting", "k1=2"], 2, "given twice"),
    ],
)
def test_wrong_names_and_values(
    pgblend: Pgblend, arguments: list[str], exit_code: int, expected: str
) -> None:
    before = pgblend("profile", "list", "--json").stdout
    result = pgblend("profile", *arguments)
    assert (result.exit_code, result.stdout) == (exit_code, "")
    assert expected in result.stderr
    assert pgblend("profile", "list", "--json").stdout == before
