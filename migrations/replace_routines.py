"""Replace routines and views by those of a revision.

Owners, grants and users' own objects stay.
"""

import hashlib
import re
from importlib.resources import files

from sqlalchemy import Connection, text

from pgblend.cli.base.revision import PROGRAM_LANGUAGE
from pgblend.sql import render
from pgblend.sql.outside import with_stand_ins

_CREATED = re.compile(
    r"^CREATE OR REPLACE (?P<kind>FUNCTION|PROCEDURE|VIEW) (?:pg)?blend\.(?P<name>\w+)",
    re.MULTILINE,
)
ACCESS = "-- 99_access/access\n"
COMMENT = "pgblend: hybrid search. Routines: sha256 "
_OURS = "IN (to_regnamespace('pgblend'), to_regnamespace('blend')) AND"
_SOURCES = text(
    "SELECT string_agg(concat_ws(' ', proname, prosrc), chr(10) ORDER BY proname, prosrc)"
    f" FROM pg_proc WHERE pronamespace {_OURS} proname = ANY (:names)"
    " AND proname <> '_program_code'"  # other by server's Python
)
_ROUTINE_ROWS = text(
    f"SELECT oid, ctid::text FROM pg_proc WHERE pronamespace {_OURS} proname = ANY (:names)"
)
_VIEW_ROWS = text(
    "SELECT oid, ctid::text FROM pg_class"
    f" WHERE relkind = 'v' AND relnamespace {_OURS} relname = ANY (:names)"
)

_MAY_WRITE_PYTHON = text("""
    SELECT r.rolsuper AND EXISTS (
        SELECT FROM pg_catalog.pg_language AS l WHERE l.lanname = 'plpython3u')
    FROM pg_catalog.pg_roles AS r WHERE r.rolname = current_user
""")


# A role that is no superuser fixes a parameter of an extension (spelling.sql) once it is loaded.
_LOAD_TRIGRAMS = """
    DO $$ DECLARE called text; BEGIN
        FOR called IN
            SELECT format('SELECT %I.similarity(text ''x'', text ''x'')', n.nspname)
            FROM pg_extension AS e INNER JOIN pg_namespace AS n ON n.oid = e.extnamespace
            WHERE e.extname = 'pg_trgm'
        LOOP
            EXECUTE called;
        END LOOP;
    END $$
"""


def runs_inside(connection: Connection) -> bool:
    """Tell whether the program runs in the server, by PL/Python, or outside of it.

    A database without routines says whether this role could make such ones: the language is an
    untrusted one.
    """
    language = connection.execute(text(PROGRAM_LANGUAGE)).scalar()
    if language is None:
        return bool(connection.execute(_MAY_WRITE_PYTHON).scalar_one())
    return bool(language == "plpython3u")


def snapshot(revision: str) -> str:
    """Return the routines of a revision: as its release froze them, else those of sql/."""
    frozen = files("pgblend.migrations.snapshots") / f"{revision}.sql"
    return frozen.read_text(encoding="utf-8") if frozen.is_file() else render()


def digest(script: str) -> str:
    """Return the sha256 of a snapshot, as the list of released ones records it."""
    return hashlib.sha256(script.encode()).hexdigest()


def execute_script(connection: Connection, script: str) -> None:
    """Run a script of many statements as it stands: `%` and `:name` are no parameters in it."""
    if script:
        connection.exec_driver_sql(script, execution_options={"no_parameters": True})


def replace_routines(
    connection: Connection, script: str | None, previous: str | None, *, outside: bool = False
) -> None:
    """Run `script`, drop what `previous` created and `script` did not touch, then grant rights.

    Where the program runs outside, or is to do so, stand-ins take the place of PL/Python routines.
    All drops go into one statement, since bodies that call each other block single ones, and never
    with CASCADE: a user's view on a routine that goes away makes the migration fail and roll back.
    Rights come last: they name routines without arguments, of which there may be one of a name.
    """
    made = script or ""
    if outside or not runs_inside(connection):
        execute_script(connection, _LOAD_TRIGRAMS)
        made, previous = with_stand_ins(made), previous and with_stand_ins(previous)
    objects, access, rights = made.partition(ACCESS)
    before = _rows(connection, previous) if previous else {}
    if objects:
        execute_script(connection, objects)
    after = _rows(connection, previous) if previous else {}
    _drop(connection, [key for key, ctid in before.items() if after.get(key) == ctid])
    if rights:
        execute_script(connection, access + rights)
    comment = f"{COMMENT}{_installed(connection, script)}" if script else ""  # "" takes it away
    connection.exec_driver_sql(f"COMMENT ON TABLE pgblend_data.alembic_version IS '{comment}'")


def compile_program(connection: Connection) -> None:
    """Have the server's Python compile the program, where what it compiled is of another one."""
    if not runs_inside(connection):
        return
    if not connection.execute(text("SELECT pgblend._load_program()")).scalar():
        connection.execute(text("SELECT pgblend._compile_program()"))


def differs(connection: Connection, script: str) -> bool:
    """Tell whether the database's routines are others than those of a script.

    It has those of another script, or somebody has replaced one by hand (which bodies that are
    stored parsed, of `BEGIN ATOMIC`, do not show).
    """
    comment = connection.execute(
        text("SELECT obj_description(to_regclass('pgblend_data.alembic_version'), 'pg_class')")
    ).scalar()
    return bool(comment != f"{COMMENT}{_installed(connection, script)}")


def _installed(connection: Connection, script: str) -> str:
    """Return the digests of a script and of the sources that its routines have in the database."""
    made = script if runs_inside(connection) else with_stand_ins(script)
    names = created_names(made, "FUNCTION", "PROCEDURE")
    sources = connection.execute(_SOURCES, {"names": names}).scalar() or ""
    return f"{digest(script)} {digest(sources)}"


def created_names(script: str, *kinds: str) -> list[str]:
    """Name what a script creates of these kinds: FUNCTION, PROCEDURE, VIEW."""
    return sorted({m["name"] for m in _CREATED.finditer(script) if m["kind"] in kinds})


def _rows(connection: Connection, script: str) -> dict[tuple[str, int], str]:
    """Map each object the script names to its catalogue row's place, which replacing it moves."""
    names = created_names(script, "FUNCTION", "PROCEDURE")
    routines = connection.execute(_ROUTINE_ROWS, {"names": names})
    views = connection.execute(_VIEW_ROWS, {"names": created_names(script, "VIEW")})
    return {("routine", oid): ctid for oid, ctid in routines} | {
        ("view", oid): ctid for oid, ctid in views
    }


def _drop(connection: Connection, objects: list[tuple[str, int]]) -> None:
    """Drop views, then routines: views come last in sql/, so no routine uses one."""
    for kind, alias in (("view", "regclass"), ("routine", "regprocedure")):
        oids = [oid for object_kind, oid in objects if object_kind == kind]
        if oids:
            names = connection.execute(
                text(f"SELECT string_agg(o::{alias}::text, ', ') FROM unnest(:oids ::oid[]) AS o"),
                {"oids": oids},
            ).scalar_one()
            connection.exec_driver_sql(f"DROP {kind.upper()} {names}")
