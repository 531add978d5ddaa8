"""What is imported belongs to what is installed; cli/base/extras.py says what pyproject does."""

from importlib.metadata import metadata
from operator import attrgetter
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pgblend.cli.base.extras import MODULES
from support.imports import OWN, ROOT, brings, imports_of, providers

pytestmark = pytest.mark.no_cover  # it reads sources, which takes twice as long when measured

# For those who work on pgblend, and the sum of others.
NOT_FOR_USERS = {"all", "bench", "dev", "docs"}
# What a process starts with: commands, the parsing process, what alembic loads by path.
FOLDERS = ("cli/commands", "migrations")
PROCESSES = ["pgblend.cli.main", "pgblend.cli.documents.parser"]


def _starts() -> list[str]:
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    return PROCESSES + [_module(path) for path in paths]


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join((OWN, *parts)).removesuffix(".__init__")


def test_nothing_is_imported_that_may_not_be_there() -> None:
    found = set(imports_of(_starts()))
    # `make setup` leaves torch out, so nobody knows what it brings.
    known = {each for each in found if "torch" not in each.extras}
    assert {"click", "psycopg", "starlette", "ir_measures", "xlrd"} <= {i.library for i in known}
    assert [each for each in known if not brings(each.extras, each.library)] == []


@pytest.mark.parametrize(
    "path", sorted((ROOT / "cli" / "integrations").glob("*.py")), ids=attrgetter("stem")
)
def test_an_integration_needs_the_extra_of_its_name_alone(path: Path) -> None:
    extra = "langchain" if path.stem == "client" else path.stem.replace("_", "-")
    there = frozenset({extra} & MODULES.keys())
    found = imports_of([f"{OWN}.integrations.{path.stem}"], there)
    assert [each for each in found if not brings(each.extras, each.library)] == []


@pytest.mark.parametrize(
    ("source", "extras"),
    [
        ("import optuna", None),
        ("def f():\n    import optuna", None),
        ("def f():\n    require('eval')\n    import optuna", {"eval"}),
        ("def f():\n    import optuna\n    require('eval')", None),
        ("class A:\n    extra = 'eval'\n    def f(self):\n        import optuna", {"eval"}),
        ("if TYPE_CHECKING:\n    import optuna\nimport click", set()),
        ("def f():\n    import_module('optuna')", None),
    ],
)
def test_imports_are_followed(
    source: str, extras: set[str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("support.imports.ROOT", tmp_path)
    name = f"pgblend.made_{abs(hash(source))}"  # what a module imports is remembered by its name
    (tmp_path / f"{name.partition('.')[2]}.py").write_text(source)
    (only,) = imports_of([name])
    assert brings(only.extras, only.library) is (extras is not None)
    assert only.extras == (extras or set())


@pytest.mark.parametrize("extra", MODULES)
def test_modules_are_those_of_the_extras_libraries(extra: str) -> None:
    listed = {
        canonicalize_name(needed.name)
        for needed in map(Requirement, metadata(OWN).get_all("Requires-Dist") or ())
        if needed.marker
        and needed.marker.evaluate({"extra": extra})
        and not needed.marker.evaluate({"extra": ""})
    }
    installed = providers()
    named = {
        canonicalize_name(distribution)
        for module in MODULES[extra]
        for distribution in set(installed.get(module, [module]))
    }
    assert named == listed - {OWN}


def test_every_extra_is_known() -> None:
    assert set(MODULES) == set(metadata(OWN).get_all("Provides-Extra") or ()) - NOT_FOR_USERS


def _listed(extra: str) -> dict[str, Requirement]:
    """What an extra lists by itself, by name; of the plain install for the empty name."""
    found = map(Requirement, metadata(OWN).get_all("Requires-Dist") or ())
    return {
        f"{canonicalize_name(each.name)}{sorted(each.extras) or ''}": each
        for each in found
        if (each.marker is None) is (extra == "")
        if each.marker is None or each.marker.evaluate({"extra": extra})
        if each.marker is None or not each.marker.evaluate({"extra": ""})
    }


def _included(extra: str) -> set[str]:
    """The plain install, and the extras that one names, whose libraries it need not repeat."""
    direct = {e for name, r in _listed(extra).items() if name.startswith(OWN) for e in r.extras}
    return {""}.union(direct, *map(_included, direct))


@pytest.mark.parametrize("extra", MODULES)
def test_no_extra_repeats_what_it_includes(extra: str) -> None:
    repeated = {
        name for other in _included(extra) for name in _listed(other).keys() & _listed(extra).keys()
    }
    assert not repeated


def test_a_library_of_several_extras_has_one_range() -> None:
    ranges: dict[str, set[str]] = {}
    for extra in MODULES:
        for name, needed in _listed(extra).items():
            ranges.setdefault(name, set()).add(str(needed.specifier))
    assert [name for name, specifiers in ranges.items() if len(specifiers) > 1] == []
