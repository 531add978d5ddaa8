"""Which files to ingest, and under which key each is stored."""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from pathspec import PathSpec

from pgblend.cli.errors import UserError
from pgblend.cli.ingest.document import storable_text
from pgblend.cli.ingest.report import Problem
from pgblend.cli.ingest.source_file import SourceFile, is_slack_export, readable

_GUESSED = "its name is not UTF-8: stored as {!r}, which is a guess"
_TAKEN = "its name is not UTF-8, or another's is not: both would be {!r}; rename one"


def discover(
    paths: Sequence[Path],
    root: Path | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> tuple[list[SourceFile], list[Problem]]:
    """List the files under `paths` in a stable order, and the folders that cannot be read.

    The source key is the path below `root`; without one, the path below the named folder, or the
    named file's own name. Hidden files and folders are left out unless named. The patterns are
    those of .gitignore and hold for what is found in folders.
    """
    included = PathSpec.from_lines("gitignore", include) if include else None
    excluded = PathSpec.from_lines("gitignore", exclude)
    files: dict[str, SourceFile] = {}
    problems: list[Problem] = []
    for given in paths:
        explicit = not given.is_dir()
        if explicit and not given.exists():
            raise UserError(f"{given}: no such file or folder", hint="check the path")
        base = _absolute(root or (given.parent if explicit else given))
        for path in [given] if explicit else _walk(given, problems):
            file = _source_file(_absolute(path), base, explicit)
            if not explicit:
                relative = path.relative_to(given).as_posix()
                if excluded.match_file(relative) or (
                    included and not included.match_file(relative)
                ):
                    continue
            _add(files, file, problems)
    return list(files.values()), problems


def _walk(folder: Path, problems: list[Problem]) -> Iterator[Path]:
    """Yield regular files and Slack exports, by name and deep; no links to folders."""

    def fail(error: OSError) -> None:
        reason = f"cannot be read: {error.strerror}"
        problems.append(Problem("failed", readable(error.filename), reason))

    for parent, folders, names in os.walk(folder, onerror=fail):
        if is_slack_export(names):  # read as a whole
            folders.clear()
            yield Path(parent)
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent, name)
            if not name.startswith(".") and path.is_file():
                yield path


def _source_file(path: Path, base: Path, explicit: bool) -> SourceFile:
    if not path.is_relative_to(base):
        raise UserError(f"{path} is not below --root {base}", hint="name a folder that holds it")
    status = path.stat()
    key = storable_text(readable(path.relative_to(base) if path != base else path.name))
    size = status.st_size if stat.S_ISREG(status.st_mode) else 0
    if stat.S_ISDIR(status.st_mode):
        size = sum(file.stat().st_size for file in path.rglob("*.json"))
    return SourceFile(path, key, explicit, size, status.st_mtime)


def _add(files: dict[str, SourceFile], file: SourceFile, problems: list[Problem]) -> None:
    """Add a file once; two files under one key would overwrite each other."""
    other = files.setdefault(file.source_key, file)
    is_guess = file.label != str(file.path)
    if other is file:
        if is_guess:
            problems.append(Problem("warning", file.label, _GUESSED.format(file.source_key)))
    elif other.path != file.path and (is_guess or other.label != str(other.path)):
        problems.append(Problem("failed", file.label, _TAKEN.format(file.source_key)))
    elif other.path != file.path:
        raise UserError(
            f"{other.path} and {file.path} would both be stored as {file.source_key!r}",
            hint="give their common folder with --root, so that keys hold the whole path below it",
        )


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))
