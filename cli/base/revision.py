"""The database's revision: the one that this version of pgblend works with, or another."""

from importlib.resources import files

from pgblend.cli.base.errors import ExitCode, UserError

_MADE_ANEW = (
    "take its documents out by pgblend migrate dump FOLDER, make a new database (createdb NAME, "
    "or: pgblend up --data-dir FOLDER), and ingest them there"
)


def known_revisions() -> list[str]:
    """Name the revisions of migrations/versions, oldest first."""
    versions = files("pgblend.migrations") / "versions"
    names = (entry.name for entry in versions.iterdir() if entry.name.endswith(".py"))
    return sorted(name.partition("_")[0] for name in names if name[:1].isdigit())


def how_to_upgrade(*, is_extension: bool) -> str:
    """Say what brings a database to this version's revision."""
    if is_extension:
        return (
            "put this version's files on the server (pgblend migrate extension FOLDER, "
            "make -C FOLDER install), then: ALTER EXTENSION pgblend UPDATE"
        )
    return "run: pgblend migrate up"


def unknown_revision(found: str) -> UserError:
    """Say what becomes of a database whose tables this version does not know: it is left alone."""
    return UserError(
        f"the database is at revision {found}, which this version of pgblend does not know",
        hint="a newer pgblend has migrated it: install that version\n"
        f"or no released pgblend made it, and nothing brings it up: {_MADE_ANEW}",
        exit_code=ExitCode.DATABASE,
    )


def unreleased_tables(revision: str) -> UserError:
    """Say what becomes of a database whose tables a working tree made and has changed since."""
    return UserError(
        f"the database has tables that revision {revision} made before it was released, and that "
        "are others now",
        hint=f"nothing brings it up: {_MADE_ANEW}",
        exit_code=ExitCode.DATABASE,
    )


def check_revision(found: str, *, is_extension: bool = False) -> None:
    """Refuse a database of a newer or an older version: its routines take and give other things."""
    known = known_revisions()
    if found not in known:
        raise unknown_revision(found)
    if found != known[-1]:
        raise UserError(
            f"the database is at revision {found}, this version of pgblend works with {known[-1]}",
            hint=how_to_upgrade(is_extension=is_extension),
            exit_code=ExitCode.DATABASE,
        )
