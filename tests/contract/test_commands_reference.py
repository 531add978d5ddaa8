from pathlib import Path

from click.testing import CliRunner

from pgblend.cli.main import COMMANDS as NAMES
from pgblend.cli.main import cli
from pgblend.cli.reference import commands_as_markdown
from pgblend.cli.server.state import DATA_DIRECTORY_VARIABLE

COMMANDS = Path(__file__).parents[2] / "COMMANDS.md"


def test_the_reference_is_what_the_commands_say() -> None:
    assert commands_as_markdown() in COMMANDS.read_text(encoding="utf-8")


def test_a_command_that_has_run_says_the_same(tmp_path: Path) -> None:
    before = commands_as_markdown()
    # Where a private server ran, psql would take the place of this process.
    no_server = {DATA_DIRECTORY_VARIABLE: str(tmp_path)}
    for name in NAMES:
        CliRunner().invoke(cli, [name, "--help"], env=no_server)
    assert commands_as_markdown() == before
