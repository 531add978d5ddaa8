"""Files that pages, comments and texts name are there."""

import re
import subprocess

from support.documentation import ROOT

FOLDERS = "cli|docker|docs|migrations|plpy|sql|tests"
# A folder or file of the repository; one with a capital is a pattern, such as cli/commands/NAME.py.
_IN_PROSE = re.compile(rf"(?<![\w./-])(?:{FOLDERS})/[\w./-]*[\w/]")
_PAGE = re.compile(r"(?<![\w./-])docs/(?:decisions|reference)/[\w-]+\.md\b")
# Says what held when a thing was tried.
HISTORY = {"tests/benchmarks/NOTES.md", "CHANGELOG.md"}


def tracked(*patterns: str) -> list[str]:
    """Return the files that git knows of."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def missing(names: list[str], pattern: re.Pattern[str]) -> set[tuple[str, str]]:
    """Return (who names it, what is not there)."""
    return {
        (name, path)
        for name in names
        for path in pattern.findall((ROOT / name).read_text(encoding="utf-8", errors="replace"))
        if path == path.lower() and not (ROOT / path).exists()
    }


def test_pages_name_files_that_are_there() -> None:
    pages = set(tracked("*.md")) - HISTORY
    assert len(pages) > 30
    assert missing(sorted(pages), _IN_PROSE) == set()


def test_pages_that_files_name_are_there() -> None:
    names = tracked("*.py", "*.sql", "*.sh", "*.toml", "*.yml", "*.yaml", "Makefile")
    assert len(names) > 500
    assert missing(names, _PAGE) == set()
