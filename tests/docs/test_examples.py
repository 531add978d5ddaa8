"""Every example of README and docs/ runs, and prints what its page shows."""

import re
from pathlib import Path

import pytest

from support.command_lines import unknown_parts
from support.documentation import ROOT, Example, clean, examples, hidden_steps, matches, pages
from support.shell import Shell

pytestmark = pytest.mark.local_model
STRANGERS = ("README.md", "docs/quickstart.md")  # begin with nothing: a private server each
MARKS = {"README.md": pytest.mark.extended}  # what everybody reads; make clients runs every page
EXAMPLES = {path: examples(path.read_text(encoding="utf-8")) for path in pages()}
PAGES = [page for page, found in EXAMPLES.items() if found]
# Importing some libraries takes seconds.
SLOW_PAGES = [
    page
    for page, found in EXAMPLES.items()
    if any(example.is_slow for example in found) and page not in map(ROOT.joinpath, STRANGERS)
]


def name_of(page: Path) -> str:
    """Return a page's path within the repository."""
    return str(page.relative_to(ROOT))


QUICK_PAGES = [
    pytest.param(page, marks=MARKS.get(name_of(page), pytest.mark.slow), id=name_of(page))
    for page in PAGES
    if not all(example.is_slow for example in EXAMPLES[page])
]


@pytest.mark.parametrize("page", QUICK_PAGES)
def test_the_examples_of_a_page(
    page: Path, request: pytest.FixtureRequest, pytestconfig: pytest.Config
) -> None:
    name = "shell_of_a_stranger" if name_of(page) in STRANGERS else "shell_in_database"
    check_page(request.getfixturevalue(name), page, pytestconfig, with_slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", SLOW_PAGES, ids=name_of)
def test_the_slow_examples_of_a_page(
    page: Path, shell_in_database: Shell, pytestconfig: pytest.Config
) -> None:
    check_page(shell_in_database, page, pytestconfig, with_slow=True)


def check_page(shell: Shell, page: Path, pytestconfig: pytest.Config, *, with_slow: bool) -> None:
    """Run a page's examples; what they print is what it shows, or is written there."""
    other = different(shell, page, with_slow=with_slow)
    if pytestconfig.getoption("--update-golden"):
        text = page.read_text(encoding="utf-8")
        for example, printed in reversed(other):
            start, end = example.output_span
            text = text[:start] + clean(printed) + text[end:]
        page.write_text(text, encoding="utf-8")
    else:
        assert not other, told(page, other)


@pytest.mark.slow
@pytest.mark.parametrize("name", STRANGERS)
def test_a_stranger_installs_it_whole(name: str, shell_with_an_index: Shell) -> None:
    """With all that pip and make get from the index, and by a clone of what is committed."""
    page = ROOT / name
    other = different(shell_with_an_index, page, with_slow=True)
    assert not other, told(page, other)


def different(shell: Shell, page: Path, *, with_slow: bool) -> list[tuple[Example, str]]:
    """Run a page's examples; return those that print something else than it shows, with that."""
    return [
        (example, printed)
        for example in examples(page.read_text(encoding="utf-8"))
        if not example.not_run and (with_slow or not example.is_slow)
        if (printed := _wrong(shell, example))
    ]


def told(page: Path, other: list[tuple[Example, str]]) -> str:
    """Say what was printed instead of what the page shows."""
    return "\n".join(f"{page}:{example.line}: {example.code}{text}" for example, text in other)


def _wrong(shell: Shell, example: Example) -> str | None:
    """Run an example; return what it printed where the page shows something else."""
    status, printed = shell.run(example.language, example.code)
    assert (status != 0) == example.fails, f"line {example.line}: {example.code}{printed}"
    is_shown = example.output is None or matches(example.output, printed)
    return None if is_shown else printed or "(nothing)"


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_a_reader_sees_every_step(page: Path) -> None:
    assert not hidden_steps(page.read_text(encoding="utf-8"))


def test_a_comment_with_a_step_is_found() -> None:
    text = (
        "<!-- slow -->\n```sh\ntrue\n```\n<!-- sql\nSELECT 1;\n-->\n<!-- figures: of `make` -->\n"
    )
    assert hidden_steps(text) == ["sql\nSELECT 1;\n"]


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
