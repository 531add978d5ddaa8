"""The SQL files of migrations/."""

import re
from importlib.resources import files


def read_script(path: str) -> str:
    """Return a file's text; the path begins in migrations/."""
    return files("pgblend.migrations").joinpath(path).read_text(encoding="utf-8")


def read_tables() -> str:
    """Return all of tables/, in the order of their numbers."""
    names = (entry.name for entry in files("pgblend.migrations").joinpath("tables").iterdir())
    return "\n".join(read_script(f"tables/{name}") for name in sorted(names))


def table_names() -> list[str]:
    """Name the tables that those make."""
    return re.findall(r"^CREATE TABLE (pgblend_data\.\w+)", read_tables(), re.MULTILINE)
