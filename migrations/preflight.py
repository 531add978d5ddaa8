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

# By its letters and digits plain SQL makes the words that the program makes (sql/outside.plpgsql).
_LETTERS = text("SELECT to_regcollation('pg_catalog.\"und-x-icu\"') IS NOT NULL")
_OWNER = text("""
    SELECT quote_ident(current_user) AS name, quote_ident(b.datname) AS database,
        pg_has_role(b.datdba, 'USAGE') AS owns
    FROM pg_catalog.pg_database AS b WHERE b.datname = current_database()
""")
# What an administrator is to run where this role may not: it makes a role with CREATEROLE, and
# before 16 that makes it a member of any.
_LACKING_ROLES = text("""
    SELECT CASE WHEN f.oid IS NULL THEN format('CREATE ROLE %I%s ADMIN %I;', n.name,
            ' IN ROLE ' || n.less, current_user)
        ELSE format('GRANT %I TO %I WITH ADMIN OPTION;', n.name, current_user) END
    FROM (VALUES (1, 'pgblend_reader', NULL), (2, 'pgblend_analyst', 'pgblend_reader'),
        (3, 'pgblend_writer', 'pgblend_reader'),
        (4, 'pgblend_admin', 'pgblend_writer, pgblend_analyst'), (5, 'pgblend_gateway', NULL),
        (6, 'pgblend_serve', NULL)) AS n (place, name, less)
    INNER JOIN pg_catalog.pg_roles AS me ON me.rolname = current_user
    LEFT JOIN pg_catalog.pg_roles AS f ON f.rolname = n.name
    WHERE NOT CASE WHEN f.oid IS NULL THEN me.rolcreaterole OR me.rolsuper
        WHEN pg_has_role(f.oid, 'USAGE') THEN true
        WHEN current_setting('server_version_num')::integer < 160000 THEN me.rolcreaterole
        ELSE pg_has_role(f.oid, 'MEMBER WITH ADMIN OPTION') END
    ORDER BY n.place
""")
# Told with them, since the same administrator makes it; a platform may allow what this denies.
_LACKING_EXTENSIONS = text("""
    SELECT format('CREATE EXTENSION %I;', a.name)
    FROM pg_available_extensions AS a
    INNER JOIN pg_available_extension_versions AS v
        ON v.name = a.name AND v.version = a.default_version
    WHERE a.name = ANY (:names) AND a.installed_version IS NULL AND v.superuser AND NOT v.trusted
    ORDER BY a.name
""")


def prepare_server(connection: Connection, *, has_python: bool = True) -> None:
    """Check versions, create missing extensions, and set the session's search_path.

    Raises UserError, before anything is changed, where the server is too old or lacks an extension,
    or the database cannot hold every text. Where the server has no Python, so it does where the
    role lacks a right that an owner needs.
    """
    _check_server_version(connection.execute(_VERSION).scalar_one())
    _check_encoding(connection.execute(_ENCODING).scalar_one())
    if not has_python:
        _check_letters(connection.execute(_LETTERS).scalar_one())
        _check_owner(connection)
    found = {row[0]: row[1:] for row in connection.execute(_EXTENSIONS, {"names": [*EXTENSIONS]})}
    for name in EXTENSIONS if has_python else EXTENSIONS[:-1]:
        installed, version = found.get(name, (None, None))
        _check_extension(name, version)
        if installed is None:
            create_extension(connection, name, has_python=has_python)
    connection.exec_driver_sql(f"SELECT set_config('search_path', ({ROUTINES_PATH}), false)")
    # It loads pgvector: else its parameters are unknown, which only a superuser fixes in routines.
    connection.exec_driver_sql("SELECT vector_norm('[1]')")
    connection.commit()


def _check_owner(connection: Connection) -> None:
    """Refuse a role that may not give the database its settings, or make the roles."""
    owner = connection.execute(_OWNER).one()
    if not owner.owns:
        raise UserError(
            f"role {owner.name} does not own the database {owner.database}",
            hint=f"its owner migrates, or: ALTER DATABASE {owner.database} OWNER TO {owner.name}",
        )
    lines = [*connection.execute(_LACKING_ROLES).scalars()]
    if lines:
        lines += connection.execute(_LACKING_EXTENSIONS, {"names": [*EXTENSIONS[:-1]]}).scalars()
        raise UserError(
            f"role {owner.name} may not make pgblend's roles: it lacks CREATEROLE",
            hint="an administrator of the server runs once:\n" + "\n".join(lines),
        )


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


def _check_letters(has_icu: bool) -> None:
    if not has_icu:
        raise UserError(
            'the server has no collation "und-x-icu", by which plain SQL finds words',
            hint="it needs a PostgreSQL with ICU, whose superuser runs: "
            "SELECT pg_import_system_collations('pg_catalog')",
        )


def _check_extension(name: str, version: str | None) -> None:
    if version is None:
        hint = "install its package on the server's machine; docker/provision.sh shows which"
        if name == "plpython3u":
            hint += "\nor keep the program outside the server: pgblend migrate up --managed"
        raise UserError(f"the server has no extension {name!r}", hint=hint)
    if name == "vector" and tuple(int(part) for part in version.split(".")[:2]) < MINIMUM_VECTOR:
        raise UserError(
            f"the server has pgvector {version}, pgblend needs 0.8 or newer",
            hint="install a newer pgvector, then: ALTER EXTENSION vector UPDATE",
        )
