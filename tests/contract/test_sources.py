"""Rules for the files of sql/, plpy/ and migrations/snapshots."""

import ast
import builtins
import re
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from textwrap import indent

import pytest

from pgblend.migrations import runner
from pgblend.migrations.replace_routines import digest, snapshot
from pgblend.plpy.search.settings import READ_BY_ARMS
from pgblend.sql import _BODY_IMPORT, SourceFile, modules_of, render, source_files

SOURCES = source_files()
# STABLE although it waits for models, so that all it reads is of one snapshot; only _search_page,
# which is VOLATILE, calls it, once a statement.
ONE_SNAPSHOT = {"_rank_passages"}
MODULES = sorted(Path(str(files("pgblend.plpy"))).glob("[!_]*.py"))
# What is public has no leading underscore.
CREATED = re.compile(
    r"^CREATE OR REPLACE (?:FUNCTION|VIEW) (?:blend\.(?=[a-z])|pgblend\.(?=_))(\w+)", re.MULTILINE
)
INCLUDE = re.compile(r"^#include plpy/(\w+)\.py$", re.MULTILINE)
CODE = re.compile(r"--[^\n]*|'(?:[^']|'')*'")

# Why each lock is safe though any role can take its key.
ADVISORY = re.compile(r"\bpg_(?:try_)?advisory_\w+")
ADVISORY_LOCKS = {
    "90_ingest/_start_worker": "a random key, made with the row: nobody holds it before; it counts"
    " for the process alone that the row names, and nothing waits for it",
    "90_ingest/_stop_worker": "gives that one back",
    "migrations/runner.py": "stops migrations alone; who holds it and is no superuser is named",
}


def identify(value: object) -> str:
    return getattr(value, "name", str(value))


@pytest.mark.parametrize("file", SOURCES, ids=identify)
def test_a_file_creates_what_its_name_says(file: SourceFile) -> None:
    assert set(CREATED.findall(file.text)) == ({file.name} if file.name != "access" else set())
    assert file.text.startswith(f"-- {file.name}: ")
    assert file.text.endswith("\n")
    assert "DROP " not in CODE.sub("", file.text.partition("AS $")[0])


@pytest.mark.parametrize("file", SOURCES, ids=identify)
def test_a_file_uses_its_own_and_lower_stages_only(file: SourceFile) -> None:
    stages = {other.name: other.stage for other in SOURCES}
    assert file.name == "access" or file.calls <= stages.keys()
    assert all(stages[name] <= file.stage for name in file.calls & stages.keys())


@pytest.mark.parametrize("file", SOURCES, ids=identify)
def test_a_file_spells_its_labels_out(file: SourceFile) -> None:
    for created in re.split(r"^CREATE OR REPLACE FUNCTION", file.text, flags=re.MULTILINE)[1:]:
        head = re.split(r"AS \$|BEGIN ATOMIC|\nRETURN ", created)[0]
        assert re.search(
            r"^(IMMUTABLE|STABLE|VOLATILE) PARALLEL (SAFE|UNSAFE)$", head, re.MULTILINE
        )


def test_a_caller_is_no_more_volatile_nor_safer_than_what_it_calls() -> None:
    labels = {
        file.name: match.groups()
        for file in SOURCES
        if (match := re.search(r"^(IMMUTABLE|STABLE|VOLATILE) PARALLEL (SAFE|UNSAFE)$",
                               file.text, re.MULTILINE))
    }  # fmt: skip
    order = ["IMMUTABLE", "STABLE", "VOLATILE"]
    for file in SOURCES:
        for name in file.calls & labels.keys() if file.name in labels else ():
            volatility, parallel = labels[file.name]
            assert order.index(volatility) >= order.index(labels[name][0]) or (
                file.name in ONE_SNAPSHOT
            ), (file.name, name)
            assert not (parallel == "SAFE" and labels[name][1] == "UNSAFE"), (file.name, name)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_the_five_rules_of_plpy(module: Path) -> None:
    source = module.read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 11))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert module.stem in functions

    imported = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [a.name for a in node.names] if isinstance(node, ast.Import) else [node.module]
        )
    }
    own = {name for name in imported if re.fullmatch(r"pgblend\.plpy\.\w+", str(name))}
    allowed = sys.stdlib_module_names | {"numpy"}
    assert {str(name).partition(".")[0] for name in imported - own} <= allowed
    assert "__future__" not in imported

    for node in ast.walk(tree):
        assert not isinstance(node, ast.Global)
        assert not (isinstance(node, ast.ImportFrom) and node.names[0].name == "*")
        assert not (isinstance(node, ast.Name) and node.id in {"plpy", "SD", "GD"})

    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
        and node.body and isinstance(node.body[0], ast.Expr)
    }  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert id(node) in docstrings or node.lineno == node.end_lineno

    names = functions | {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    arguments = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    assert not arguments & (names | imported)
    assert not names & set(dir(builtins))


def test_sql_arguments_are_not_named_like_what_is_spliced_in() -> None:
    for file in SOURCES:
        for name in modules_of(file.text):
            tree = ast.parse((MODULES[0].parent / f"{name}.py").read_text(encoding="utf-8"))
            defined = {getattr(node, "name", None) for node in tree.body}
            parameters = re.findall(r"^    (\w+) [\w\[\]. ]+,?$", file.text.partition(")")[0], re.M)
            assert not defined & set(parameters)


def bindings(source: str, owner: str) -> Iterator[tuple[str, str]]:
    """Yield each name that a source binds at its top, and what it stands for.

    That is its owner, or for an import where it comes from; those of plpy are spliced in instead.
    """
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0], f"import {alias.name}"
        elif isinstance(node, ast.ImportFrom):
            for alias in () if str(node.module).startswith("pgblend.plpy") else node.names:
                yield alias.asname or alias.name, f"from {node.module} import {alias.name}"
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, owner
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (inner for target in targets for inner in ast.walk(target)):
                if isinstance(name, ast.Name):
                    yield name.id, owner


@pytest.mark.parametrize("file", SOURCES, ids=identify)
def test_names_that_are_spliced_into_one_body_do_not_hide_each_other(file: SourceFile) -> None:
    """Modules and the body's own imports share one scope, where the last of a name would win."""
    folder = MODULES[0].parent
    parts = [(name, (folder / f"{name}.py").read_text("utf-8")) for name in modules_of(file.text)]
    parts += [("the body", "".join(_BODY_IMPORT.findall(file.text)))] if parts else []
    meanings: dict[str, str] = {}
    for owner, source in parts:
        for name, meaning in bindings(source, owner):
            assert meanings.setdefault(name, meaning) == meaning, name


def test_what_would_hide_another_name_is_noticed() -> None:
    source = """
import time
from a import b as c
from pgblend.plpy.other import other
A, B = [x for x in (1, 2)]
D: int = 3
def e(): y = 1
class F: z = 2
"""
    own = dict.fromkeys("ABDeF", "m")
    assert dict(bindings(source, "m")) == {"time": "import time", "c": "from a import b", **own}


@pytest.mark.parametrize("file", SOURCES, ids=identify)
def test_a_body_includes_the_modules_that_it_names(file: SourceFile) -> None:
    included = set(INCLUDE.findall(file.text))
    body = file.text.partition("AS $python$\n")[2].partition("$python$;")[0]
    tree = ast.parse("def body():\n" + indent(INCLUDE.sub("pass", body), "    ") + "    return\n")
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    stored = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    assert included == (named - stored) & {module.stem for module in MODULES}


def test_arms_read_only_the_settings_that_they_are_given() -> None:
    arms = {
        *("_cover_density_arm", "_fuzzy_arm", "_fuzzy_terms", "_lexical_arm", "_trigram_arm"),
        "_vector_arm",
    }
    texts = {file.name: file.text for file in SOURCES}
    passed_on = {
        name for name, text in texts.items() if re.search(r"^    settings jsonb", text, re.M)
    }
    for name in arms:
        read = re.findall(r"settings (?:->>?|#>>?) '\{?(\w+)", texts[name])
        assert {*read} <= {*READ_BY_ARMS, "candidate_depth"}, name
        calls = re.findall(r"blend\.(\w+)\([^;]*?\bsettings[,)]", texts[name])
        assert {*calls} & passed_on <= arms, name


def test_every_module_of_plpy_is_used() -> None:
    used = {name for file in SOURCES for name in modules_of(file.text)}
    assert used == {module.stem for module in MODULES}


def test_only_the_listed_files_use_advisory_locks() -> None:
    """Any role may take any key of these, and pg_locks shows them to all."""
    texts = {f"{file.stage}/{file.name}": file.text for file in SOURCES}
    for folder in ("cli", "migrations", "plpy"):
        top = Path(str(files(f"pgblend.{folder}")))
        texts |= {
            f"{folder}/{path.relative_to(top)}": path.read_text(encoding="utf-8")
            for path in top.rglob("*.py")
        }
    found = {name for name, text in texts.items() if ADVISORY.search(text)}
    assert found == ADVISORY_LOCKS.keys()


def test_a_revision_that_is_not_released_has_the_routines_of_sql() -> None:
    assert runner._head() not in runner.released()
    assert snapshot(runner._head()) == render()


def test_released_snapshots_never_change() -> None:
    for revision, sha in runner.released().items():
        assert digest(snapshot(revision)) == sha
