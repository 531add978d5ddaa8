"""What a server must offer before a migration touches it."""

from sqlalchemy import Connection, text

from pgblend.cli.base.errors import UserError
from pgblend.migrations.extensions import create_extension

MINIMUM_SERVER = 15
MINIMUM_VECTOR = (0, 8)
EXTENSIONS = ("vector", "pg_trgm", "plpython3u")

_VERSION = text("SELECT current_setting('server_version_num')::int / 10000")
_ENCODING = text("SELECT current_setting('server_encoding')")
_EXTENSIONS = text(
    "SELECT a.name, a.installed_version, coalesce(a.installed_version, a.default_version)"
    " FROM pg_available_extensions AS a WHERE a.name = ANY (:names)"
)
# Routines take this path (SET search_path FROM CURRENT), which is how they find an extension's
# operators in whatever schema it lives.
ROUTINES_PATH = (
    "SELECT concat_ws(', ', 'pgblend', 'pgblend_data',"
    " string_agg(DISTINCT e.extnamespace::regnamespace::text, ', '), 'pg_temp')"
    " FROM pg_catalog.pg_extension AS e"
    f" WHERE e.extname IN {EXTENSIONS} AND e.extnamespace <> 'pg_catalog'::regnamespace"
)


def prepare_server(connection: Connection) -> None:
    """Check versions, create missing extensions, and set the session's search_path.

    Raises UserError, before anything is changed, where the server is too old or lacks an extension,
    or the database cannot hold every text.
    """
    _check_server_version(connection.execute(_VERSION).scalar_one())
    _check_encoding(connection.execute(_ENCODING).scalar_one())
    found = {row[0]: row[1:] for row in connection.execute(_EXTENSIONS, {"names": [*EXTENSIONS]})}
    for name in EXTENSIONS:
        installed, version = found.get(name, (None, None))
        _check_extension(name, version)
        if installed is None:
            create_extension(connection, name)
    connection.exec_driver_sql(f"SELECT set_config('search_path', ({ROUTINES_PATH}), false)")
    connection.commit()


def _check_server_version(major: int) -> None:
    if major < MINIMUM_SERVER:
        raise UserError(
            f"the server is PostgreSQL {major}, pgblend needs {MINIMUM_SERVER} or newer",
            hint="upgrade the server (pg_upgrade), or run a private one: pgblend up",
        )


def _check_encoding(encoding: str) -> None:
    if encoding != "UTF8":
        raise UserError(
            f"the database's encoding is {encoding}, pgblend needs UTF8",
            hint="make another database: CREATE DATABASE name ENCODING 'UTF8' TEMPLATE template0",
        )


def _check_extension(name: str, version: str | None) -> None:
    if version is None:
        raise UserError(
            f"the server has no extension {name!r}",
            hint="install its package on the server's machine; docker/provision.sh shows which",
        )
    if name == "vector" and tuple(int(part) for part in version.split(".")[:2]) < MINIMUM_VECTOR:
        raise UserError(
            f"the server has pgvector {version}, pgblend needs 0.8 or newer",
            hint="install a newer pgvector, then: ALTER EXTENSION vector UPDATE",
        )
