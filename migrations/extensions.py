"""Extensions: those that pgblend needs, and pgblend itself where it is one.

Those that `migrate up` created say so in their comment, which a dump takes along, and are dropped
with the last of pgblend.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from pgblend.cli.base.errors import UserError
from pgblend.migrations.replace_routines import execute_script
from pgblend.migrations.scripts import read_guard

MARK = "(created by pgblend)"

_COMMENT = text(
    "SELECT format('COMMENT ON EXTENSION %I IS %L', e.extname,"
    " concat_ws(' ', obj_description(e.oid, 'pg_extension'), CAST(:mark AS text)))"
    " FROM pg_extension AS e WHERE e.extname = :name"
)
_INSTALLED = text(
    "SELECT e.extname, coalesce(obj_description(e.oid, 'pg_extension') LIKE '%' || :mark, false)"
    " FROM pg_extension AS e WHERE e.extname = ANY (:names) ORDER BY e.extname"
)
_NEEDS_SUPERUSER = (
    "\nmigrations need a superuser as well, since plpython3u is an untrusted language: "
    "without one the program stays outside the server, pgblend migrate up --managed"
)
_OURSELVES = text("SELECT extversion FROM pg_extension WHERE extname = 'pgblend'")


def refuse_extension(connection: Connection) -> None:
    """Raise UserError where pgblend is an extension: routines would be changed behind its back."""
    version = connection.execute(_OURSELVES).scalar()
    if version is not None:
        raise UserError(
            f"pgblend {version} is an extension of this database, which migrations do not change",
            hint="make its tables: SELECT blend.install(); upgrade it: ALTER EXTENSION pgblend "
            "UPDATE; remove it with all documents: DROP EXTENSION pgblend CASCADE",
        )


def create_extension(connection: Connection, name: str, *, has_python: bool = True) -> None:
    """Create an extension, and note in its comment who did; UserError where that is not allowed."""
    connection.exec_driver_sql("RESET search_path")  # the extension's schema is the usual one
    # Its script looks into that schema as well.
    execute_script(connection, read_guard(locks=True))
    try:
        connection.exec_driver_sql(f"CREATE EXTENSION IF NOT EXISTS {name}")
        connection.exec_driver_sql("SET search_path = pg_catalog, pg_temp")
    except DBAPIError as error:
        raise UserError(
            f"cannot create the extension {name}: {str(error.orig).splitlines()[0]}",
            hint=f"a superuser, or who may on a managed server, runs: CREATE EXTENSION {name}"
            + (_NEEDS_SUPERUSER if has_python else ""),
        ) from error
    comment = connection.execute(_COMMENT, {"mark": MARK, "name": name}).scalar_one()
    connection.exec_driver_sql(comment, execution_options={"no_parameters": True})


def drop_created(connection: Connection, names: Sequence[str]) -> list[str]:
    """Drop those that pgblend created and nobody uses; return a line for each that stays."""
    stay: list[str] = []
    rows = connection.execute(_INSTALLED, {"mark": MARK, "names": [*names]}).all()
    for name, is_ours in rows:
        if not is_ours:
            stay.append(f"the extension {name} stays: pgblend did not create it")
            continue
        try:
            with connection.begin_nested():
                connection.exec_driver_sql(f"DROP EXTENSION {name}")
        except DBAPIError as error:
            stay.append(f"the extension {name} stays: {_first_use(error)}")
    return stay


def _first_use(error: DBAPIError) -> str:
    """Return the first line of what depends on an extension."""
    diagnosis = getattr(error.orig, "diag", None)
    detail = getattr(diagnosis, "message_detail", None) or str(error.orig)
    return str(detail).splitlines()[0]
