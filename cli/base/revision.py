"""The database's revision: the one that this version of pgblend works with, or another."""

from importlib.resources import files
from typing import LiteralString

from pgblend.cli.base.errors import ExitCode, UserError

# The language of what loads the program: plpgsql where a stand-in refuses, and it runs outside.
PROGRAM_LANGUAGE = """
    SELECT l.lanname FROM pg_catalog.pg_proc AS p
    INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace AND n.nspname = 'pgblend'
    INNER JOIN pg_catalog.pg_language AS l ON l.oid = p.prolang
    WHERE p.proname = '_load_program'
"""
# The digest of what answers a server's stand-ins (sql/outside.py), as they tell it.
PROGRAM_DIGEST = r"""
    SELECT (pg_catalog.regexp_match(p.prosrc, $$'program', '(\w+)'$$))[1]
    FROM pg_catalog.pg_proc AS p
    INNER JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace AND n.nspname = 'pgblend'
    WHERE p.proname = '_told'
"""
# The setting serve_program, by default outside where there is no PL/Python. A coordinator asks its
# shards from the server.
SERVES_OUTSIDE: LiteralString = """
    SELECT pg_catalog.to_regprocedure('pgblend._on_shards(text, jsonb)') IS NULL
        AND coalesce(
            blend.get_setting('serve_program') #>> '{}',
            CASE WHEN pg_catalog.to_regproc('pgblend._told') IS NULL THEN 'inside'
            ELSE 'outside' END) = 'outside' AS is_outside
"""
OTHER_PROGRAM = (
    "the program of this pgblend is not the one that the database's routines are made for"
)
HOW_TO_MATCH = (
    "use the pgblend that migrated it, or bring the database to this one: pgblend migrate up"
)
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


def check_program(digest: str) -> None:
    """Refuse stand-ins of another program than the one that this process would answer them with."""
    from pgblend.sql.outside import body_digest  # few commands need it

    if digest != body_digest():
        raise UserError(OTHER_PROGRAM, hint=HOW_TO_MATCH, exit_code=ExitCode.DATABASE)


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
