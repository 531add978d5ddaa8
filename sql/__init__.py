"""Replaceable database objects: one routine or view per file, rendered into one script.

A file `sql/NN_stage/name.sql` creates the public object `blend.name`, `_name.sql` the private one
`pgblend._name`. Folders give the creation order; within a folder, files are ordered by what they
call, since a `BEGIN ATOMIC` body binds when it is created. Three things are put in: the program
(program.py), load_program.txt before every PL/Python body that imports from it, and
public_errors.plpgsql around the body of every public routine in PL/pgSQL, which raises its errors
anew. Two follow at the end: rights on what is private (rights.py) and COMMENTs (comments.py).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from importlib.resources import files

from pgblend.sql.comments import comments
from pgblend.sql.program import program_modules, program_text, with_program
from pgblend.sql.rights import derived_grants

_CALL = re.compile(r"\b(?:pg)?blend\.(\w+)\s*\(")
_PUBLIC_BODY = re.compile(
    r"(LANGUAGE plpgsql\n\w+ PARALLEL UNSAFE\n.*?AS \$function\$\n)((?:#[^\n]*\n)*)(.*?)"
    r"(\n\$function\$;)",
    re.DOTALL,
)
_SHELL = "_search"  # of all searches, which the CLI calls as well
_PROSE = re.compile(r"--[^\n]*|COMMENT ON [^;]*;|HINT = '[^']*'")

_DECLARED = re.compile(r"-- Calls in text: ([^(]*)\(")
_PRIVATE = re.compile(r"\b_[a-z]\w*")


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


@cache  # the files of an installed package stay as they are
def render() -> str:
    """Join all files into one script, with the program and what loads it put in."""
    errors = (files(__name__) / "public_errors.plpgsql").read_text(encoding="utf-8")
    program = program_text()
    return "\n".join(
        [
            *(
                f"-- {file.stage}/{file.name}\n{with_program(_with_errors(file, errors), program)}"
                for file in source_files()
            ),
            _derived_grants(),
            *(comments(file.name, file.text) for file in source_files()),
        ]
    )


def _derived_grants() -> str:
    sources = {file.name: file.text for file in source_files()}
    access = sources.pop("access")
    code = {name: with_program(_code(text), "") for name, text in sources.items()}
    return derived_grants(access, code, program_modules())


def _code(text: str) -> str:
    """Return a file without prose; routines that statements built as text call stay named."""
    declared = [name for names in _DECLARED.findall(text) for name in _PRIVATE.findall(names)]
    return _PROSE.sub("", text) + "".join(f"\npgblend.{name}" for name in declared)


def _with_errors(file: SourceFile, errors: str) -> str:
    """Wrap the body of a public routine; one that a parallel worker runs cannot catch anything."""
    if file.name.startswith("_") and file.name != _SHELL:
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
