"""Find an installed PostgreSQL that has everything pgblend needs."""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pgblend.cli.base.child_process import FOLDER, child_environment, find_program
from pgblend.cli.base.database import MINIMUM_SERVER_VERSION, MINIMUM_VECTOR_VERSION, version_tuple
from pgblend.cli.base.errors import UserError

MINIMUM_MAJOR = MINIMUM_SERVER_VERSION // 10000
FOLDER_VARIABLE = "PGBLEND_POSTGRESQL_BIN"
EXTENSIONS = ("vector", "pg_trgm", "plpython3u")
FOLDERS = ("usr/lib/postgresql/*/bin", "usr/pgsql-*/bin", "opt/homebrew/opt/postgresql@*/bin")
INSTALL_HINT = (
    "install PostgreSQL 15 or newer with pgvector 0.8 or newer, PL/Python, and numpy for its "
    "Python. As root on Debian 13: apt-get install postgresql-17-pgvector "
    "postgresql-plpython3-17 python3-numpy. On Debian 12 and Ubuntu the same, once "
    "https://apt.postgresql.org is among apt's sources. With pgblend's source tree: "
    f"docker/provision.sh. {FOLDER_VARIABLE} names an unusual folder"
)


@dataclass(frozen=True)
class Binaries:
    """The programs of one PostgreSQL installation."""

    folder: Path

    def __getitem__(self, program: str) -> Path:
        """Return the path of a program such as `initdb`."""
        return self.folder / program

    @cached_property
    def version(self) -> str:
        """Version as the server says it, such as 15.20."""
        printed = _output(self["postgres"], "--version")
        found = re.search(r"\) (\d+(\.\d+)?)", printed)
        return found[1] if found else "0"

    @property
    def major(self) -> int:
        """Major version, such as 15."""
        return int(self.version.split(".")[0])

    def missing(self) -> list[str]:
        """Name what this installation lacks; empty when it will do."""
        lacking = []
        if self.major < MINIMUM_MAJOR:
            lacking.append(f"PostgreSQL {MINIMUM_MAJOR} or newer (this is {self.version})")
        if not self["pg_config"].exists():
            return [*lacking, "pg_config"]
        lacking += [
            f"the extension {name}" for name in EXTENSIONS if not self._control_file(name).exists()
        ]
        vector = self.vector_version
        if vector is not None and version_tuple(vector) < MINIMUM_VECTOR_VERSION:
            lacking.append(f"pgvector 0.8 or newer (this is {vector})")
        return lacking

    @property
    def vector_version(self) -> str | None:
        """Version of its pgvector, such as 0.8.0; None where it has none."""
        control = self._control_file("vector")
        if not control.exists():
            return None
        found = re.search(r"default_version\s*=\s*'([\d.]+)'", control.read_text(encoding="utf-8"))
        return found[1] if found else None

    def _control_file(self, extension: str) -> Path:
        share = Path(_output(self["pg_config"], "--sharedir").strip())
        return share / "extension" / f"{extension}.control"


def find_binaries(major: int | None = None, root: Path = Path("/")) -> Binaries:
    """Return the newest complete installation; `major` asks for the one of an existing cluster."""
    found = list(installations(root))
    complete = [
        binaries for binaries in found if major in (None, binaries.major) and not binaries.missing()
    ]
    if complete:
        return max(complete, key=lambda binaries: version_tuple(binaries.version))
    wanted = f"PostgreSQL {major}" if major else "PostgreSQL 15 or newer"
    seen = ", and ".join(f"{b.folder} lacks {', '.join(b.missing())}" for b in found if b.missing())
    raise UserError(
        f"no installation of {wanted} that pgblend can use" + (f": {seen}" if seen else ""),
        hint=INSTALL_HINT,
    )


def find_psql() -> Path:
    """Return psql: the one on the PATH, else the newest installed one."""
    on_path = find_program("psql")
    candidates = [on_path] if on_path else []
    candidates += sorted(folder / "psql" for folder in _folders(Path("/")))[::-1]
    for candidate in candidates:
        if candidate.exists():
            return candidate
    raise UserError(
        "psql is not installed",
        hint="install it, on Debian with: apt-get install postgresql-client",
    )


def installations(root: Path = Path("/")) -> Iterator[Binaries]:
    """List every folder that holds a server, whatever its version."""
    for folder in _folders(root):
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            yield Binaries(folder)


def _folders(root: Path) -> Iterator[Path]:
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        yield Path(named).resolve()
        return
    on_path = find_program("initdb") if root == Path("/") else None
    folders = [match for pattern in FOLDERS for match in sorted(root.glob(pattern))]
    if on_path:
        folders.append(on_path.resolve().parent)
    yield from dict.fromkeys(folders)


def _output(program: Path, *arguments: str) -> str:
    said = subprocess.run(
        [program, *arguments],
        cwd=FOLDER,
        env=child_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return said.stdout
