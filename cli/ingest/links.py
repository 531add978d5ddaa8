"""Symbolic links: what lies in a folder may lead out of it."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

NOWHERE = "a link that leads nowhere"
_OUT = "a link out of what was given, so it is left out: --follow-links reads it"


def real_paths(paths: Iterable[Path]) -> list[Path]:
    """Return the paths without links; what is named is named, also by a link."""
    return [Path(os.path.realpath(path)) for path in paths]


def leads_out(path: Path, roots: Sequence[Path]) -> bool:
    """Whether a path, with its links followed, is below none of the roots (see real_paths)."""
    real = Path(os.path.realpath(path))
    return not any(real.is_relative_to(root) for root in roots)


def is_dangling(path: Path) -> bool:
    """Whether a path is a link to nothing, or to itself."""
    return path.is_symlink() and not path.exists()


def link_problem(path: Path, roots: Sequence[Path], follow_links: bool) -> str | None:
    """Say why a link is left out; None for one that may be read, and for what is no link."""
    if not path.is_symlink():
        return None
    if is_dangling(path):
        return NOWHERE
    return _OUT if not follow_links and leads_out(path, roots) else None


def export_files(folder: Path, follow_links: bool) -> tuple[list[Path], dict[Path, str]]:
    """Return the JSON files of an export's folder, and why links in it are left out."""
    files, roots = sorted(folder.rglob("*.json")), real_paths([folder])
    problems = {file: link_problem(file, roots, follow_links) for file in files}
    left_out = {file: problem for file, problem in problems.items() if problem}
    return [file for file in files if file not in left_out], left_out
