"""The way of one parameter through the product: the files that it stays in, and comes back to.

    python tests/benchmarks/count_stays.py TREE… [--from FILE:FUNCTION:PARAMETER] [--show]

It is followed through the code as text, call by call in the order of the lines: as an argument, as
what is made of it, and as an attribute of the object that keeps it. A stay is a run of calls into
functions of one file; a return is a stay in a file where it was before. Calls of methods that
several classes have are not followed.
"""

import argparse
import ast
from collections import defaultdict
from logging import Formatter
from pathlib import Path
from typing import NamedTuple

from psycopg import Connection, Cursor

WAY = "cli/commands/ingest.py:run_request:request"


_CONSTRUCTORS = "__init__", "__enter__"
_BUILTINS = list, dict, set, str, bytes, int, Path, Formatter, Connection, Cursor


def _is_builtin(name: str) -> bool:
    """Whether a method may as well be one of Python's own types, or of a connection."""
    return any(hasattr(one, name) for one in _BUILTINS)


def assigned(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """Return the targets of a statement, each with the value that it is given."""
    match node:
        case ast.Assign(targets=targets, value=value):
            return [(target, value) for target in targets]
        case ast.AnnAssign(target=target, value=value) if value is not None:
            return [(target, value)]
        case ast.For(target=target, iter=value):
            return [(target, value)]
        case ast.With(items=items):
            pairs = [(item.optional_vars, item.context_expr) for item in items]
            return [(target, value) for target, value in pairs if target is not None]
    return []


class Function(NamedTuple):
    """A function or method, and where it is."""

    file: str
    owner: str
    name: str


class House:
    """The functions of a tree, and what the files import."""

    def __init__(self, tree: Path) -> None:
        self.nodes: dict[Function, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        self.imports: dict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
        self.methods: dict[str, list[Function]] = defaultdict(list)
        for path in sorted([*(tree / "cli").rglob("*.py"), *(tree / "plpy").rglob("*.py")]):
            self._read(str(path.relative_to(tree)), ast.parse(path.read_text(encoding="utf-8")))

    def _read(self, file: str, module: ast.Module) -> None:
        for node in ast.walk(module):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pgblend."):
                source = node.module.removeprefix("pgblend.").replace(".", "/")
                for one in node.names:
                    self.imports[file][one.asname or one.name] = source, one.name
            elif isinstance(node, ast.Import):
                for one in node.names:
                    self.imports[file][one.asname or one.name] = one.name, ""
            elif isinstance(node, ast.ClassDef):
                self._add(file, node.name, node.body)
        self._add(file, "", module.body)

    def _add(self, file: str, owner: str, body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                one = Function(file, owner, node.name)
                self.nodes[one] = node
                if owner:
                    self.methods[node.name].append(one)

    def called(self, call: ast.Call, within: Function) -> Function | None:
        """Return the function that a call enters, None where that is not to be told."""
        match call.func:
            case ast.Name(id=name):
                source, name = self.imports[within.file].get(name, (within.file[:-3], name))
                return self._known(f"{source}.py", name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if within.owner:
                return self._first([Function(within.file, within.owner, name)])
            case ast.Attribute(value=ast.Name(id=module), attr=name) if (
                module in self.imports[within.file]
            ):
                return self._known(f"{'/'.join(self.imports[within.file][module])}.py", name)
            case ast.Attribute(value=value, attr=name):
                kind = self.kind(value, within)
                if kind is not None:
                    return self._first([Function(*kind, name)])
                if len(self.methods[name]) == 1 and not _is_builtin(name):
                    return self.methods[name][0]
        return None

    def kind(self, value: ast.expr, within: Function) -> tuple[str, str] | None:
        """Return the file and name of the class that a value is made of, where it is told there."""
        match value:
            case ast.Call(func=ast.Name(id=name)):
                source, name = self.imports[within.file].get(name, (within.file[:-3], name))
                made = self._first([Function(f"{source}.py", name, one) for one in _CONSTRUCTORS])
                return made and (made.file, made.owner)
            case ast.Name(id=name):
                for node in ast.walk(self.nodes[within]):
                    for target, made in assigned(node):
                        if isinstance(target, ast.Name) and target.id == name != getattr(
                            made, "id", ""
                        ):
                            return self.kind(made, within)
        return None

    def _known(self, file: str, name: str) -> Function | None:
        return self._first([Function(file, "", name), Function(file, name, "__init__")])

    def _first(self, wanted: list[Function]) -> Function | None:
        return next((one for one in wanted if one in self.nodes), None)


class Way:
    """The files that are entered, one after the other."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.entered: list[Function] = []
        self._kept: dict[tuple[str, str], set[str]] = defaultdict(set)  # attributes of a class
        self._seen: set[tuple[Function, frozenset[str]]] = set()

    def enter(self, one: Function, names: set[str]) -> None:
        """Follow what has these names in a function."""
        key = one, frozenset(names)
        if key not in self._seen:
            self._seen.add(key)
            self.entered.append(one)
            self._follow(self.house.nodes[one].body, one, names)

    def _carries(self, node: ast.AST, one: Function, names: set[str]) -> bool:
        kept = self._kept[one.file, one.owner]
        return any(
            (isinstance(part, ast.Name) and part.id in names)
            or (
                isinstance(part, ast.Attribute)
                and isinstance(part.value, ast.Name)
                and part.value.id == "self"
                and part.attr in kept
            )
            for part in ast.walk(node)
        )

    def _follow(self, body: list[ast.stmt], one: Function, names: set[str]) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            inner = [*self._blocks(node)]
            within = {id(part) for block in inner for stmt in block for part in ast.walk(stmt)}
            calls = [n for n in ast.walk(node) if isinstance(n, ast.Call) and id(n) not in within]
            for call in sorted(calls, key=lambda n: (n.end_lineno, n.end_col_offset)):
                self._call(call, one, names)
            for target, value in assigned(node):
                if self._carries(value, one, names):
                    self._put(target, one, names)
            for block in inner:
                self._follow(block, one, names)

    def _blocks(self, node: ast.stmt) -> list[list[ast.stmt]]:
        blocks = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
        handlers = [handler.body for handler in getattr(node, "handlers", [])]
        return [block for block in [blocks[0], *handlers, *blocks[1:]] if block]

    def _put(self, target: ast.expr, one: Function, names: set[str]) -> None:
        for part in ast.walk(target):
            match part:
                case ast.Attribute(value=ast.Name(id="self"), attr=name):
                    self._kept[one.file, one.owner].add(name)
                case ast.Name(id=name) if name != "self":
                    names.add(name)

    def _call(self, call: ast.Call, one: Function, names: set[str]) -> None:
        callee = self.house.called(call, one)
        if callee is None or callee.owner.endswith("Error"):
            return
        arguments = self.house.nodes[callee].args
        parameters = [arg.arg for arg in [*arguments.posonlyargs, *arguments.args]]
        parameters = parameters[1:] if callee.owner else parameters
        given = {
            name
            for name, value in zip(parameters, call.args, strict=False)
            if self._carries(value, one, names)
        }
        given |= {
            word.arg for word in call.keywords if word.arg and self._carries(word.value, one, names)
        }
        kept = self._kept[callee.file, callee.owner] if callee.owner else set()
        body = ast.Module(self.house.nodes[callee].body, [])
        if given or (kept and self._carries(body, callee, set())):
            self.enter(callee, given)


def stays(tree: Path, start: str = WAY) -> tuple[int, int, Way]:
    """Return how many stays the way has, and how many of these are returns."""
    file, function, parameter = start.split(":")
    way = Way(House(tree))
    way.enter(Function(file, "", function), {parameter})
    files = [one.file for one in way.entered]
    runs = [file for at, file in enumerate(files) if at == 0 or file != files[at - 1]]
    return len(runs), len(runs) - len({*runs}), way


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--from", dest="start", default=WAY)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    for tree in options.trees:
        count, returns, way = stays(tree, options.start)
        print(f"{tree}: {count} stays, {returns} returns")
        if options.show:
            print("\n".join(f"  {one.file} {one.owner} {one.name}" for one in way.entered))


if __name__ == "__main__":
    main()
