"""Every example of README and docs/ runs, and prints what its page shows."""

import re
from pathlib import Path

import pytest

from support.command_lines import unknown_parts
from support.documentation import ROOT, Example, clean, examples, matches, pages
from support.shell import Shell

pytestmark = pytest.mark.local_model
STRANGERS = ("README.md", "docs/quickstart.md")  # begin with nothing: a private server each
PAGES = [path for path in pages() if examples(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page(
    page: Path, request: pytest.FixtureRequest, pytestconfig: pytest.Config
) -> None:
    is_strangers = str(page.relative_to(ROOT)) in STRANGERS
    name = "shell_of_a_stranger" if is_strangers else "shell_in_database"
    shell: Shell = request.getfixturevalue(name)
    text = page.read_text(encoding="utf-8")
    other = [
        (example, printed) for example in examples(text) if (printed := _wrong(shell, example))
    ]
    if pytestconfig.getoption("--update-golden"):
        for example, printed in reversed(other):
            start, end = example.output_span
            text = text[:start] + clean(printed) + text[end:]
        page.write_text(text, encoding="utf-8")
    else:
        told = [f"{page}:{example.line}: {example.code}{printed}" for example, printed in other]
        assert not told, "\n".join(told)


def _wrong(shell: Shell, example: Example) -> str | None:
    """Run an example; return what it printed where the page shows something else."""
    if example.not_run:
        return None
    status, printed = shell.run(example.language, example.code)
    assert (status != 0) == example.fails, f"line {example.line}: {example.code}{printed}"
    is_shown = example.output is None or matches(example.output, printed)
    return None if is_shown else printed or "(nothing)"


COMMANDS = [
    part.strip().partition(" #")[0]
    for page in PAGES
    for example in examples(page.read_text(encoding="utf-8"))
    if example.language == "sh"
    for line in example.code.replace("\\\n", " ").splitlines()
    for part in re.split(r" && | \| ", line)
    if part.strip().startswith("pgblend ")
]


def test_commands_and_their_options_are_there() -> None:
    """Also those of examples that no test runs."""
    assert len(COMMANDS) > 20
    for line in COMMANDS:
        assert not unknown_parts(line), line
