"""Replaceable database objects: one routine or view per file, rendered into one script.

A file `sql/NN_stage/name.sql` creates the object `pgblend.name`. Folders give the creation order;
within a folder, files are ordered by what they call, since a `BEGIN ATOMIC` body binds when it is
created.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import TopologicalSorter
from importlib.resources import files
from textwrap import indent

_INCLUDE = re.compile(r"^#include plpy/(\w+)\.py$", re.MULTILINE)
_CALL = re.compile(r"\bpgblend\.(\w+)\s*\(")
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
    parts = [f"-- {file.stage}/{file.name}\n{_splice(file.text)}" for file in source_files()]
    return "\n".join(parts)


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


def _splice(text: str) -> str:
    """Replace each include line by the module's source, run once a session (SD lasts that long)."""

    def source_of(match: re.Match[str]) -> str:
        name = match[1]
        source = (files("pgblend.plpy") / f"{name}.py").read_text(encoding="utf-8").rstrip()
        return (
            f'if "{name}" not in SD:\n{indent(source, "    ")}\n'
            f'    SD["{name}"] = {name}\n{name} = SD["{name}"]'
        )

    return _INCLUDE.sub(source_of, text)
