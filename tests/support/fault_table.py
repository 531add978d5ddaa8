"""A table of the faults that tests made and of what then had to hold: `pytest --fault-table`.

A test says both itself: `@pytest.mark.fault("the model hangs", "one deadline is lost")`.
"""

from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

MARKER = "fault"


def fault_of(item: pytest.Item) -> tuple[str, str] | None:
    """Return a test's fault and outcome; a marker that lacks one of them is an error."""
    marker = item.get_closest_marker(MARKER)
    if marker is None:
        return None
    if len(marker.args) != 2:
        raise pytest.UsageError(f"{item.nodeid}: fault(name, outcome) needs both")
    fault, outcome = marker.args
    return str(fault), str(outcome)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Note a test's fault in its report, which workers send to the process that prints."""
    report = yield
    if fault := fault_of(item):
        report.user_properties.append((MARKER, list(fault)))
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print each fault with its outcome, and how many cases held, failed or did not run."""
    if not config.getoption("--fault-table"):
        return
    found: dict[tuple[str, str], Counter[str]] = {}
    for result in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(result, ()):
            for name, value in getattr(report, "user_properties", ()):
                if name == MARKER:
                    found.setdefault(tuple(value), Counter())[result] += 1
    table = Table("fault", "what must hold", "cases", title=f"{len(found)} faults", show_lines=True)
    for (fault, outcome), counts in sorted(found.items()):
        failed = counts["failed"] + counts["error"]
        cases = [f"{counts['passed']} held"] if counts["passed"] else []
        cases += [f"{failed} FAILED"] if failed else []
        cases += [f"{counts['skipped']} not run"] if counts["skipped"] else []
        table.add_row(fault, outcome, ", ".join(cases))
    Console(width=120).print(table)
