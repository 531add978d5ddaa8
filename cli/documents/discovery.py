"""Which files to ingest, and under which key each is stored."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pathspec import PathSpec

from pgblend.cli.base.errors import UserError
from pgblend.cli.documents.document import storable_text
from pgblend.cli.documents.ingest_report import SourceProblem
from pgblend.cli.documents.readers import ReaderRules, is_sidecar
from pgblend.cli.documents.source_file import (
    NOWHERE,
    SourceFile,
    export_files,
    is_dangling,
    is_slack_export,
    leads_out,
    leftover,
    link_problem,
    readable,
    real_paths,
    saved_parts,
)

TAKEN = "{} and {} would both be stored as {!r}"
USE_ROOT = "give their common folder with --root, so that keys hold the whole path below it"
_GUESSED = "its name is not UTF-8: stored as {!r}, which is a guess"
_SAME = "its name is not UTF-8, or another's is not: both would be {!r}, so rename one"


def discover(
    paths: Sequence[Path],
    root: Path | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    follow_links: bool = False,
    rules: ReaderRules | None = None,
) -> tuple[list[SourceFile], list[SourceProblem]]:
    """List the files under `paths` in a stable order, and what of them cannot be read.

    The source key is the path below `root`. Without one it is the path below the named folder, or
    the named file's own name. Hidden files and folders are left out unless named. What programs
    leave beside files (lock files, editors' copies) is passed over, as are files that name the
    readers of others. The patterns are those of .gitignore and hold for what is found in folders.
    Links that lead out of all `paths` are left out and reported, unless `follow_links`. `rules`
    tell who may read the documents.
    """
    included = PathSpec.from_lines("gitignore", include) if include else None
    excluded = PathSpec.from_lines("gitignore", exclude)
    files: dict[str, SourceFile] = {}
    problems: list[SourceProblem] = []
    roots = real_paths(paths)
    rules = rules or ReaderRules((), None, None if follow_links else roots)
    for given in paths:
        explicit = not given.is_dir()
        if explicit and not os.path.exists(given):
            missing = NOWHERE if given.is_symlink() else "no such file or folder"
            raise UserError(f"{given}: {missing}", hint="check the path")
        base = _absolute(root or (given.parent if explicit else given))
        for path in [given] if explicit else _walk(given, roots, follow_links, problems):
            if not explicit:
                relative = path.relative_to(given).as_posix()
                if excluded.match_file(relative) or (
                    included and not included.match_file(relative)
                ):
                    continue
                if problem := link_problem(path, roots, follow_links):
                    problems.append(_warning(path, problem))
                    continue
            # A shell's * names them as well.
            if is_sidecar(path):
                continue
            if what := leftover(path.name):
                problems.append(SourceProblem("skipped", readable(_absolute(path)), what))
                continue
            export, left_out = export_files(path, follow_links) if path.is_dir() else ([], {})
            problems.extend(_warning(link, problem) for link, problem in left_out.items())
            file = _source_file(_absolute(path), base, explicit, export)
            readers = rules.readers_of(file.path, base)
            _add(files, replace(file, readers=readers), problems)
    return list(files.values()), problems


def _walk(
    folder: Path, roots: Sequence[Path], follow_links: bool, problems: list[SourceProblem]
) -> Iterator[Path]:
    """Yield files, Slack exports, and links that are left out, by name and deep.

    Pipes, sockets and devices are yielded too, so that the report names them.

    A link to a folder within the roots is passed over: its files are found where they are.
    """

    def fail(error: OSError) -> None:
        reason = f"cannot be read: {error.strerror}"
        problems.append(SourceProblem("failed", readable(error.filename), reason))

    walked = set(real_paths([folder]))
    for parent, folders, names in os.walk(folder, onerror=fail, followlinks=follow_links):
        if is_slack_export(names):  # read as a whole
            folders.clear()
            yield Path(parent)
            continue
        visible = [Path(parent, name) for name in sorted(folders) if not name.startswith(".")]
        for path, page in saved_parts(visible, names):
            visible.remove(path)
            what = f"what a browser saved beside {page}"
            problems.append(SourceProblem("skipped", readable(path), what))
        links = [path for path in visible if path.is_symlink()]
        if not follow_links:
            yield from (path for path in links if leads_out(path, roots))
        entered = [path for path in visible if path not in links or leads_out(path, roots)]
        folders[:] = [path.name for path in entered if _is_new(path, walked, follow_links)]
        for name in sorted(names):
            path = Path(parent, name)
            if not name.startswith(".") and (os.path.exists(path) or is_dangling(path)):
                yield path


def _is_new(folder: Path, walked: set[Path], follow_links: bool) -> bool:
    """Whether a folder is yet to be walked; where links are followed, there are many ways to it."""
    if not follow_links:
        return True
    (real,) = real_paths([folder])
    is_new = real not in walked
    walked.add(real)
    return is_new


def _warning(path: Path, message: str) -> SourceProblem:
    return SourceProblem("warning", readable(_absolute(path)), message)


def _source_file(path: Path, base: Path, explicit: bool, export: Sequence[Path]) -> SourceFile:
    if not path.is_relative_to(base):
        raise UserError(f"{path} is not below --root {base}", hint="name a folder that holds it")
    status = path.stat()
    key = storable_text(readable(path.relative_to(base) if path != base else path.name))
    size = status.st_size if stat.S_ISREG(status.st_mode) else 0
    size += sum(file.stat().st_size for file in export)
    return SourceFile(path, key, explicit, size, status.st_mtime)


def _add(files: dict[str, SourceFile], file: SourceFile, problems: list[SourceProblem]) -> None:
    """Add a file once; two files under one key would overwrite each other."""
    other = files.setdefault(file.source_key, file)
    is_guess = file.label != str(file.path)
    if other is file:
        if is_guess:
            problems.append(SourceProblem("warning", file.label, _GUESSED.format(file.source_key)))
    elif other.path != file.path and (is_guess or other.label != str(other.path)):
        problems.append(SourceProblem("failed", file.label, _SAME.format(file.source_key)))
    elif other.path != file.path:
        raise UserError(TAKEN.format(other.path, file.path, file.source_key), hint=USE_ROOT)


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))
