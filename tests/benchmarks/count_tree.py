"""What can be counted of the house: files, lines, rooms, names. Prints a table of some trees.

    python tests/benchmarks/count_tree.py TREE…

TREE is a folder with a checkout. Files that git does not know are left out, and so are the tokens
of models and pictures.
"""

import argparse
import ast
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from count_stays import stays

RUN = Path("plpy/search/run.py")
CALL = Path("plpy/search/call.py")  # it was a part of RUN
PRODUCT = ("sql", "plpy", "cli", "migrations")
_NO_TEXT = re.compile(r"cl100k/9b|minilm/vocab|\.(png|svg)$")
FLOORS = ("sql", "plpy", "cli")
MANY_PARAMETERS = 7


def tracked(tree: Path) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=tree, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [tree / name for name in listed if not _NO_TEXT.search(name) and (tree / name).is_file()]


def lines(path: Path) -> int:
    return len(path.read_bytes().splitlines())


def code_lines(files: list[Path]) -> int:
    return sum(lines(path) for path in files if path.suffix in (".py", ".sql"))


def functions(trees: list[ast.Module]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return len([one for one in given if one.arg not in ("self", "cls")])


def is_command(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(re.search("click|option|command", ast.unparse(d)) for d in function.decorator_list)


def rooms(tree: Path, files: list[Path]) -> dict[str, set[str]]:
    """Return the floors of each folder with code, by name without its number."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in files:
        floor, *folders = path.relative_to(tree).parent.parts or ("",)
        if floor in FLOORS and folders and path.suffix in (".py", ".sql"):
            found[re.sub(r"^\d+_", "", folders[-1])].add(floor)
    return found


def named_types(modules: list[ast.Module]) -> int:
    """Count the product's classes that modules import: what must be known to follow them."""
    return len(
        {
            one.name
            for module in modules
            for node in module.body
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pgblend.")
            for one in node.names
            if re.match("[A-Z][a-z]", one.name)
        }
    )


def closures(tree: ast.Module) -> int:
    """Count the functions within functions; nested twice, one counts twice."""
    return sum(
        isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
        for outer in functions([tree])
        for inner in ast.walk(outer)
        if inner is not outer
    )


def speak_of_shards(tree: Path, files: list[Path]) -> int:
    """Count the files of the product outside shards' own that name them."""
    return sum(
        not re.search("shard|coordinator", str(path.relative_to(tree)))
        and re.search("shard|coordinator", path.read_text(encoding="utf-8"), re.I) is not None
        for path in files
    )


def circles(tree: Path, parsed: dict[Path, ast.Module]) -> int:
    """Count the groups of files that import each other, those that wait for a call included."""
    of = {
        ".".join(("pgblend", *path.relative_to(tree).with_suffix("").parts)): module
        for path, module in parsed.items()
    }
    imported = {
        name: {
            found
            for node in ast.walk(module)
            if isinstance(node, ast.ImportFrom) and node.module
            for found in (node.module, *(f"{node.module}.{one.name}" for one in node.names))
            if found in of
        }
        for name, module in of.items()
    }

    def reached(name: str) -> set[str]:
        found, waiting = set[str](), [name]
        while waiting:
            more = imported[waiting.pop()] - found
            found |= more
            waiting += more
        return found

    reach = {name: reached(name) for name in of}
    return len(
        {frozenset(one for one in reach[name] if name in reach[one]) for name in of} - {frozenset()}
    )


def count(tree: Path) -> dict[str, object]:
    files = tracked(tree)
    of = {
        floor: [
            path
            for path in files
            if path.relative_to(tree).parts[0] == floor
            and path.suffix == (".sql" if floor == "sql" else ".py")
            and lines(path) > 2
        ]
        for floor in FLOORS
    }
    python = [*of["plpy"], *of["cli"]]
    parsed = {path: ast.parse(path.read_text(encoding="utf-8")) for path in python}
    names = Counter(path.stem for path in python if path.stem != "__init__")
    classes = Counter(
        node.name for one in parsed.values() for node in one.body if isinstance(node, ast.ClassDef)
    )
    floors_of = rooms(tree, files)
    plpy = [module for path, module in parsed.items() if path in of["plpy"]]
    run = ast.parse((tree / RUN).read_text(encoding="utf-8"))
    way = [parsed[tree / one] for one in (RUN, CALL) if tree / one in parsed]
    stayed, returned, _ = stays(tree)
    product = [path for path in files if path.relative_to(tree).parts[0] in PRODUCT]
    tests = [path for path in files if path.relative_to(tree).parts[0] == "tests"]
    return {
        "lines": sum(map(lines, files)),
        "lines of Python and SQL in the product": code_lines(product),
        "lines of Python and SQL in tests": code_lines(tests),
        **{f"files in {f}": len(of[f]) for f in FLOORS},
        **{f"median lines in {f}": median(map(lines, of[f])) for f in FLOORS},
        "room names": len(floors_of),
        "room names on three floors": sum(len(floors) == 3 for floors in floors_of.values()),
        "loose files in cli": sum(path.parent.name == "cli" for path in of["cli"]),
        "file names that occur twice": sum(found > 1 for found in names.values()),
        "classes defined twice": sum(found > 1 for found in classes.values()),
        "functions with seven or more parameters": sum(
            parameters(one) >= MANY_PARAMETERS and not is_command(one)
            for one in functions(list(parsed.values()))
        ),
        "folders of sql": len({path.parent for path in of["sql"]}),
        "closures in plpy": sum(map(closures, plpy)),
        "lines of run.py": lines(tree / RUN),
        "types that a search and its call name": named_types(way),
        "lambdas in run.py": sum(isinstance(node, ast.Lambda) for node in ast.walk(run)),
        "loops in run.py": sum(isinstance(node, ast.For | ast.While) for node in ast.walk(run)),
        "files that speak of shards outside their rooms": speak_of_shards(
            tree, [*python, *of["sql"]]
        ),
        "circles of files": circles(tree, parsed),
        "stays of what is ingested (count_stays.py)": stayed,
        "returns of what is ingested": returned,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trees", nargs="+", type=Path)
    counts = [count(tree.resolve()) for tree in parser.parse_args().trees]
    for fact in counts[0]:
        print(f"| {fact} | " + " | ".join(f"{found[fact]:,}" for found in counts) + " |")


if __name__ == "__main__":
    main()
