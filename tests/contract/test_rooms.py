"""The rooms have one name on each floor, and files import each other without circles."""

import ast
import runpy
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.no_cover  # it reads sources, which takes twice as long when measured

ROOT = Path(__file__).parents[2]
ROOMS = {
    *("base", "lexical", "models", "search", "graph", "documents", "embed", "tables"),
    *("answers", "measure", "shards", "doors", "operate"),
}
# What is no subject: the commands by name, what others import, schemas of answers.
OF_THE_COMMAND_LINE = {"commands", "integrations", "schemas"}
# They are made last, since they name what all rooms have.
LAST_IN_SQL = {"views", "access"}
MOST_LINES = 550
MOST_LINES_OF_DECISIONS = 800


def folders(floor: str) -> set[str]:
    return {
        path.name
        for path in (ROOT / floor).iterdir()
        if path.is_dir() and path.name != "__pycache__" and any(path.rglob("*.*"))
    }


def test_rooms_are_those_of_the_page_on_architecture() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    assert all(f"| `{room}` |" in page for room in ROOMS)


def test_the_picture_of_rooms_is_theirs() -> None:
    """Else: python tests/benchmarks/draw_rooms.py."""
    draw = runpy.run_path(str(ROOT / "tests/benchmarks/draw_rooms.py"))
    drawn = {room for line in draw["LINES"] for room in line}
    there = {f"{floor}/{room}" for floor in ("cli", "plpy") for room in python_rooms(floor)}
    assert drawn == there - {"cli/schemas"}
    assert draw["PICTURE"].read_text(encoding="utf-8") == draw["drawn"]()


def python_rooms(floor: str) -> set[str]:
    return {path.parent.name for path in (ROOT / floor).glob("*/*.py")}


def test_each_floor_has_these_rooms() -> None:
    assert folders("plpy") <= ROOMS
    assert folders("cli") - OF_THE_COMMAND_LINE <= ROOMS
    numbers, names = zip(*(name.split("_", 1) for name in sorted(folders("sql"))), strict=True)
    assert set(names) - LAST_IN_SQL <= ROOMS
    assert all(number.isdigit() for number in numbers)


def modules() -> dict[str, Path]:
    return {
        ".".join(("pgblend", *path.relative_to(ROOT).with_suffix("").parts)): path
        for floor in ("cli", "plpy")
        for path in (ROOT / floor).rglob("*.py")
        if path.name != "__init__.py"
    }


MODULES = modules()


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that are imported with this one, not those that wait for a call."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield from {node.module, f"{node.module}.{alias.name}"} & MODULES.keys()


def test_files_import_each_other_without_circles() -> None:
    TopologicalSorter({name: set(imported(path)) for name, path in MODULES.items()}).prepare()


@pytest.mark.parametrize("floor", ["cli", "plpy", "sql"])
def test_files_can_be_read_in_one_go(floor: str) -> None:
    """The catalogue of settings aside, which is one list."""
    catalogue = ROOT / "plpy/base/catalog.py"
    for path in (ROOT / floor).rglob("*.*"):
        if path.suffix in (".py", ".sql") and path != catalogue:
            assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES, path


def test_decisions_stay_short() -> None:
    """Figures and history stand in tests/benchmarks/NOTES.md."""
    pages = [
        path.read_text(encoding="utf-8").splitlines()
        for path in (ROOT / "docs/decisions").glob("*.md")
    ]
    assert sum(map(len, pages)) <= MOST_LINES_OF_DECISIONS
    # The table of libraries aside, whose rows cannot be folded.
    assert all(len(line) <= 150 for page in pages for line in page if not line.startswith("|"))
