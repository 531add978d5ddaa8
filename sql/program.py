"""The program of the backend: plpy/ as one text, and what makes a PL/Python body load it.

A session loads it once (_load_program). Each body has the text's sha256 baked in, is replaced with
it in one transaction, and refuses another text. What loads it names the server `db` (session.py).
"""

import ast
import hashlib
import inspect
import json
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import pairwise

from pgblend.plpy.base import catalog
from pgblend.plpy.base.program import MARK, PACKAGE

_BODY = re.compile(
    r"(AS \$python\$\n)(?=(?:(?!\$python\$).)*?(?:^from pgblend\.|\bdb\.))", re.S | re.M
)


def program_modules() -> dict[str, str]:
    """Return every module's source by name."""
    return {PACKAGE: "", **dict(_modules(files("pgblend.plpy"), f"{PACKAGE}.plpy"))}


def program_text() -> str:
    """Return every module's source behind a line of MARK and its name."""
    return "".join(f"{MARK}{name}\n{source}" for name, source in program_modules().items())


def _modules(folder: Traversable, package: str) -> Iterator[tuple[str, str]]:
    yield package, (folder / "__init__.py").read_text(encoding="utf-8")
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        name = entry.name.removesuffix(".py")
        if entry.is_dir() and (entry / "__init__.py").is_file():
            yield from _modules(entry, f"{package}.{name}")
        elif entry.name.endswith(".py") and entry.name != "__init__.py":
            yield f"{package}.{name}", entry.read_text(encoding="utf-8")


@cache
def catalog_json() -> str:
    """Return the rows of setting_catalog as JSON."""
    meanings = dict(_meanings())
    rows = [{**one.row(), "description": meanings[one.name]} for one in catalog.CATALOG.values()]
    return json.dumps(rows, ensure_ascii=False)


def _meanings() -> Iterator[tuple[str, str]]:
    """Yield each setting's name and the text below it, which only its source has."""
    for described in ast.parse(inspect.getsource(catalog)).body:
        if isinstance(described, ast.ClassDef):
            for pair in pairwise(described.body):
                match pair:
                    case (
                        ast.AnnAssign(target=ast.Name(id=name)),
                        ast.Expr(value=ast.Constant(value=str(text))),
                    ):
                        yield name, " ".join(text.split())


def with_program(text: str, program: str) -> str:
    """Put the program into its own routine, and what loads it before bodies that use it."""
    text = text.replace("#catalog", catalog_json())
    text = _BODY.sub(lambda found: found[1] + _loader(), text)
    return text.replace("#digest", _digest(program)).replace("#program", program)


def program_digest() -> str:
    """Return the sha256 of the program's text, which every body in PL/Python has."""
    return _digest(program_text())


@cache
def _loader() -> str:
    folder = files(__name__.rpartition(".")[0])
    return (folder / "load_program.txt").read_text(encoding="utf-8")


@lru_cache(maxsize=1)  # each of hundreds of bodies has it
def _digest(program: str) -> str:
    return hashlib.sha256(program.encode()).hexdigest()
