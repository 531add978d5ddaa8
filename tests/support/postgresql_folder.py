"""A folder that looks like an installation of PostgreSQL to whoever only asks its programs."""

from pathlib import Path

EXTENSIONS = ("vector", "pg_trgm", "plpython3u")


def make_postgresql_folder(
    root: Path, version: str, extensions: tuple[str, ...] = EXTENSIONS, vector: str = "0.8.0"
) -> Path:
    """Put programs that answer like PostgreSQL's into Debian's places under `root`."""
    major = version.split(".")[0]
    folder = root / f"usr/lib/postgresql/{major}/bin"
    share = root / f"usr/share/postgresql/{major}"
    (share / "extension").mkdir(parents=True)
    folder.mkdir(parents=True)
    for name in extensions:
        text = f"default_version = '{vector if name == 'vector' else '1.0'}'\n"
        (share / "extension" / f"{name}.control").write_text(text)
    programs = {
        "initdb": "",
        "postgres": f"postgres (PostgreSQL) {version} (Debian)",
        "pg_config": share,
    }
    for name, answer in programs.items():
        (folder / name).write_text(f"#!/bin/sh\necho '{answer}'\n")
        (folder / name).chmod(0o755)
    return folder
