"""The way to PostgreSQL: which server, a ready connection, and errors that people can act on.

All commands connect here. Beside it cli/doors/connection_pool.py asks without blocking, and
cli/integrations serves programs that have connections of their own.
"""

import logging
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.resources import files
from typing import Any, LiteralString, TypeAlias

import click
import psycopg
from pgvector.psycopg import register_vector
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import TupleRow, dict_row

from pgblend.cli.base.errors import ExitCode, UserError
from pgblend.cli.base.prefork import taken_session
from pgblend.cli.base.revision import PROGRAM_LANGUAGE, check_revision
from pgblend.cli.operate import state
from pgblend.migrations.scripts import read_guard

# Which of pgblend's roles has a right, as sql/99_access gives it.

_DENIED = re.compile(r"permission denied for (schema|function|table|view) (\w+)")
_GRANT = re.compile(r"^GRANT ([^;]*)\sTO (pgblend_(?:reader|writer|admin));", re.MULTILINE)


def role_for(message: str) -> str | None:
    """Name the role that may use what PostgreSQL denies; None where it is not ours.

    A table may be read by one role and written by another: then both.
    """
    denied = _DENIED.search(message)
    if denied is None:
        return None
    kind, name = denied.groups()
    if kind == "schema":
        return "pgblend_reader" if name in ("blend", "pgblend", "pgblend_data") else None
    access = (files("pgblend.sql") / "99_access" / "access.sql").read_text(encoding="utf-8")
    of_name = re.compile(rf"\b(?:blend|pgblend|pgblend_data)\.{name}\b")
    roles = [role for objects, role in _GRANT.findall(access) if of_name.search(objects)]
    return " or ".join(dict.fromkeys(roles)) or None


# What PostgreSQL's errors mean to the person at the command line: advice and exit codes.

NOT_MIGRATED_HINT = "run: pgblend migrate up"

# Connection failures carry no SQLSTATE: libpq only hands on the text.
_CONNECTION_ADVICE = (
    (
        r"password authentication failed|no password supplied",
        "put the right password into the URL, PGPASSWORD or ~/.pgpass",
    ),
    (
        r"[Pp]eer authentication failed|Ident authentication failed|no pg_hba.conf entry",
        "the server's pg_hba.conf does not let this user in from here: "
        "name another user or host in the URL, or change pg_hba.conf",
    ),
    (r"role .* does not exist", "name another user in the URL, or create the role"),
    (
        r"database .* does not exist",
        "create it with createdb, or name another database in the URL",
    ),
    (
        r"Connection refused|No such file or directory",
        "start the server, or correct host and port in the URL. "
        "`pgblend up` starts the private server",
    ),
    (r"resolve host|translate host name", "correct the host in the URL"),
    (r"timeout|timed out", "check host, port and firewall"),
    (r"SSL", "correct sslmode in the URL, or the server's TLS settings"),
    (
        r"starting up|shutting down|recovery mode|too many clients|connection slots",
        "wait a moment and run it again",
    ),
    (
        r"closed the connection|connection is lost|terminating connection|connection is closed",
        "see the server's log for the reason, then run it again",
    ),
)

# SQLSTATEs that say where to go next when the server itself gives no hint.
_STATEMENT_ADVICE = {
    "0A000": "read the message: the server lacks a feature or an extension package",
    "25006": "use a server that accepts writes: this one, or this session, is read-only",
    "28P01": "put the right password into the URL, PGPASSWORD or ~/.pgpass",
    "40001": "another session changed the same rows: run it again",
    "40P01": "another session held the same rows: run it again",
    "42501": "connect as a role that may: see pgblend_reader, pgblend_writer and pgblend_admin, "
    "and `pgblend collection grant`",
    "53100": "make room on the server's disk",
    "53300": "wait for a connection to become free, or raise max_connections",
    "55P03": "another session holds the lock: run it again",
    "57014": "raise statement_timeout, or ask for less",
    "57P01": "the server was stopped; start it and run it again",
    "58P01": "install the missing package on the server; `pgblend doctor` lists what is needed",
}

_MISSING_OBJECT = {"3F000", "42P01", "42883"}
_OURS = re.compile(r"\bpgblend(_data)?\b|\bblend\.|schema \"blend\"")
# Private routines begin with an underscore. What is public was in pgblend before version 0.0.2.
_PUBLIC_NAME = re.compile(r"\bpgblend\.([a-z]\w*)")
# What the tables of a coordinator answer that shards have (sql/85_shards/coordinator_guard.sql).
_ON_SHARDS = "documents are on the shards"
_NO_VECTORS = {"PB001", "PB008"}
_UNREACHABLE_CLASSES = ("08", "28", "3D", "57P")


def advice_for_connection(text: str, is_connection_failure: bool) -> UserError:
    """Explain an error without a SQLSTATE: mostly a connection that could not be made or broke."""
    line = text.strip().splitlines()[0] if text.strip() else "the connection failed"
    message = re.sub(r"^(connection (failed|is bad): )+", "", line).replace("FATAL:  ", "")
    if not is_connection_failure:
        return UserError(message)
    for pattern, hint in _CONNECTION_ADVICE:
        if re.search(pattern, text):
            return UserError(message, hint=hint, exit_code=ExitCode.DATABASE)
    return UserError(
        message, hint="check the database URL and the server", exit_code=ExitCode.DATABASE
    )


def advice_for_statement(sqlstate: str, message: str, hint: str) -> UserError:
    """Explain an error that the server raised for a statement; its own hint comes first."""
    message = message.removeprefix("plpy.Error: ")  # where no shell is around the program
    if _ON_SHARDS in message:
        return UserError(
            "this does not work on a coordinator of shards yet",
            hint="docs/shards.md says what does. With the URL of a shard it works for that one's "
            "documents",
        )
    if sqlstate in _MISSING_OBJECT and (named := _PUBLIC_NAME.search(message)):
        return UserError(message, hint=f"what is public is in the schema blend: blend.{named[1]}")
    if sqlstate in _MISSING_OBJECT and _OURS.search(message):
        return UserError(
            f"this database is not migrated, or not to this version ({message})",
            hint=NOT_MIGRATED_HINT,
            exit_code=ExitCode.DATABASE,
        )
    if sqlstate == "42501" and not hint and (role := role_for(message)):
        hint = f"it takes the role {role}: an administrator grants it to yours"
        hint += f" (GRANT {role} TO …)" if " or " not in role else ""
    exit_code = ExitCode.VECTORS_UNAVAILABLE if sqlstate in _NO_VECTORS else ExitCode.ERROR
    if sqlstate.startswith(_UNREACHABLE_CLASSES):
        exit_code = ExitCode.DATABASE
    return UserError(message, hint=hint or _STATEMENT_ADVICE.get(sqlstate, ""), exit_code=exit_code)


Connection: TypeAlias = psycopg.Connection[TupleRow]

_HAS_DOCUMENTS: LiteralString = (
    "SELECT EXISTS (SELECT FROM blend.collections AS c WHERE c.documents > 0)"
)

# Its warnings (a rollback on a broken connection) would stand beside our own one-line errors.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

MINIMUM_SERVER_VERSION = 150000
MINIMUM_VECTOR_VERSION = (0, 8)
# Before it, parallel HNSW builds overran a buffer, and vacuum could damage an index.
SOUND_VECTOR_VERSION = (0, 8, 4)
CONNECT_TIMEOUT_SECONDS = 10
# What a statement whose limit is over may still take to end.
_GRACE_SECONDS = 5.0
_LIMIT: LiteralString = """
    SELECT l.milliseconds,
        pg_catalog.set_config('statement_timeout', l.milliseconds::text, false)
    FROM pg_catalog.pg_settings AS s
    CROSS JOIN LATERAL (
        SELECT least(nullif(s.setting, '0')::integer, %(most)s::integer)
    ) AS l (milliseconds)
    WHERE s.name = 'statement_timeout'
"""

# Where they are, the program runs outside the server (sql/outside.py).
_HAS_STAND_INS: LiteralString = """
    SELECT EXISTS (
        SELECT FROM pg_catalog.pg_proc AS p
        INNER JOIN pg_catalog.pg_namespace AS n
            ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
                AND n.nspname OPERATOR(pg_catalog.=) 'pgblend'
        WHERE p.proname OPERATOR(pg_catalog.=) '_told')
"""
# Whoever owns the database sets its search_path: nothing is looked up along that at first.
_USUAL: LiteralString = "SELECT pg_catalog.current_schemas(false)"
# Nor are texts parsed or names printed as somebody's settings say.
_NARROW: LiteralString = """
    SET search_path = pg_catalog, pg_temp;
    SET standard_conforming_strings = on;
    SET quote_all_identifiers = off;
    SET array_nulls = on;
    SET transform_null_equals = off;
    SET extra_float_digits = 1;
    SET bytea_output = hex;
    SET IntervalStyle = postgres
"""
# pgblend's routines and the vector type are found wherever the database keeps them. The
# schemas go last: nothing that the user calls unqualified changes its meaning. A superuser looks
# into no schema where lesser roles may make objects.
_PREPARE: LiteralString = """
    SELECT to_regnamespace('pgblend') IS NOT NULL, extversion,
        set_config('search_path', concat_ws(', ', (
            SELECT string_agg(quote_ident(n.nspname), ', ' ORDER BY u.place)
            FROM unnest(%(usual)s::name[]) WITH ORDINALITY AS u (name, place)
            INNER JOIN pg_namespace AS n ON n.nspname = u.name
            WHERE u.name <> 'pg_catalog' AND (
                NOT EXISTS (
                    SELECT FROM pg_roles AS r
                    WHERE r.rolname IN (SESSION_USER, CURRENT_USER) AND r.rolsuper
                ) OR NOT EXISTS (
                    SELECT FROM (
                        SELECT n.nspowner AS oid
                        UNION ALL SELECT a.grantee FROM aclexplode(n.nspacl) AS a
                        WHERE a.privilege_type = 'CREATE'
                    ) AS m
                    LEFT JOIN pg_database AS d
                        ON m.oid = to_regrole('pg_database_owner')
                        AND d.datname = current_database()
                    LEFT JOIN pg_roles AS r ON r.oid = coalesce(d.datdba, m.oid)
                    WHERE r.rolsuper IS NOT TRUE))
        ), 'blend', extnamespace::regnamespace), false)
    FROM (VALUES (1)) AS always_one_row
    LEFT JOIN pg_extension ON extname = 'vector'
"""
_REVISION = """
    SELECT version_num AS revision, EXISTS (
        SELECT FROM pg_catalog.pg_extension WHERE extname = 'pgblend') AS is_extension
    FROM pgblend_data.alembic_version
"""


def resolve_database_url(option: str | None) -> str:
    """Choose the database: the option or PGBLEND_DATABASE_URL, else the private server."""
    url = option or state.database_url()
    if not url:
        raise UserError(
            "no database given, and the private server was never started",
            hint="pass --database-url postgresql://user@host:5432/database, "
            "or set PGBLEND_DATABASE_URL, or run: pgblend up",
            exit_code=ExitCode.DATABASE,
        )
    return url


def has_password(url: str) -> bool:
    """Tell whether a database URL has a password in it."""
    return _parse(url).get("password") is not None


def connect(
    url: str,
    *,
    application_name: str = "pgblend",
    check: bool = True,
    autocommit: bool = True,
) -> Connection:
    """Open a connection on which pgblend's routines and the vector type are known.

    It is in autocommit mode. A single call is its own transaction, and none stays open while a
    model is waited for; `with connection.transaction():` joins what belongs together. (SQLAlchemy
    needs `autocommit=False`: its commit and rollback do nothing otherwise.) `check` refuses servers
    that pgblend cannot run on, and databases without its schema or at another revision.
    """
    connection = taken_session(url)
    if connection is None:
        connection = _open(url, application_name)
        connection.add_notice_handler(_print_warning)
    try:
        prepare(connection, check=check)
        connection.autocommit = autocommit
    except BaseException:
        connection.close()
        raise
    return connection


def prepare(connection: Connection, *, check: bool = True) -> None:
    """Make pgblend's routines and the vector type known; `check` refuses what `connect` does.

    What lesser roles made where this session would read or run it is refused before anything is.
    """
    usual = fetch_value(connection, _USUAL)
    connection.execute(_NARROW)
    _refuse_planted(connection)
    row = connection.execute(_PREPARE, {"usual": usual}).fetchone()
    assert row is not None
    migrated, vector_version, _ = row
    if check:
        check_versions(connection.info.server_version, vector_version)
        check_migrated(migrated)
        _check_revision(connection)
    if vector_version is not None:
        register_vector(connection)


def open_database(option: str | None, *, check: bool = True) -> Connection:
    """Connect to the database that `resolve_database_url` chooses."""
    return connect(resolve_database_url(option), check=check)


def same_url(connection: Connection) -> str:
    """Return what opens another session like this one."""
    return make_conninfo(connection.info.dsn, password=connection.info.password or None)


def answering_url(url: str, connection: Connection) -> str:
    """Return what opens sessions whose calls of the program are answered.

    Where it runs outside the server, that is this process's own door. `connect` made the session.
    """
    return same_url(connection) if fetch_value(connection, _HAS_STAND_INS) else url


@contextmanager
def ended_after(connection: Connection, seconds: float) -> Iterator[None]:
    """Limit each statement meanwhile, which may run code of others.

    Such code may go on after a limit of the server's: then another session ends this one. A lower
    limit of the session's own holds.
    """
    limit = fetch_value(connection, _LIMIT, {"most": int(seconds * 1000)})
    watch = threading.Timer(limit / 1000 + _GRACE_SECONDS, _end, [connection])
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def _end(connection: Connection) -> None:
    """Have the server end a session, whatever it does."""
    with suppress(psycopg.Error), psycopg.connect(same_url(connection), autocommit=True) as other:
        other.execute("SELECT pg_catalog.pg_terminate_backend(%s)", [connection.info.backend_pid])


def fetch_rows(
    connection: Connection, sql: LiteralString, parameters: Mapping[str, object] | None = None
) -> list[dict[str, Any]]:
    """Run one statement with bound parameters and return its rows by column name."""
    with connection.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(sql, parameters).fetchall()


def fetch_value(
    connection: Connection, sql: LiteralString, parameters: Mapping[str, object] | None = None
) -> Any:
    """Run one statement that gives a single value."""
    row = connection.execute(sql, parameters).fetchone()
    return None if row is None else row[0]


def runs_outside(connection: Connection) -> bool:
    """Tell whether a migrated database has its program in clients: `migrate up --managed`."""
    return bool(fetch_value(connection, PROGRAM_LANGUAGE) == "plpgsql")


def fetch_search(
    connection: Connection, sql: LiteralString, parameters: Mapping[str, object]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Run a search; return its rows and what it went without, which no row may be there to say."""
    with connection.transaction():
        rows = fetch_rows(connection, sql, parameters)
        degraded = fetch_value(connection, "SELECT blend.last_search() -> 'degraded'") or []
    if not rows:
        tell_if_empty(connection)
    return rows, degraded


def tell_if_empty(connection: Connection) -> None:
    """Say on standard error where there is nothing to find, however one asks."""
    if not fetch_value(connection, _HAS_DOCUMENTS):
        click.echo(
            "pgblend: note: there are no documents that you may read (pgblend ingest stores them)",
            err=True,
        )


def call(option: str | None, sql: LiteralString, parameters: Mapping[str, object]) -> Any:
    """Connect, run one statement that gives a single value, and close."""
    with open_database(option) as connection:
        return fetch_value(connection, sql, parameters)


def collect_warnings(connection: Connection) -> list[str]:
    """Return a list that receives the server's warnings from now on, beside standard error."""
    warnings: list[str] = []

    def remember(diagnostic: psycopg.errors.Diagnostic) -> None:
        if diagnostic.severity_nonlocalized == "WARNING":
            warnings.append(diagnostic.message_primary or "")

    connection.add_notice_handler(remember)
    return warnings


def check_versions(server_version: int, vector_version: str | None) -> None:
    """Refuse a PostgreSQL before 15 and a pgvector before 0.8."""
    if server_version < MINIMUM_SERVER_VERSION:
        raise UserError(
            f"PostgreSQL {server_version // 10000} is too old: pgblend needs 15 or newer",
            hint="upgrade the server, or name another one with --database-url",
            exit_code=ExitCode.DATABASE,
        )
    if vector_version is not None and version_tuple(vector_version) < MINIMUM_VECTOR_VERSION:
        raise UserError(
            f"pgvector {vector_version} is too old: pgblend needs 0.8 or newer",
            hint="install a newer pgvector on the server, then run in this database: "
            "ALTER EXTENSION vector UPDATE",
            exit_code=ExitCode.DATABASE,
        )


def check_migrated(migrated: bool) -> None:
    """Refuse a database without pgblend's schema."""
    if not migrated:
        raise UserError(
            "this database has no pgblend in it yet",
            hint="run: pgblend migrate up",
            exit_code=ExitCode.DATABASE,
        )


def version_tuple(version: str) -> tuple[int, ...]:
    """Turn '0.8.4' into (0, 8, 4); what is not a number ends it."""
    parts: list[int] = []
    for part in version.split("."):
        if not part.isdigit():
            break
        parts.append(int(part))
    return tuple(parts)


def translate(error: BaseException) -> UserError | None:
    """Turn an error of psycopg, also one that SQLAlchemy wrapped, into one line with advice."""
    error = getattr(error, "orig", None) or error
    if isinstance(error, UnicodeEncodeError) and error.reason == "surrogates not allowed":
        return UserError("a value holds bytes that are not UTF-8", hint="pass it as UTF-8 text")
    if not isinstance(error, psycopg.Error):
        return None
    if error.sqlstate is None:
        return advice_for_connection(str(error), isinstance(error, psycopg.OperationalError))
    return advice_for_statement(
        error.sqlstate,
        error.diag.message_primary or str(error),
        error.diag.message_hint or "",
    )


def _open(url: str, application_name: str) -> Connection:
    """Connect, with a time limit of our own where the URL sets none.

    Where the program runs outside the server, the connection goes through this process's own door.
    Nothing is prepared by name. Code of an attached table's owner, run in a superuser's session,
    could prepare something else under that name.
    """
    settings: dict[str, str | int] = {"application_name": application_name}
    if "connect_timeout" not in _parse(url):
        settings["connect_timeout"] = CONNECT_TIMEOUT_SECONDS
    connection = _opened(url, settings)
    if fetch_value(connection, _HAS_STAND_INS):
        from pgblend.cli.doors.wire.nearby import url_nearby  # few servers have them

        with connection:
            nearby = url_nearby(url, connection)
        connection = _opened(nearby, settings)
    return connection


def _opened(url: str, settings: Mapping[str, str | int]) -> Connection:
    try:
        connection = psycopg.connect(url, autocommit=True, client_encoding="UTF8", **settings)  # type: ignore[arg-type]
    except psycopg.Error as error:
        raise advice_for_connection(str(error), True) from error
    connection.prepare_threshold = None
    return connection


def parts_of(url: str) -> dict[str, str | int | None]:
    """Return the parts of a database URL by libpq's names."""
    return _parse(url)


def whole_url(url: str, **more: str | None) -> str:
    """Return a connection string with more parts, those that are not None."""
    return make_conninfo(url, **{name: value for name, value in more.items() if value is not None})


def _parse(url: str) -> dict[str, str | int | None]:
    """Read the connection string, quoting none of it: a misread part may be the password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        parts = None
    host_and_name = f"{parts.get('host')} {parts.get('dbname')}" if parts else ""
    if parts is None or ("://" in url and "@" in host_and_name):
        raise UserError(
            "the database URL cannot be read",
            hint="write postgresql://user:password@host:5432/database, special characters of "
            "the password percent-encoded (@ is %40, / is %2F, % is %25)",
            exit_code=ExitCode.DATABASE,
        ) from None
    return dict(parts)


def find_revision(connection: Connection) -> str | None:
    """Return the database's revision; None where it has none, or a role may not read it."""
    row = _revision(connection)
    return str(row["revision"]) if row else None


def _refuse_planted(connection: Connection) -> None:
    """Refuse a database in which others made what this role would read or run as its own."""
    try:
        connection.execute(read_guard(locks=False).encode())
    except psycopg.errors.InsufficientPrivilege as error:
        message, hint = error.diag.message_primary or str(error), error.diag.message_hint or ""
        raise UserError(message, hint=hint) from error


def _check_revision(connection: Connection) -> None:
    """Refuse another revision; a role that may not read it is told by what it asks for."""
    row = _revision(connection)
    if row:
        check_revision(row["revision"], is_extension=row["is_extension"])


def _revision(connection: Connection) -> dict[str, Any] | None:
    try:
        rows = fetch_rows(connection, _REVISION)
    except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedTable):
        return None
    return rows[0] if rows else None


def _print_warning(diagnostic: psycopg.errors.Diagnostic) -> None:
    """Show the server's warnings on standard error; its notices stay quiet."""
    if diagnostic.severity_nonlocalized != "WARNING":
        return
    hint = f" ({diagnostic.message_hint})" if diagnostic.message_hint else ""
    click.echo(f"pgblend: warning: {diagnostic.message_primary}{hint}", err=True)
