"""PL/Python made by tests, which loads the program as deployed bodies do, and what bodies run."""

import re
from importlib.resources import files

from pgblend.sql.program import program_text, with_program

_IMPORT = re.compile(r"^from pgblend\.plpy\.([\w.]+) import", re.MULTILINE)


def loading(text: str) -> str:
    """Return statements whose PL/Python bodies may import from pgblend.plpy."""
    return with_program(text, program_text())


def modules_of(body: str) -> dict[str, str]:
    """Return the sources of the modules that a body imports, and those import, by name."""
    found: dict[str, str] = {}
    waiting = [body]
    while waiting:
        for name in _IMPORT.findall(waiting.pop()):
            if name not in found:
                path = files("pgblend.plpy") / f"{name.replace('.', '/')}.py"
                found[name] = path.read_text(encoding="utf-8")
                waiting.append(found[name])
    return found
