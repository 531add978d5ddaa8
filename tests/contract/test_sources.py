"""Rules for the files of sql/, plpy/ and migrations/snapshots."""

import ast
import builtins
import importlib
import re
import sys
from graphlib import TopologicalSorter
from importlib.resources import files
from pathlib import Path
from textwrap import indent

import pytest

from pgblend.cli.base.revision import known_revisions
from pgblend.migrations import runner
from pgblend.migrations.replace_routines import digest, snapshot
from pgblend.migrations.scripts import read_whole
from pgblend.sql import SourceObject, render, source_objects
from pgblend.sql.coordinator import stub_objects
from pgblend.sql.program import program_text

SOURCES = source_objects()
# STABLE although it waits for models, so that all it reads is of one snapshot; only _search, which
# is VOLATILE, calls it, once a statement.
ONE_SNAPSHOT = {"_run_search"}
FOLDER = Path(str(files("pgblend.plpy")))
MODULES = {
    ".".join(["pgblend.plpy", *path.relative_to(FOLDER).with_suffix("").parts]): path
    for path in sorted(FOLDER.rglob("[!_]*.py"))
}
FILES: dict[tuple[str, str], list[SourceObject]] = {}
for each in SOURCES:
    FILES.setdefault((each.stage, each.file), []).append(each)
# What is public has no leading underscore.
CREATED = re.compile(
    r"^CREATE OR REPLACE (?:FUNCTION|VIEW) (?:blend\.(?=[a-z])|pgblend\.(?=_))(\w+)", re.MULTILINE
)
BODY = re.compile(r"AS \$python\$\n(.*?)\$python\$;", re.DOTALL)
CODE = re.compile(r"--[^\n]*|'(?:[^']|'')*'")

# Why each lock is safe though any role can take its key.
ADVISORY = re.compile(r"\bpg_(?:try_)?advisory_\w+")
ADVISORY_LOCKS = {
    "55_embed/_start_worker": "a random key, made with the row: nobody holds it before; it"
    " counts for the process alone that the row names, and nothing waits for it",
    "55_embed/_stop_worker": "gives that one back",
    "migrations/runner.py": "stops migrations alone; who holds it and is no superuser is named",
}


@pytest.mark.parametrize("file", FILES, ids="/".join)
def test_an_object_has_a_header_and_creates_what_it_says(file: tuple[str, str]) -> None:
    for source in FILES[file]:
        access = source.name == "access"
        assert set(CREATED.findall(source.text)) == (set() if access else {source.name})
        assert source.text.startswith(f"-- {source.name}: "), source.name
        assert source.text.endswith("\n"), source.name
        assert "DROP " not in CODE.sub("", source.text.partition("AS $")[0]), source.name


def test_an_object_stands_in_one_file() -> None:
    names = [source.name for source in SOURCES]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("file", FILES, ids="/".join)
def test_a_file_has_an_object_above_what_it_calls(file: tuple[str, str]) -> None:
    stage, name = file
    text = (Path(str(files("pgblend.sql"))) / stage / f"{name}.sql").read_text(encoding="utf-8")
    above: set[str] = set()
    for source in sorted(FILES[file], key=lambda source: text.index(source.text)):
        assert not source.calls & above, source.name
        above.add(source.name)


@pytest.mark.parametrize("file", FILES, ids="/".join)
def test_a_file_is_named_after_its_subject(file: tuple[str, str]) -> None:
    """A name with an underscore in front is that of a routine, which is a part of a subject."""
    assert not file[1].startswith("_")
    assert sum(source.text.count("\n") for source in FILES[file]) <= 500


@pytest.mark.parametrize("file", FILES, ids="/".join)
def test_a_file_uses_its_own_and_lower_stages_only(file: tuple[str, str]) -> None:
    stages = {other.name: other.stage for other in SOURCES}
    for source in FILES[file]:
        assert source.name == "access" or source.calls <= stages.keys(), source.name
        higher = [name for name in source.calls & stages.keys() if stages[name] > source.stage]
        assert not higher, source.name


def test_statements_built_as_text_say_what_they_call_and_why() -> None:
    """A line above the first of them: what else is called is read from the code."""
    declared = re.compile(r"^ *-- Calls in text: (none|_\w+(?:, _\w+)*) \(.+\)\.$", re.M)
    in_filters = set(
        re.findall(r"\bpgblend\.(_\w+)", MODULES["pgblend.plpy.lexical.filter"].read_text())
    )
    for source in SOURCES:
        code = re.sub(r"--[^\n]*", "", source.text)
        builds = source.name != "access" and re.search(r"\bEXECUTE (?!FUNCTION\b|ON\b)", code)
        found = declared.findall(source.text)
        assert len(found) == (1 if builds else 0), source.name
        called = {*", ".join(found).split(", ")} - {"none", ""}
        assert called <= {other.name for other in SOURCES}, source.name
        if builds and re.search(r"\bon_(?:chunk|document)\b", code):
            assert in_filters <= called, source.name


def test_triggers_stand_beside_their_functions() -> None:
    """But constraint triggers, which nothing replaces, and those of users' tables or of shards."""
    made = re.compile(
        r"^CREATE OR REPLACE TRIGGER [^;]*? EXECUTE FUNCTION pgblend\.(\w+)\(\);", re.M
    )
    alone = {source.name for source in SOURCES if "\nRETURNS trigger\n" in source.text}
    for source in SOURCES:
        for name in made.findall(source.text):
            assert name == source.name
            alone.discard(name)
    of_shards = {"_note_names", "_note_nodes", "_refuse_moved"}
    of_users_tables = {"_row_changed", "_table_changed", "_table_truncated"}
    assert alone == {"_chunk_seal", *of_shards, *of_users_tables}


@pytest.mark.parametrize("file", FILES, ids="/".join)
def test_a_file_spells_its_labels_out(file: tuple[str, str]) -> None:
    text = "".join(source.text for source in FILES[file])
    for created in re.split(r"^CREATE OR REPLACE FUNCTION", text, flags=re.MULTILINE)[1:]:
        head = re.split(r"AS \$|BEGIN ATOMIC|\nRETURN ", created)[0]
        assert re.search(
            r"^(IMMUTABLE|STABLE|VOLATILE) PARALLEL (SAFE|UNSAFE)$", head, re.MULTILINE
        ), head


def test_a_caller_is_no_more_volatile_nor_safer_than_what_it_calls() -> None:
    labels = {
        source.name: match.groups()
        for source in SOURCES
        if (match := re.search(r"^(IMMUTABLE|STABLE|VOLATILE) PARALLEL (SAFE|UNSAFE)$",
                               source.text, re.MULTILINE))
    }  # fmt: skip
    order = ["IMMUTABLE", "STABLE", "VOLATILE"]
    for source in SOURCES:
        for name in source.calls & labels.keys() if source.name in labels else ():
            volatility, parallel = labels[source.name]
            assert order.index(volatility) >= order.index(labels[name][0]) or (
                source.name in ONE_SNAPSHOT
            ), (source.name, name)
            assert not (parallel == "SAFE" and labels[name][1] == "UNSAFE"), (source.name, name)


def imports_of(source: str) -> dict[str, set[str]]:
    """Names that a source imports anywhere, by the module from which they come."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse(source, feature_version=(3, 11))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.setdefault(alias.name, set()).add(alias.asname or alias.name.split(".")[0])
        elif isinstance(node, ast.ImportFrom):
            names = {alias.asname or alias.name for alias in node.names}
            found.setdefault(str(node.module), set()).update(names)
    return found


def bodies_of(source: SourceObject) -> list[str]:
    return [
        f"def body():\n{indent(body, '    ')}\n    return\n" for body in BODY.findall(source.text)
    ]


@pytest.mark.parametrize("name", MODULES)
def test_the_rules_of_plpy(name: str) -> None:
    source = MODULES[name].read_text(encoding="utf-8")
    imported = imports_of(source)
    allowed = sys.stdlib_module_names | {"numpy", "pgblend"}
    assert {module.partition(".")[0] for module in imported} <= allowed
    assert {module for module in imported if module.startswith("pgblend")} <= MODULES.keys()
    assert "*" not in set().union(*imported.values())
    assert "\n#: " not in f"\n{source}"  # begins a module in the program's text
    tree = ast.parse(source)
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Global)
        assert not (isinstance(node, ast.Name) and node.id in {"plpy", "SD", "GD"})
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert not defined & set(dir(builtins))


TYPED_ROOMS = ("lexical", "base.ports")  # the rest follows
# What they tell or cut is JSON of any shape.
UNTYPED = {
    *("lexical.query", "lexical.split_text"),
    *("search.choose", "search.diagnosis", "search.diagnosis_facts", "lexical.filter"),
    "search.rerank",
}
UNTYPED_MODULES = {f"pgblend.plpy.{name}" for name in UNTYPED}
MOST_LINES = 60


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in sorted(MODULES.keys() - UNTYPED_MODULES)
        if name.startswith(tuple(f"pgblend.plpy.{room}" for room in TYPED_ROOMS))
    ],
)
def test_typed_rooms_hide_no_types_and_have_short_functions(name: str) -> None:
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        used = {getattr(node, "id", None), getattr(node, "attr", None)}
        assert not used & {"Any", "cast", "object"}, node.lineno
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < MOST_LINES, node.name


def test_rooms_import_each_other_without_circles() -> None:
    rooms: dict[str, set[str]] = {}
    for name, path in MODULES.items():
        room = name.split(".")[2]
        imported = imports_of(path.read_text(encoding="utf-8"))
        others = {module.split(".")[2] for module in imported if module in MODULES}
        rooms.setdefault(room, set()).update(others - {room})
    TopologicalSorter(rooms).prepare()


@pytest.mark.parametrize("file", FILES, ids="/".join)
def test_a_body_uses_what_it_imports_and_hides_no_argument(file: tuple[str, str]) -> None:
    bodies = [(source, body) for source in FILES[file] for body in bodies_of(source)]
    for source, body in bodies:
        parameters = set(
            re.findall(r"^    (?:OUT )?(\w+) [\w\[\]. ]+,?$", source.text.split(")")[0], re.M)
        )
        ours = {module: names for module, names in imports_of(body).items() if module in MODULES}
        imported = set().union(*ours.values())
        names = [node for node in ast.walk(ast.parse(body)) if isinstance(node, ast.Name)]
        read = {node.id for node in names if isinstance(node.ctx, ast.Load)}
        assert imported <= read, source.name
        written = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        assert not imported & (written | parameters), source.name


def test_every_module_of_plpy_is_used() -> None:
    used = set()
    waiting = [
        module
        for source in [*SOURCES, *stub_objects()]
        for body in bodies_of(source)
        for module in imports_of(body)
    ]
    while waiting:
        module = waiting.pop()
        if module in MODULES and module not in used:
            used.add(module)
            waiting += imports_of(MODULES[module].read_text(encoding="utf-8"))
    assert used == MODULES.keys()


def test_the_program_has_every_module() -> None:
    names = re.findall(r"^#: (\S+)$", program_text(), re.MULTILINE)
    assert sorted(names) == sorted(set(names))
    assert MODULES.keys() <= set(names)


def test_only_bodies_that_import_load_the_program() -> None:
    for source in SOURCES:
        importing = any("pgblend.plpy" in body for body in bodies_of(source))
        label = re.search(r" PARALLEL (\w+)$", source.text, re.MULTILINE)
        # PostgreSQL before 17 lets no statement run in a parallel worker's PL/Python.
        assert not importing or (label and label[1] == "UNSAFE"), source.name


def test_only_the_listed_files_use_advisory_locks() -> None:
    """Any role may take any key of these, and pg_locks shows them to all."""
    texts = {f"{source.stage}/{source.name}": source.text for source in SOURCES}
    for folder in ("cli", "migrations", "plpy"):
        top = Path(str(files(f"pgblend.{folder}")))
        texts |= {
            f"{folder}/{path.relative_to(top)}": path.read_text(encoding="utf-8")
            for path in top.rglob("*.py")
        }
    found = {name for name, text in texts.items() if ADVISORY.search(text)}
    assert found == ADVISORY_LOCKS.keys()


REVISE = (
    "revision {} is released and never changes: make the next one (pgblend migrate revise 'what"
    " changes'), and put changes of tables into its NNNN_tables.sql (CONTRIBUTING.md)"
)


def test_the_newest_revision_has_the_routines_of_sql() -> None:
    head = runner._head()
    assert digest(snapshot(head)) == digest(render()), REVISE.format(head)


def test_tables_of_a_release_never_change() -> None:
    for revision, made in runner.released_tables().items():
        assert digest(read_whole(known_revisions(), revision)) == made, REVISE.format(revision)


def test_released_snapshots_never_change() -> None:
    folder = files("pgblend.migrations.snapshots")
    frozen = {entry.name for entry in folder.iterdir() if entry.name.endswith(".sql")}
    assert frozen == {f"{revision}.sql" for revision in runner.released()}
    for revision, sha in runner.released().items():
        assert digest(snapshot(revision)) == sha


MOST_LINES = 60
SHORT_ROOMS = {"search", "lexical", "graph", "answers"}


@pytest.mark.parametrize("name", [one for one in MODULES if one.split(".")[2] in SHORT_ROOMS])
def test_functions_are_short(name: str) -> None:
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < MOST_LINES, node.name


@pytest.mark.parametrize(
    "name", [one for one in sorted(MODULES.keys() - UNTYPED_MODULES) if ".search." in one]
)
def test_a_search_is_typed(name: str) -> None:
    """No Any, and no cast or object as a way around it."""
    names = {
        node.id
        for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8")))
        if isinstance(node, ast.Name)
    }
    assert not names & {"Any", "cast", "object"}


@pytest.mark.parametrize("file", FILES, ids="/".join)
def test_what_a_body_imports_is_there(file: tuple[str, str]) -> None:
    text = "".join(source.text for source in FILES[file])
    imports = re.findall(r"^from (pgblend\.[\w.]+) import ([\w, ]+|\([^)]+)", text, re.M)
    for module, names in imports:
        loaded = importlib.import_module(module)
        assert [name for name in re.findall(r"\w+", names) if not hasattr(loaded, name)] == []


@pytest.mark.parametrize("file", FILES, ids="/".join)
def test_literals_mean_the_same_whatever_the_session_s_settings(file: tuple[str, str]) -> None:
    """A body of plpgsql is parsed in the session that calls it (standard_conforming_strings)."""
    literal = re.compile(r"--[^\n]*|E'(?:[^'\\]|\\.|'')*'|U&'[^']*'|('(?:[^']|'')*')", re.DOTALL)
    for source in FILES[file]:
        text = re.sub(r"'\n\s+'", "", BODY.sub("", source.text))  # one literal goes on
        plain = [found for found in literal.findall(text) if "\\" in found]
        assert not plain, f"{source.name}: write E'…', backslashes doubled"
