from pathlib import Path

from click.testing import CliRunner

from pgblend.cli.main import COMMANDS as NAMES
from pgblend.cli.main import cli
from pgblend.cli.reference import commands_as_markdown

COMMANDS = Path(__file__).parents[2] / "COMMANDS.md"


def test_the_reference_is_what_the_commands_say() -> None:
    assert commands_as_markdown() in COMMANDS.read_text(encoding="utf-8")


def test_a_command_that_has_run_says_the_same() -> None:
    before = commands_as_markdown()
    for name in NAMES:
        CliRunner().invoke(cli, [name, "--help"])
    assert commands_as_markdown() == before
