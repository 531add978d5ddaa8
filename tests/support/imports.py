"""Which modules an import reaches, and with which extras installed: read from the source alone.

A module is read with the extras that are sure to be there. Its function that calls `require('x')`
or `missing('x')` before it imports has `x` as well, so have the methods and functions of a module
whose class says `extra = "x"`, and a parser that a `Format(…, extra="x")` names.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

OWN = "pgblend"
INTEGRATIONS = "integrations"  # a package of its own name, in the folder of the command line
ROOT = Path(__file__).resolve().parents[2]
_ASKING = {"require", "missing"}
_STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)


@dataclass(frozen=True)
class Import:
    """An import of a library: where it stands, what it needs, the extras that are there."""

    importer: str
    library: str
    extras: frozenset[str]


@cache
def distributions(extras: frozenset[str]) -> frozenset[str]:
    """Return the names of all that an install with these extras brings."""
    found: set[tuple[str, str]] = set()
    waiting = [(OWN, extra) for extra in ("", *sorted(extras))]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in found:
            continue
        found.add((name, extra))
        for line in distribution(name).requires or ():
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                other = canonicalize_name(needed.name)
                waiting += [(other, each) for each in ("", *needed.extras)]
    return frozenset(name for name, _ in found)


@cache
def providers() -> Mapping[str, list[str]]:
    """Return the distributions that bring what is imported by a name."""
    return packages_distributions()


def brings(extras: frozenset[str], library: str) -> bool:
    """Whether an install with these extras has what is imported by this name."""
    return any(
        canonicalize_name(name) in distributions(extras) for name in providers().get(library, ())
    )


def imports_of(roots: list[str], extras: frozenset[str] = frozenset()) -> Iterator[Import]:
    """Yield every import of a library that these modules reach."""
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(root, extras) for root in roots]
    while waiting:
        at = waiting.pop()
        if at in seen:
            continue
        seen.add(at)
        module, there = at
        for name, more in _imports(module):
            top = name.partition(".")[0]
            if top == OWN:
                waiting += [(part, there | more) for part in _own_modules(name)]
            elif top not in sys.stdlib_module_names:
                yield Import(module, top, there | more)


@cache
def _imports(module: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return what a module imports, each with the extras that are asked for before it is."""
    path = _path_of(module)
    source = path.read_text(encoding="utf-8") if path else ""
    tree = ast.parse(source)
    # Expressions are many: they are looked into where they may import.
    kinds = (ast.AST,) if "import_module" in source else _STATEMENTS
    found = _walk(tree, frozenset(), _extras_of_classes(tree), kinds)
    return (*found, *(_parsers(tree) if "Format(" in source else ()))


def _walk(
    node: ast.AST, there: frozenset[str], of_classes: frozenset[str], kinds: tuple[type, ...]
) -> Iterator[tuple[str, frozenset[str]]]:
    asked: frozenset[str] = frozenset()
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, kinds):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        asked |= _asked(child) if isinstance(node, ast.FunctionDef) else frozenset()
        yield from ((name, there | asked) for name in _names(child))
        more = of_classes if isinstance(child, ast.FunctionDef) else frozenset()
        yield from _walk(child, there | asked | more, of_classes, kinds)


def _names(node: ast.AST) -> Iterator[str]:
    """Yield the modules that a statement or a call imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        yield from (str(name.value) for name in node.args[:1] if isinstance(name, ast.Constant))


def _asked(node: ast.AST) -> frozenset[str]:
    """Return the extras that a statement asks for."""
    return frozenset(
        str(call.args[0].value)
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and ast.unparse(call.func) in _ASKING
        if call.args and isinstance(call.args[0], ast.Constant)
    )


def _extras_of_classes(tree: ast.Module) -> frozenset[str]:
    return frozenset(
        str(statement.value.value)
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "extra"
        if isinstance(statement.value, ast.Constant)
    )


def _parsers(tree: ast.Module) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the modules of `Format(…, _lazy("module", …), extra="x")`."""
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or ast.unparse(call.func) != "Format":
            continue
        extras = {ast.literal_eval(word.value) for word in call.keywords if word.arg == "extra"}
        for part in call.args:
            if isinstance(part, ast.Call) and ast.unparse(part.func) == "_lazy":
                yield f"{OWN}.cli.documents.{ast.literal_eval(part.args[0])}", frozenset(extras)


def _own_modules(name: str) -> Iterator[str]:
    """Yield the modules that an import of this name runs: it and the packages around it."""
    parts = name.split(".")
    for end in range(2, len(parts) + 1):
        if _path_of(module := ".".join(parts[:end])):
            yield module


@cache
def _path_of(module: str) -> Path | None:
    parts = module.split(".")[1:]
    path = ROOT.joinpath(*(["cli", *parts] if parts[0] == INTEGRATIONS else parts))
    return next(filter(Path.is_file, (path.with_suffix(".py"), path / "__init__.py")), None)
