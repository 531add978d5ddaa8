"""Run the tests on PostgreSQL 15 to 19, each with its own Python, and print a table: make test-all.

    python tests/versions/matrix.py [--majors 15,17] [--only-table] [PYTEST ARGUMENTS]

A version that this machine has runs here; another one in a root folder of its own (root and
debootstrap; a gigabyte each, in build/roots or PGBLEND_ROOTS). One that cannot be had is named.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.release_root import (
    RELEASES,
    REPOSITORY,
    NoRoot,
    OpenRoot,
    folders_of_the_tests,
    make_root,
    open_root,
    root_of,
)

FOLDERS = tuple(f"tests/{name}" for name in ("sql", "parity", "contract", "upgrade", "security"))
# pytest's exit codes of a run that came to its end: all passed, some failed.
WHOLE = (0, 1)
RESULTS = REPOSITORY / "build" / "versions"
# In the server's Python: what a session would load.
LIBRARIES = "import platform, numpy; print(platform.python_version(), numpy.__version__)"


@dataclass(frozen=True)
class Outcome:
    """What ran on a version, and what held."""

    postgresql: str
    system: str
    python: str
    numpy: str
    vector: str
    passed: int
    skipped: int
    failed: int
    minutes: float
    # "all" of the folders, "a part" where pytest's arguments were given, or "broken off".
    ran: str


class Here:
    """The version that this machine has."""

    def command(self, *command: str) -> list[str]:
        """Return what to run."""
        return [*command]


Place = Here | OpenRoot


def run_tests(major: int, place: Place, arguments: Sequence[str]) -> Outcome:
    """Run the folders' tests in a place."""
    report = RESULTS / f"{major}.xml"
    report.unlink(missing_ok=True)
    tests = place.command(
        *("env", f"--chdir={REPOSITORY}", "HF_HUB_OFFLINE=1"),
        f"PGBLEND_POSTGRESQL_BIN=/usr/lib/postgresql/{major}/bin",
        *(sys.executable, "-m", "pytest", f"--junitxml={report}", "-p", "no:cacheprovider"),
        *(arguments or ("-m", "not slow", "--numprocesses", "2", "--dist", "loadfile", *FOLDERS)),
    )
    started = time.monotonic()
    ended = subprocess.run(tests, cwd=REPOSITORY, check=False).returncode
    minutes = (time.monotonic() - started) / 60
    is_whole = ended in WHOLE
    return Outcome(
        **facts(major, place),
        **counted(report, is_whole=is_whole),
        minutes=round(minutes, 1),
        ran=("a part" if arguments else "all") if is_whole else "broken off",
    )


def counted(report: Path, *, is_whole: bool) -> dict[str, int]:
    """Read how many tests passed, were skipped and failed; a run that broke off is one failure."""
    if not report.exists():
        return {"passed": 0, "skipped": 0, "failed": 1}
    (suite,) = ElementTree.parse(report).getroot().iter("testsuite")
    total, failed, broken, skipped = (
        int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")
    )
    return {
        "passed": total - failed - broken - skipped,
        "skipped": skipped,
        "failed": failed + broken + (not is_whole),
    }


def facts(major: int, place: Place) -> dict[str, str]:
    """Ask a place for the versions of what it has."""

    def said(*command: str) -> str:
        return subprocess.run(
            place.command(*command), capture_output=True, text=True, check=True
        ).stdout.strip()

    control = f"/usr/share/postgresql/{major}/extension/vector.control"
    python, numpy = said("/usr/bin/python3", "-c", LIBRARIES).split()
    return {
        "postgresql": said(f"/usr/lib/postgresql/{major}/bin/postgres", "--version").split()[2],
        "system": said("sh", "-c", '. /etc/os-release; echo "$PRETTY_NAME"'),
        "python": python,
        "numpy": numpy,
        "vector": said("sed", "-n", "s/^default_version *= *'\\(.*\\)'.*/\\1/p", control),
    }


def run_version(major: int, arguments: Sequence[str]) -> Outcome | str:
    """Run the tests on a version; why they were not run where they could not be."""
    root = root_of(major)
    if root == Path("/"):
        return run_tests(major, Here(), arguments)
    with ExitStack() as stack:
        try:
            make_root(RELEASES[major], root)
            place = stack.enter_context(open_root(root, folders_of_the_tests()))
        except NoRoot as reason:
            return str(reason)
        return run_tests(major, place, arguments)


def table(outcomes: dict[str, Outcome | str]) -> str:
    """Write the outcomes as Markdown."""
    lines = [
        "| PostgreSQL | system | Python | numpy | pgvector "
        "| passed | skipped | failed | minutes | ran |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for major, outcome in sorted(outcomes.items()):
        if isinstance(outcome, str):
            lines.append(f"| {major} | not run: {outcome} | | | | | | | | |")
        else:
            lines.append(f"| {' | '.join(str(value) for value in asdict(outcome).values())} |")
    return "\n".join(lines)


def main() -> int:
    """Run all versions, one after the other; 1 where one failed."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--majors", default=",".join(map(str, RELEASES)), help="such as 15,18")
    parser.add_argument("--only-table", action="store_true", help="print what the last runs gave")
    given, arguments = parser.parse_known_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    kept = RESULTS / "outcomes.json"
    read = json.loads(kept.read_text()) if kept.exists() else {}
    outcomes: dict[str, Outcome | str] = {
        major: value if isinstance(value, str) else Outcome(**value)
        for major, value in read.items()
    }
    for major in [] if given.only_table else given.majors.split(","):
        print(f"PostgreSQL {major}", flush=True)
        outcomes[major] = run_version(int(major), arguments)
        plain = {name: o if isinstance(o, str) else asdict(o) for name, o in outcomes.items()}
        kept.write_text(json.dumps(plain, indent=1))
    print(table(outcomes))
    return int(any(isinstance(o, Outcome) and o.failed for o in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
