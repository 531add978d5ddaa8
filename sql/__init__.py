"""Replaceable database objects: one routine or view per file, rendered into one script.

A file `sql/NN_stage/name.sql` creates the public object `blend.name`, `_name.sql` the private one
`pgblend._name`. Folders give the creation order; within a folder, files are ordered by what they
call, since a `BEGIN ATOMIC` body binds when it is created. Two things are put in: the sources of
plpy/ that a body includes, and public_errors.plpgsql around the body of every public routine in
PL/pgSQL, which raises its errors anew.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import TopologicalSorter
from importlib.resources import files
from textwrap import indent

_INCLUDE = re.compile(r"^#include plpy/(\w+)\.py\n", re.MULTILINE)
_IMPORT = re.compile(r"^from pgblend\.plpy\.(\w+) import \1\n", re.MULTILINE)
_BODY_IMPORT = re.compile(
    r"^(?:import \w+(?: as \w+)?|from \w+ import \w+(?:, \w+)*)\n", re.MULTILINE
)
_IMPORTED = re.compile(r"(\w+)(?=[,\n])")
_CALL = re.compile(r"\b(?:pg)?blend\.(\w+)\s*\(")
_PUBLIC_BODY = re.compile(
    r"(LANGUAGE plpgsql\n\w+ PARALLEL UNSAFE\n.*?AS \$function\$\n)((?:#[^\n]*\n)*)(.*?)"
    r"(\n\$function\$;)",
    re.DOTALL,
)
_PROSE = re.compile(r"--[^\n]*|COMMENT ON [^;]*;|HINT = '[^']*'")


@dataclass(frozen=True)
class SourceFile:
    """One file of sql/: its stage folder, the object it creates and its text."""

    stage: str
    name: str
    text: str

    @property
    def calls(self) -> set[str]:
        """Names of pgblend routines that the code calls."""
        return set(_CALL.findall(_PROSE.sub("", self.text))) - {self.name}


def source_files() -> list[SourceFile]:
    """All files of sql/ in creation order."""
    return list(_ordered_files())


def render() -> str:
    """Join all files into one script, with the plpy sources spliced in."""
    errors = (files(__name__) / "public_errors.plpgsql").read_text(encoding="utf-8")
    parts = [
        f"-- {file.stage}/{file.name}\n{_splice(_with_errors(file, errors))}"
        for file in source_files()
    ]
    return "\n".join(parts)


def _with_errors(file: SourceFile, errors: str) -> str:
    """Wrap the body of a public routine; one that a parallel worker runs cannot catch anything."""
    if file.name.startswith("_"):
        return file.text
    return _PUBLIC_BODY.sub(
        lambda found: f"{found[1]}{found[2]}BEGIN\n{found[3]}\n{errors}END;{found[4]}", file.text
    )


def _ordered_files() -> Iterator[SourceFile]:
    for stage in sorted(files(__name__).iterdir(), key=lambda entry: entry.name):
        if not stage.name[0].isdigit():
            continue
        by_name = {
            entry.name.removesuffix(".sql"): SourceFile(
                stage.name, entry.name.removesuffix(".sql"), entry.read_text(encoding="utf-8")
            )
            for entry in sorted(stage.iterdir(), key=lambda entry: entry.name)
            if entry.name.endswith(".sql")
        }
        graph = {name: sorted(file.calls & by_name.keys()) for name, file in by_name.items()}
        for name in TopologicalSorter(graph).static_order():
            yield by_name[name]


def modules_of(text: str) -> list[str]:
    """Name the plpy modules that a file includes, those that they import before them."""
    names: dict[str, None] = {}

    def add(name: str) -> None:
        for imported in _IMPORT.findall(_module(name)):
            add(imported)
        names[name] = None

    for name in _INCLUDE.findall(text):
        add(name)
    return list(names)


def _module(name: str) -> str:
    return (files("pgblend.plpy") / f"{name}.py").read_text(encoding="utf-8")


def _splice(text: str) -> str:
    """Replace the include lines by modules' sources, run once a session (SD lasts that long).

    So are the imports of the body itself. What it names is then one look-up away; what modules
    import stays among themselves.
    """
    included = _INCLUDE.findall(text)
    if not included:
        return text
    imports = "".join(_BODY_IMPORT.findall(text))
    names = ", ".join([*included, *_IMPORTED.findall(imports)])
    sources = "".join(_IMPORT.sub("", _module(name)) for name in modules_of(text))
    spliced = (
        'if "modules" not in SD:\n    def define():\n'
        + indent(sources + imports, " " * 8)
        + f'        return {names},\n    SD["modules"] = define()\n{names}, = SD["modules"]\n'
    )
    first = iter([spliced])
    return _INCLUDE.sub(lambda _: next(first, ""), _BODY_IMPORT.sub("", text))
