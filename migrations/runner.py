"""Bring a database up or down, show where it stands, apply and freeze the routines of sql/.

Everything runs in one session that holds an advisory lock, so two runners never interleave. No
alembic.ini: the script folder is found beside this module, in a checkout and in an installed wheel.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TypedDict

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection, NullPool, create_engine, event, text
from sqlalchemy.exc import DBAPIError

from pgblend.cli.base.database import connect
from pgblend.cli.base.errors import UserError
from pgblend.cli.base.revision import known_revisions, unknown_revision, unreleased_tables
from pgblend.migrations import public_schema, search_path
from pgblend.migrations.extensions import drop_created, refuse_extension
from pgblend.migrations.preflight import EXTENSIONS, prepare_server
from pgblend.migrations.replace_routines import (
    compile_program,
    differs,
    digest,
    execute_script,
    replace_routines,
    runs_inside,
    snapshot,
)
from pgblend.migrations.scripts import read_guard, read_script, read_whole, signature
from pgblend.sql import render

# Where the files are, not a link to one that an editable install has: here new ones are written.
_FOLDER = Path(__file__).resolve().parent
_RELEASED = _FOLDER / "snapshots" / "released.sha256"
_ROLES = text(
    "SELECT rolname FROM pg_roles WHERE rolname IN"
    " ('pgblend_admin', 'pgblend_analyst', 'pgblend_gateway', 'pgblend_reader', 'pgblend_serve',"
    " 'pgblend_writer')"
    " ORDER BY rolname"
)
_STILL_USED = "2BP01"  # dependent_objects_still_exist
_LOCK = text("SELECT pg_try_advisory_lock(hashtextextended('pgblend migrate', 0))")
# Anybody may hold the key; only a superuser migrates, or who migrates here as well.
_STRANGER = text("""
    SELECT a.usename, a.pid
    FROM pg_locks AS l
    INNER JOIN pg_stat_activity AS a ON a.pid = l.pid AND a.datname = current_database()
    INNER JOIN pg_roles AS r ON r.oid = a.usesysid
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
        AND NOT r.rolsuper AND r.rolname <> current_user
        AND (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended('pgblend migrate', 0)
""")
# What a dump brought from another server.
_BIND_ROLES = text("SELECT pgblend._bind_roles()")
_IS_COORDINATOR = text("SELECT EXISTS (SELECT FROM pgblend_data.shard)")
_SIGNATURE = text("SELECT col_description('pgblend_data.alembic_version'::regclass, 1)")
_LOCK_STEP_SECONDS = 0.1
# A role that may not migrate holds the lock for a moment where it asks for the status.
_PATIENCE_STEPS = 30


class Status(TypedDict):
    """Where a database stands: revisions, and whether its routines differ from those of sql/."""

    current: str | None
    head: str
    pending: list[str]
    drift: bool


def upgrade(database_url: str, revision: str = "head", *, managed: bool = False) -> None:
    """Apply revisions up to `revision`, then put what is public on the database's search_path.

    With `managed` the program runs outside the server from now on, and PL/Python goes where nobody
    else uses it; a database for which it does keeps that.
    """
    with _session(database_url) as connection:
        refuse_extension(connection)
        current, target = _current(connection), _known(revision)
        public_schema.refuse_foreign(connection)
        _prepare(connection, managed=managed)
        connection.execute(text("CREATE SCHEMA IF NOT EXISTS pgblend_data"))
        connection.commit()
        command.upgrade(_config(connection), target)
        _sign(connection, current)
        leaves = managed and runs_inside(connection)
        if _current(connection) == _head() and (leaves or differs(connection, _script(connection))):
            _replace_newest(connection, outside=managed)
        if leaves:
            drop_created(connection, EXTENSIONS[-1:])
        if not runs_inside(connection):  # who restored a dump is no member of the roles yet
            execute_script(connection, read_script("tables/10_roles.sql"))
        if _current(connection) == _head():
            compile_program(connection)
            connection.execute(_BIND_ROLES)
        search_path.add(connection, public_schema.PUBLIC)
        connection.commit()


def downgrade(database_url: str, revision: str) -> list[str]:
    """Undo revisions down to `revision`; at `base` nothing of pgblend is left in the database.

    Returns a line for each extension that stays, and for roles that another database needs.
    """
    stay: list[str] = []
    with _session(database_url) as connection:
        refuse_extension(connection)
        current, target = _current(connection), _known(revision)
        if current is None:
            return stay
        _prepare(connection)
        command.downgrade(_config(connection), target)
        _sign(connection, current)
        if _current(connection) is None:
            search_path.remove(connection, public_schema.PUBLIC)
            connection.execute(text("DROP TABLE pgblend_data.alembic_version"))
            connection.execute(text("DROP SCHEMA pgblend_data"))
            stay += drop_created(connection, EXTENSIONS)
            roles = ", ".join(connection.execute(_ROLES).scalars())
            why = "another database of the server uses them, or dropping them is not your right"
            stay += [f"the roles {roles} stay: {why}"] * bool(roles)
        else:
            compile_program(connection)
        connection.commit()
    return stay


def status(database_url: str) -> Status:
    """Compare the database with the newest revision and with sql/."""
    with _session(database_url) as connection:
        current = _current(connection)
        scripts = ScriptDirectory(str(_FOLDER))
        head = _head()
        pending = [
            script.revision
            for script in scripts.iterate_revisions(head, current or "base")
            if script.revision != current
        ]
        drift = current == head and differs(connection, _script(connection))
        return Status(current=current, head=head, pending=pending[::-1], drift=drift)


def apply(database_url: str) -> None:
    """Put the routines of the working tree into a database at head (while developing)."""
    with _session(database_url) as connection:
        refuse_extension(connection)
        if _current(connection) != _head():
            raise UserError(
                f"the database is at revision {_current(connection)}, apply needs {_head()}",
                hint="run: pgblend migrate up",
            )
        _prepare(connection)
        _replace_newest(connection)
        compile_program(connection)
        connection.commit()


def freeze() -> Path:
    """Write the newest revision's routines as a snapshot that never changes; return its path."""
    revision = _head()
    if revision in released():
        raise UserError(
            f"revision {revision} is released and never changes",
            hint='make a new one: pgblend migrate revise "what changes"',
        )
    script = render()
    path = _FOLDER / "snapshots" / f"{revision}.sql"
    path.write_text(script, encoding="utf-8")
    with _RELEASED.open("a", encoding="utf-8") as lines:
        made = digest(read_whole(known_revisions(), revision))
        lines.write(f"{digest(script)}  {path.name}  {version('pgblend')}  {made}\n")
    return path


def revise(message: str) -> Path:
    """Make a revision after the newest one, which must be released; return its path."""
    head = _head()
    if head not in released():
        raise UserError(
            f"revision {head} is not released yet, so changes go into it",
            hint=f"edit migrations/versions/{head}_*.py, or release it: pgblend migrate freeze",
        )
    revision = f"{int(head) + 1:04d}"
    script = command.revision(_config(None), message=message, rev_id=revision)
    if not isinstance(script, Script):
        raise RuntimeError(f"alembic made no single script for revision {revision}")
    return Path(script.path)


def released() -> dict[str, str]:
    """Map each released revision to the sha256 of its snapshot."""
    return {name.removesuffix(".sql"): sha for sha, name, _, _ in _released()}


def released_versions() -> dict[str, str]:
    """Map each released revision to the version of pgblend that brought it, oldest first."""
    return {name.removesuffix(".sql"): brought for _, name, brought, _ in _released()}


def released_tables() -> dict[str, str]:
    """Map each released revision to the sha256 of the SQL that made its types and tables."""
    return {name.removesuffix(".sql"): made for _, name, _, made in _released()}


def _released() -> list[list[str]]:
    lines = _RELEASED.read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]


def _prepare(connection: Connection, *, managed: bool = False) -> None:
    """Make the session one that changes a database; each transaction looks for what was planted."""
    is_outside = _found(connection) is not None and not runs_inside(connection)
    prepare_server(connection, has_python=not (managed or is_outside))
    script = read_guard(locks=True)
    event.listen(connection, "begin", lambda begun: execute_script(begun, script))


def _replace_newest(connection: Connection, *, outside: bool = False) -> None:
    """Put the routines of sql/ in the place of those that the last release had.

    Before the first one a working tree's: of a name, those with other parameters go.
    """
    last, script = max(released(), default=None), _script(connection)
    replace_routines(connection, script, snapshot(last) if last else script, outside=outside)


def _script(connection: Connection) -> str:
    """Return the routines for a database at head: those of one node, or of a coordinator."""
    is_coordinator = connection.execute(_IS_COORDINATOR).scalar_one()
    return render(of_coordinator=is_coordinator)


@contextmanager
def _session(database_url: str) -> Iterator[Connection]:
    """Connect; the advisory lock goes with the session."""
    engine = create_engine(
        "postgresql+psycopg://",
        creator=lambda: connect(database_url, check=False, autocommit=False),
        poolclass=NullPool,
    )
    with engine.connect() as connection:
        # Whatever others have made in schemas of the usual path, it is not called.
        connection.exec_driver_sql("SET search_path = pg_catalog, pg_temp")
        _lock(connection)
        try:
            yield connection
        except DBAPIError as error:
            if getattr(error.orig, "sqlstate", None) != _STILL_USED:
                raise
            used_by: str = error.orig.diag.message_detail  # type: ignore[union-attr]
            raise UserError(
                f"nothing was changed, since objects of yours need what goes away: {used_by}",
                hint="keep their definitions (pg_get_viewdef, pg_dump), drop them, run it again, "
                "and create them anew on what is there then",
            ) from error


def _lock(connection: Connection) -> None:
    """Wait for other migrations to end; UserError where it is no migration that holds the lock."""
    steps = 0
    while not connection.execute(_LOCK).scalar_one():
        stranger = connection.execute(_STRANGER).first()
        connection.commit()
        steps = steps + 1 if stranger else 0
        if stranger and steps > _PATIENCE_STEPS:
            raise UserError(
                f"role {stranger[0]} (process {stranger[1]}) holds the lock of migrations",
                hint=f"it cannot migrate: end it, SELECT pg_terminate_backend({stranger[1]})",
            )
        time.sleep(_LOCK_STEP_SECONDS)
    connection.commit()


def _config(connection: Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
    config.attributes["connection"] = connection
    return config


def _head() -> str:
    head = ScriptDirectory(str(_FOLDER)).get_current_head()
    if head is None:
        raise RuntimeError(f"no revisions in {_FOLDER / 'versions'}")
    return head


def _known(revision: str) -> str:
    """Return the revision, or say which ones there are."""
    names = known_revisions()
    if revision in {"head", "base", *names}:
        return revision
    raise UserError(
        f"there is no revision {revision!r}", hint=f"revisions: base, {', '.join(names)}, head"
    )


def _current(connection: Connection) -> str | None:
    """Return the revision; UserError where this version does not know it, or its tables."""
    current = _found(connection)
    if current is None:
        return None
    if current not in known_revisions():
        raise unknown_revision(current)
    signed = connection.execute(_SIGNATURE).scalar()
    connection.commit()
    if (signed or "").split()[:1] == [current] and signed != signature(known_revisions(), current):
        raise unreleased_tables(current)
    return current


def _found(connection: Connection) -> str | None:
    options = {"version_table_schema": "pgblend_data"}
    current = MigrationContext.configure(connection, opts=options).get_current_revision()
    connection.commit()
    return current


def _sign(connection: Connection, before: str | None) -> None:
    """Note of what SQL the tables are, where a migration has just changed them."""
    current = _found(connection)
    if current not in (None, before):
        comment = signature(known_revisions(), current)
        connection.exec_driver_sql(
            f"COMMENT ON COLUMN pgblend_data.alembic_version.version_num IS '{comment}'"
        )
        connection.commit()
