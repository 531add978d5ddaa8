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


def test_each_line_of_what_to_open_names_a_file() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    lines = page.partition("\n## To change X, open Y\n")[2].partition("\n## ")[0].split("\n| ")[2:]
    assert len(lines) > 35
    opened = [re.findall(r"`([\w./-]+/[\w.-]*)`", line) for line in lines]
    assert all(opened)
    assert [path for of_line in opened for path in of_line if not (ROOT / path).exists()] == []
    # A file without its folder is found by nobody.
    assert re.findall(r"`[\w-]+\.(?:py|sql|sh)`", "".join(lines)) == []


def test_the_page_on_security_names_tests_that_are_there() -> None:
    """A test is named by its file alone where it is one of tests/security, as the page says."""
    page = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:tests/[\w/]+/)?test_\w+\.py)`", page))
    assert len(named) > 25
    lost = {name for name in named if not (ROOT / name).exists()}
    assert {name for name in lost if not (ROOT / "tests/security" / name).exists()} == set()
