"""A copy of the package that is released and followed by a next revision: by its own commands.

What it runs sees the copy alone, so the checkout and its list of releases stay as they are.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from pgblend.migrations import runner
from pgblend.migrations.scripts import table_names
from pgblend.sql import render

ROOT = Path(__file__).resolve().parents[2]
FORMER, NEXT = "9.9.8", "9.9.9"
# What the next release changes of tables, there and back: no view and no parsed body may bind to a
# column that it does not name (SELECT t.*). Rows that routines build whole change with these.
BUILT = set(re.findall(r"\)::(pgblend_data\.\w+)", render()))
UPGRADE = "".join(
    f"ALTER TABLE {table} ADD COLUMN newer text;\n" for table in table_names() if table not in BUILT
)
DOWNGRADE = UPGRADE.replace("ADD COLUMN newer text", "DROP COLUMN newer")
ROUTINE = """-- _newer: what the next release has more.
CREATE OR REPLACE FUNCTION pgblend._newer()
RETURNS bigint
LANGUAGE sql
STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT count(c.newer) FROM pgblend_data.collection AS c;
END;
"""


class Tree:
    """A copy of the package, and its command."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.package = root / "pgblend"
        self.versions = self.package / "migrations" / "versions"
        left_out = shutil.ignore_patterns("__pycache__")
        for name in ("cli", "migrations", "plpy", "sql"):
            shutil.copytree(ROOT / name, self.package / name, ignore=left_out)

    @property
    def newest(self) -> str:
        """Its newest revision."""
        return max(path.name[:4] for path in self.versions.glob("[0-9]*.py"))

    def version(self, version: str) -> None:
        """Be this version, as an installed package is."""
        about = self.root / "pgblend.dist-info"
        (about / "licenses").mkdir(parents=True, exist_ok=True)
        (about / "licenses" / "LICENSE").write_text("free")
        text = f"Metadata-Version: 2.4\nName: pgblend\nVersion: {version}\nSummary: search\n"
        (about / "METADATA").write_text(text)

    def release(self) -> str:
        """Freeze its newest revision, which no release has; return that."""
        self.version(FORMER)
        if self.newest in runner.released():
            self.run("migrate", "revise", "former")
        self.run("migrate", "freeze")
        return self.newest

    def revise(self) -> str:
        """Begin the next revision; return that."""
        self.run("migrate", "revise", "next")
        self.version(NEXT)
        return self.newest

    def change(self) -> None:
        """Have the newest revision change tables, a routine and a comment."""
        (self.versions / f"{self.newest}_tables.sql").write_text(UPGRADE)
        (revision,) = self.versions.glob(f"{self.newest}_*.py")
        before = (
            "    replace_routines(op.get_bind(), snapshot(down_revision), snapshot(revision))\n"
        )
        text = revision.read_text()
        assert before in text
        drop = f'    op.execute("""{DOWNGRADE}""")\n'
        revision.write_text(text.replace(before, before + drop))
        stage = self.package / "sql" / "97_test"
        stage.mkdir()
        (stage / "_newer.sql").write_text(ROUTINE)
        body = self.package / "sql/30_search/search.sql"
        body.write_text(body.read_text().replace("-- hybrid_search: ", "-- hybrid_search: newer: "))

    def environment(self) -> dict[str, str]:
        """Have Python import this copy."""
        return {**os.environ, "PYTHONPATH": str(self.root)}

    def command(self, *arguments: str) -> list[str]:
        """Return what runs its `pgblend ARGUMENTS`, in its folder and environment."""
        return [sys.executable, "-c", "from pgblend.cli.main import main; main()", *arguments]

    def run(self, *arguments: str, code: int = 0) -> str:
        """Run `pgblend ARGUMENTS`; return all that it said."""
        done = subprocess.run(
            self.command(*arguments),
            env=self.environment(),
            cwd=self.root,  # a checkout may have a pgblend.egg-info, of another version
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr


def next_release(root: Path) -> Tree:
    """Make a tree whose release this checkout is, with a changed revision after it."""
    tree = Tree(root)
    tree.release()
    tree.revise()
    tree.change()
    return tree
