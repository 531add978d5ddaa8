"""config: get, set, list, reset, history, export, import."""

from collections.abc import Callable
from pathlib import Path
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
        (["get", "rrf_q"], 1, "hint: The nearest are rrf_k and "),
        (["set", "rrf_q", "1"], 1, "hint: The nearest are rrf_k and "),
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


def test_a_collections_own_setting_and_the_history(
    pgblend: Pgblend, parse_valid: ParseValid, library: list[int]
) -> None:
    assert pgblend("config", "set", "k1", "2").exit_code == 0
    changed = pgblend("config", "set", "k1", "1.5", "--collection", "library")
    assert (changed.exit_code, changed.stderr) == (0, "k1 is now 1.5 in collection library\n")
    pgblend("config", "reset", "k1", "-c", "library")
    pgblend("profile", "set", "mine", "--setting", "k1=3")
    changes = parse_valid(pgblend("config", "history", "--json"), "config-history")["changes"]
    found = [
        [c[k] for k in ("scope", "subject", "name", "old_value", "new_value")] for c in changes
    ]
    assert found == [
        ["database", None, "k1", None, 2],
        ["collection", "library", "k1", None, 1.5],
        ["collection", "library", "k1", 1.5, None],
        ["profile", "mine", "description", None, ""],
        ["profile", "mine", "k1", None, 3],
    ]

    def names(*arguments: str) -> list[str]:
        listed = parse_valid(pgblend("config", "history", "--json", *arguments), "config-history")
        return [f"{c['scope']} {c['name']}" for c in listed["changes"]]

    assert names("k1") == ["database k1", "collection k1", "collection k1", "profile k1"]
    assert names("-c", "library") == ["collection k1", "collection k1"]
    assert names("--profile", "mine") == ["profile description", "profile k1"]
    assert names("-n", "1") == ["profile k1"]
    assert names("b") == []
    assert ",profile,mine,k1,,3" in pgblend("config", "history", "--csv").stdout
    assert pgblend("config", "history", "-c", "a", "--profile", "b").exit_code == 2
    assert pgblend("config", "set", "k1", "2", "-c", "nope").exit_code == 1


FILES = {
    "a.yaml": """
        settings: {rrf_k: 20, fuzzy: off, default_profile: mine, chunk_overlap_tokens: 500,
                   chunk_size_tokens: 1000}
        profiles:
          mine: {description: "Wörter", settings: {weights: {lexical: 2}}}
          bare:
        collections: {library: {k1: 1.5}}
    """,
    "a.json": """{"settings": {"rrf_k": 20, "fuzzy": "off", "default_profile": "mine",
        "chunk_overlap_tokens": 500, "chunk_size_tokens": 1000},
        "profiles": {"mine": {"description": "Wörter", "settings": {"weights": {"lexical": 2}}},
        "bare": {}}, "collections": {"library": {"k1": 1.5}}}""",
    "a.toml": """
        settings = { rrf_k = 20, fuzzy = "off", default_profile = "mine",
            chunk_overlap_tokens = 500, chunk_size_tokens = 1000 }
        [profiles.mine]
        description = "Wörter"
        [profiles.mine.settings]
        weights = { lexical = 2 }
        [profiles.bare]
        [collections.library]
        k1 = 1.5
    """.replace("\n            chunk_overlap", " chunk_overlap"),
}


@pytest.mark.parametrize("name", FILES)
def test_import_and_export(
    pgblend: Pgblend, parse_valid: ParseValid, library: list[int], tmp_path: Path, name: str
) -> None:
    file = tmp_path / name
    file.write_text(FILES[name], encoding="utf-8")
    pgblend("config", "reset", "timeouts_ms")  # the template's own
    pgblend("config", "set", "gateway_url", "http://127.0.0.1:9")  # of this machine alone
    before = pgblend("config", "export").stdout
    tried = pgblend("config", "import", str(file), "--dry-run")
    assert (tried.exit_code, tried.stdout) == (0, ""), tried.stderr
    assert tried.stderr == "would set 5 settings, 2 profiles, 1 collections\n"
    assert pgblend("config", "export").stdout == before
    assert pgblend("config", "import", str(file)).exit_code == 0
    exported = parse_valid(pgblend("config", "export", "--json"), "config-export")
    assert exported == {
        "settings": {
            "chunk_overlap_tokens": 500, "chunk_size_tokens": 1000, "default_profile": "mine",
            "fuzzy": "off", "rrf_k": 20,
        },
        "profiles": {
            "bare": {"description": "", "settings": {}},
            "mine": {"description": "Wörter", "settings": {"weights": {"lexical": 2}}},
        },
        "collections": {"library": {"k1": 1.5}},
    }  # fmt: skip
    again = tmp_path / "again.yaml"
    again.write_text(pgblend("config", "export").stdout, encoding="utf-8")
    for setting in ("default_profile", "rrf_k"):
        pgblend("config", "reset", setting)
    pgblend("profile", "drop", "mine")
    assert pgblend("config", "import", str(again)).exit_code == 0
    assert parse_valid(pgblend("config", "export", "--json"), "config-export") == exported


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("settings: {k1: 2, b: 7}", '"b" is 7'),
        ("settings: {k1: 2}\nprofiles: {mine: {settings: {nope: 1}}}", 'no setting "nope"'),
        ("settings: {k1: 2}\nprofiles: {gno: {}}", "comes with pgblend"),
        ("settings: {k1: 2}\ncollections: {nope: {k1: 1}}", "no collection"),
        (
            "settings: {k1: 2}\nprofiles: {mine: {description: 5}}",
            "mine.description is 5: expected text",
        ),
        ("setting: {k1: 2}", "has no key 'setting': expected settings, profiles, collections"),
        ("settings: [k1]", "expected names with their values"),
        ("profiles: {mine: {rrf_k: 2}}", "has no key 'rrf_k': expected description, settings"),
        ("profiles: {mine: 5}", "expected keys description, settings"),
        ("- 5", "expected keys settings"),
        ("settings: {k1: 2, k1: 3}", "key 'k1' is given twice"),
        ("settings: {1: 2}", "key 1 is no text"),
        ("settings: {k1: .nan}", "a value that JSON cannot"),
        ("settings: {language: 2024-01-01}", '"language" is "2024-01-01"'),  # no date
        ("settings: {k1: !!python/name:os.system }", "is no YAML"),
        ("settings: &a {k1: *a}", "a value that JSON cannot"),
        ("settings: {", "is no YAML"),
        ("\xff", "is no YAML"),
    ],
)
def test_a_wrong_file_changes_nothing(
    pgblend: Pgblend, tmp_path: Path, text: str, expected: str
) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(text.encode("latin-1"))
    before = pgblend("config", "export").stdout
    result = pgblend("config", "import", str(file))
    assert (result.exit_code, result.stdout) == (1, "")
    assert expected in result.stderr
    assert pgblend("config", "export").stdout == before


def test_other_ways_to_get_it_wrong(pgblend: Pgblend, tmp_path: Path) -> None:
    toml = tmp_path / "a.toml"
    toml.write_text("k1 = ", encoding="utf-8")
    assert "is no TOML" in pgblend("config", "import", str(toml)).stderr
    assert "cannot be read" in pgblend("config", "import", str(tmp_path / "nope.yaml")).stderr
    assert pgblend("config", "import").exit_code == 2
    assert pgblend("config", "import", str(toml), "--env").exit_code == 2
    empty = tmp_path / "empty.yaml"
    empty.write_text("", encoding="utf-8")
    assert pgblend("config", "import", str(empty)).exit_code == 0


def test_import_from_the_environment(pgblend: Pgblend) -> None:
    variables = {"PGBLEND_SETTING_RRF_K": "20", "PGBLEND_SETTING_FUZZY": "off"}
    result = pgblend("config", "import", "--env", env=variables)
    assert (result.exit_code, result.stderr) == (
        0, "set 2 settings, 0 profiles, 0 collections\n",
    )  # fmt: skip
    assert pgblend("config", "get", "rrf_k").stdout == "20\n"
    assert pgblend("config", "get", "fuzzy").stdout == "off\n"
    for wrong, expected in (("[1", "is not JSON"), ("-1", '"rrf_k" is -1')):
        result = pgblend("config", "import", "--env", env={"PGBLEND_SETTING_RRF_K": wrong})
        assert result.exit_code == 1
        assert expected in result.stderr
