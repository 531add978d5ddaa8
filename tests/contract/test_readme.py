"""README is short, and names the commands of a fresh machine, which the Makefile has."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINES = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()


def test_it_is_short() -> None:
    assert len(LINES) <= 150
    assert max(map(len, LINES)) <= 100


@pytest.mark.parametrize("target", ["demo", "test"])
def test_it_names_the_commands_of_a_fresh_machine(target: str) -> None:
    """Each on a line of its own in one section, with what it does."""
    begin = LINES.index("## A fresh machine")
    end = next(n for n, line in enumerate(LINES) if n > begin and line.startswith("## "))
    section = "\n".join(LINES[begin:end])
    assert re.search(rf"^make {target} +# .{{30,}}$", section, re.MULTILINE), section
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{target}: .*## ", makefile, re.MULTILINE)
