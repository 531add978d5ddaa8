"""Every program that pgblend starts is given a folder and variables: none is left to what is there.

A module of `json.py` in the folder that somebody ingests would otherwise run as who ingests.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.no_cover  # it reads sources, which takes twice as long when measured

ROOT = Path(__file__).parents[2]
SHIPPED = ("cli", "plpy", "migrations", "sql")
HOME = ROOT / "cli" / "base" / "child_process.py"
# psql becomes the user's own program in the user's own folder.
BECOMES_THE_USERS = {ROOT / "cli" / "commands" / "psql.py"}
STARTS = {"run", "Popen", "call", "check_call", "check_output"}
OTHER_STARTS = ("exec", "spawn", "posix_spawn", "system", "popen")


def modules() -> Iterator[Path]:
    for folder in SHIPPED:
        yield from (ROOT / folder).rglob("*.py")


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield ast.unparse(node.func), node


def faults(path: Path) -> Iterator[str]:
    """Name the starts of a module that leave folder or variables to chance."""
    for name, call in calls(path):
        place = f"{path.relative_to(ROOT)}:{call.lineno}: {name}"
        library, _, function = name.rpartition(".")
        if library == "subprocess" and function in STARTS:
            given = {keyword.arg for keyword in call.keywords}
            if lacking := {"cwd", "env"} - given:
                yield f"{place} says no {' and no '.join(sorted(lacking))}"
        elif library in ("os", "pty") and function.startswith(OTHER_STARTS):
            if path not in BECOMES_THE_USERS:
                yield f"{place}: use subprocess"
        elif name in ("shutil.which", "asyncio.create_subprocess_exec") and path != HOME:
            yield f"{place}: use cli/base/child_process.py"
        elif library.startswith("multiprocessing") and function in ("Process", "Pool"):
            yield f"{place}: use subprocess"


def test_every_start_says_folder_and_variables() -> None:
    assert [fault for path in modules() for fault in faults(path)] == []


def test_python_is_started_in_one_place() -> None:
    named = [path for path in modules() if "sys.executable" in path.read_text(encoding="utf-8")]
    # The second takes the folder that the command is in.
    assert {*named} == {HOME, ROOT / "cli" / "doors" / "mcp" / "install.py"}


@pytest.mark.parametrize(
    "start",
    [
        "subprocess.run(['ls'], cwd='/')",
        "subprocess.Popen([program], env={})",
        "os.execvp('ls', ['ls'])",
        "os.system('ls')",
        "shutil.which('ls')",
        "multiprocessing.Process(target=print)",
    ],
)
def test_it_finds_the_next_one(start: str) -> None:
    path = ROOT / "cli" / "not_there.py"

    class Planted(type(path)):  # type: ignore[misc]
        def read_text(self, *_: object, **__: object) -> str:
            return start

    assert len(list(faults(Planted(path)))) == 1
