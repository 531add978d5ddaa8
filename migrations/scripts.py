"""The SQL files of migrations/."""

import hashlib
import re
from collections.abc import Iterable
from importlib.resources import files

_LOCK = """\
    IF is_superuser THEN
        LOCK TABLE pg_proc, pg_operator IN SHARE ROW EXCLUSIVE MODE;
    END IF;
"""


def read_script(path: str) -> str:
    """Return a file's text; the path begins in migrations/."""
    return files("pgblend.migrations").joinpath(path).read_text(encoding="utf-8")


def read_guard(*, locks: bool) -> str:
    """Return what refuses code of lesser roles; with locks none comes in the transaction."""
    script = read_script("refuse_planted.sql")
    return script if locks else script.replace(_LOCK, "")


def read_types() -> str:
    """Return what of tables/ needs no table: schemas and types, numbered below 10."""
    return "\n".join(text for name, text in _numbered() if name < "10")


def read_tables() -> str:
    """Return the rest of tables/, in the order of their numbers."""
    return "\n".join(text for name, text in _numbered() if name >= "10")


def read_changes(revision: str, what: str) -> str:
    """Return what a revision changes in `types` or `tables`: versions/REVISION_WHAT.sql."""
    file = files("pgblend.migrations.versions") / f"{revision}_{what}.sql"
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def read_whole(revisions: Iterable[str], last: str) -> str:
    """Return all SQL of types, tables and their triggers, up to a revision: what it released."""
    changes = (
        read_changes(revision, what)
        for revision in revisions
        for what in ("types", "tables")
        if revision <= last
    )
    return "\n".join(
        [read_types(), read_tables(), read_script("constraint_triggers.sql"), *changes]
    )


def signature(revisions: Iterable[str], revision: str) -> str:
    """Return what a database keeps of the SQL that made its tables, comments and layout aside."""
    text = " ".join(re.sub(r"--[^\n]*", "", read_whole(revisions, revision)).split())
    return f"{revision} sha256 {hashlib.sha256(text.encode()).hexdigest()}"


def table_names() -> list[str]:
    """Name the tables that tables/ makes."""
    return re.findall(r"^CREATE TABLE (pgblend_data\.\w+)", read_tables(), re.MULTILINE)


def _numbered() -> list[tuple[str, str]]:
    folder = files("pgblend.migrations") / "tables"
    entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    return [(entry.name, entry.read_text(encoding="utf-8")) for entry in entries]
